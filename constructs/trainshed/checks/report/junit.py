"""JUnit XML: a suite for each file, a case for each object; an object with errors fails."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from trainshed.checks.engine import Report
from trainshed.faults import printable, shown_path
from trainshed.fleet.finding import Finding

Case = tuple[str, str]

_NOT_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-�\U00010000-\U0010ffff]")


def junit_report(report: Report) -> str:
    """The report as JUnit XML. Findings without an object are cases of their own, named by their code."""
    cases: dict[Case, list[Finding]] = {(item.file, str(item.ref)): [] for item in report.documents}
    for finding in report.findings:
        file = finding.place.file if finding.place else ""
        cases.setdefault((file, str(finding.object or finding.code)), []).append(finding)
    suites: dict[str, dict[str, list[Finding]]] = defaultdict(dict)
    for (file, name), findings in cases.items():
        suites[file][name] = findings
    failures = sum(map(_failed, cases.values()))
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="trainshed check" tests="{len(cases)}" failures="{failures}" errors="0">',
    ]
    for file, suite in sorted(suites.items()):
        failures = sum(map(_failed, suite.values()))
        name = _attribute(shown_path(file) or "input")
        lines.append(f'  <testsuite name={name} tests="{len(suite)}" failures="{failures}" errors="0">')
        for case, findings in suite.items():
            lines.extend(_case(name, case, findings))
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _case(suite: str, name: str, findings: list[Finding]) -> list[str]:
    head = f"    <testcase classname={suite} name={_attribute(name)}"
    if not findings:
        return [f"{head}/>"]
    errors = [finding for finding in findings if finding.severity == "error"]
    others = [finding for finding in findings if finding.severity != "error"]
    lines = [f"{head}>"]
    if errors:
        told = _attribute(errors[0].message if len(errors) == 1 else f"{len(errors)} errors")
        kind = _attribute(errors[0].code)
        lines.append(f"      <failure message={told} type={kind}>{_text(errors)}</failure>")
    if others:
        lines.append(f"      <system-out>{_text(others)}</system-out>")
    return [*lines, "    </testcase>"]


def _text(findings: list[Finding]) -> str:
    told = [
        f"{finding.place or ''}: {finding.severity}[{finding.code}]: {printable(finding.message)}"
        + (f"\n  help: {printable(finding.fix)}" if finding.fix else "")
        for finding in findings
    ]
    return escape(_NOT_XML.sub("�", "\n".join(told)))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", printable(text)))


def _failed(findings: list[Finding]) -> bool:
    return any(finding.severity == "error" for finding in findings)
