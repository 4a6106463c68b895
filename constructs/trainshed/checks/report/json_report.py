"""One JSON document: `{"findings": [...], "summary": {...}}`; the keys are a contract."""

from __future__ import annotations

import json

from trainshed.checks.engine import Report


def json_report(report: Report) -> str:
    """The report as JSON text."""
    findings = [finding.to_json() for finding in report.findings]
    return json.dumps({"findings": findings, "summary": report.summary}, indent=2, ensure_ascii=False) + "\n"
