"""Checking texts in tests."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trainshed.checks.engine import Report, check
from trainshed.checks.options import Options
from trainshed.checks.rule import RULES, Issue, Rule, rule
from trainshed.fleet.finding import Finding
from trainshed.fleet.fleet import Fleet


def checked(folder: Path, text: str, options: Options | None = None, **more: Any) -> Report:
    """The report on one file `input.yaml` with `text`."""
    file = folder / "input.yaml"
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    return check([str(file)], options or Options(), **more)


def of_code(report: Report, code: str) -> list[Finding]:
    """The findings of one code."""
    return [finding for finding in report.findings if finding.code == code]


def told(report: Report, prefix: str = "schema-") -> list[str]:
    """`code path: message; fix` of the findings whose code begins so."""
    return [
        f"{one.code} {one.path}: {one.message}" + (f"; {one.fix}" if one.fix else "")
        for one in report.findings
        if one.code.startswith(prefix)
    ]


@contextmanager
def extra_rule(code: str, function: Any, severity: Any = "error") -> Iterator[Rule]:
    """A rule that exists inside the block only."""
    rule(code, severity=severity, family="test")(function)
    try:
        yield RULES[code]
    finally:
        del RULES[code]


def names_every_config_map(fleet: Fleet) -> Iterator[Issue]:
    """Reports every ConfigMap."""
    for document in fleet.of(("", "ConfigMap")):
        yield Issue(document, ("metadata", "name"), f"{document.name} exists", "remove it")
