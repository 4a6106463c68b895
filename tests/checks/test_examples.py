"""Every rule's page is complete, and its examples are what the rule says they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainshed.checks import all_rules
from trainshed.checks.engine import check
from trainshed.checks.options import Options
from trainshed.checks.rule import RULES, Rule

all_rules.load()

#: From such a line on, an example is another file.
_FILE = re.compile(r"^# file: (\S+)\n", re.MULTILINE)
EVERY = pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)


def codes(rule: Rule, section: str, folder: Path) -> set[str]:
    """The codes that a check of one of the rule's examples gives."""
    first, *others = _FILE.split(rule.page[section])
    world = folder / "example"
    for name, text in [("example.yaml", first), *zip(others[::2], others[1::2], strict=True)]:
        (world / name).parent.mkdir(parents=True, exist_ok=True)
        (world / name).write_text(text, encoding="utf-8")
    example = world if others else world / "example.yaml"
    before = folder / "baseline.yaml"
    before.write_text(rule.page.get("Baseline", ""), encoding="utf-8")
    report = check([str(example)], Options(), baseline=str(before) if "Baseline" in rule.page else None)
    return {finding.code for finding in report.findings}


@EVERY
def test_the_page_says_what_why_and_how_to_mend_it(rule: Rule) -> None:
    assert {"Summary", "Why", "Fix", "Bad", "Good"} <= rule.page.keys()
    assert all(rule.page.values())
    assert "\n\n" not in rule.page["Summary"], "the summary is one sentence"
    assert ("Baseline" in rule.page) == rule.baseline


@EVERY
def test_the_bad_example_is_reported(rule: Rule, tmp_path: Path) -> None:
    assert rule.code in codes(rule, "Bad", tmp_path)


@EVERY
def test_the_good_example_is_not(rule: Rule, tmp_path: Path) -> None:
    found = codes(rule, "Good", tmp_path)
    assert rule.code not in found
    assert "internal-error" not in found
