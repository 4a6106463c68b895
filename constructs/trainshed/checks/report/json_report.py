"""One JSON document: `{"findings": [...], "summary": {...}}`; the keys are a contract."""

from __future__ import annotations

import json
from typing import Any

from trainshed.checks.engine import Report


def json_report(report: Report) -> str:
    """The report as JSON text."""
    findings = [finding.to_json() for finding in report.findings]
    document = {"findings": findings, "summary": report.counts.to_json()}
    return json_text(document)


def json_text(document: Any, indent: int | None = 2) -> str:
    """`document` as JSON that a terminal may show: letters of all scripts stay, control characters are escapes."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, separators=None if indent else (",", ":"))
    if not text.isascii() or "\x7f" in text:
        text = "".join(char if char.isprintable() or char == "\n" else _escaped(char) for char in text)
    return text + "\n"


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if char != "\x7f" else "\\u007f"
