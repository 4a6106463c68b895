"""SARIF 2.1.0 (OASIS standard): findings for code scanning, with the page of each code as the rule's help."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from trainshed import __version__
from trainshed.checks.engine import Report
from trainshed.checks.page import Page
from trainshed.checks.pages import pages
from trainshed.checks.report.json_report import json_text
from trainshed.faults import Place, shown_path
from trainshed.fleet.finding import Finding

Json = dict[str, Any]

_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}


def sarif_report(report: Report) -> str:
    """The report as a SARIF log with one run."""
    known = pages()
    used = sorted({finding.code for finding in report.findings})
    index = {code: number for number, code in enumerate(used)}
    run = {
        "tool": {
            "driver": {
                "name": "trainshed",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(known[code]) if code in known else {"id": code} for code in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The folder that trainshed ran in."}}},
        "invocations": [{"executionSuccessful": report.exit_code != 2, "exitCode": report.exit_code}],
        "results": [_result(finding, index) for finding in report.findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json_text(log, indent=None)  # programs read it: blanks would be half of a large log


def _rule(page: Page) -> Json:
    why, fix = page.sections.get("Why", ""), page.sections.get("Fix", "")
    text = "\n\n".join(part for part in (page.summary, why, fix) if part)
    return {
        "id": page.code,
        "shortDescription": {"text": page.summary},
        "fullDescription": {"text": why or page.summary},
        "help": {"text": text, "markdown": page.markdown(level=3)},
        "defaultConfiguration": {"level": _LEVELS[page.severity]},
        "properties": {"tags": [page.family]},
    }


def _result(finding: Finding, index: dict[str, int]) -> Json:
    text = f"{finding.message}. {finding.fix}" if finding.fix else finding.message
    result: Json = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
    }
    location: Json = {}
    if finding.place is not None:
        location["physicalLocation"] = _physical(finding.place)
    if finding.object is not None:
        name = f"{finding.object}{f' {finding.path}' if finding.path else ''}"
        location["logicalLocations"] = [{"name": finding.object.name, "fullyQualifiedName": name, "kind": "object"}]
    if location:
        result["locations"] = [location]
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": label}, "physicalLocation": _physical(place)}
            for number, (label, place) in enumerate(finding.related, start=1)
        ]
    return result


def _physical(place: Place) -> Json:
    path = shown_path(place.file)
    artifact: Json = {"uri": quote(path, errors="surrogateescape"), "uriBaseId": "SRCROOT"}
    if Path(path).is_absolute():
        artifact = {"uri": Path(path).as_uri()}
    physical: Json = {"artifactLocation": artifact}
    if place.line:
        physical["region"] = {"startLine": place.line, "startColumn": max(1, place.column)}
    return physical
