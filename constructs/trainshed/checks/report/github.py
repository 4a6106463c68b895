"""Workflow commands of GitHub Actions: each finding becomes an annotation at its line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainshed.checks.engine import Report
from trainshed.faults import printable, shown_path

_COMMANDS: Final = {"error": "error", "warning": "warning", "info": "notice"}


def github_report(report: Report) -> str:
    """One line for each finding, and the counts last."""
    return "\n".join([*_annotations(report), _last(report)]) + "\n"


def _annotations(report: Report) -> Iterator[str]:
    for finding in report.findings:
        properties = {"title": finding.code}
        if finding.place is not None:
            properties |= {"file": printable(shown_path(finding.place.file))}
            if finding.place.line:
                properties |= {"line": str(finding.place.line), "col": str(max(1, finding.place.column))}
        message = printable(f"{finding.object}: {finding.message}" if finding.object else finding.message)
        if finding.fix:
            message = f"{message}\nHelp: {printable(finding.fix)}"
        told = ",".join(f"{key}={_escape(value, properties=True)}" for key, value in properties.items())
        yield f"::{_COMMANDS[finding.severity]} {told}::{_escape(message)}"


def _last(report: Report) -> str:
    counts = report.counts
    return f"{counts.errors} errors, {counts.warnings} warnings in {counts.objects} objects"


def _escape(text: str, *, properties: bool = False) -> str:
    # actions/toolkit, packages/core/src/command.ts
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if properties else text
