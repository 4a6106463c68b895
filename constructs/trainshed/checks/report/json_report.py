"""One JSON document: `{"findings": [...], "summary": {...}}`; the keys are a contract."""

from __future__ import annotations

import json

from trainshed.checks.engine import Report


def json_report(report: Report) -> str:
    """The report as JSON text."""
    findings = [finding.to_json() for finding in report.findings]
    document = {"findings": findings, "summary": report.counts.to_json()}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
