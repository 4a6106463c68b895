"""The check of what was rendered, before it is published: each finding stands where its object was made."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainshed.checks.command import render
from trainshed.checks.config import read_config
from trainshed.checks.engine import Report, check_rendered
from trainshed.checks.options import CannotCheck, Options
from trainshed.faults import Fault, Faults, Place
from trainshed.fleet.finding import Finding
from trainshed.fleet.source import Source

#: By path below `dist/`: the text, the manifest in it, and where in the stacks that was made.
Rendered = Mapping[str, tuple[str, Mapping[str, Any], Place | None]]


def options_here() -> Options:
    """The repository's settings; notes are not shown. Raises CannotCheck."""
    options = read_config(None).options
    return replace(options, severity="warning") if options.severity == "info" else options


def judge(files: Rendered, dist: Path, options: Options) -> Report:
    """What is wrong with `files`, which are to be written to `dist`. Raises CannotCheck.

    People edit stacks, not `dist/`: a finding's place is where its object was made, and the line of the manifest is
    related to it.
    """
    root = os.path.relpath(dist)
    made = {f"{root}/{path}": place for path, (_, _, place) in files.items()}
    report = check_rendered(_sources(files, root), options)
    rendered_line = report.line

    def line(place: Place) -> str:
        return rendered_line(place) or linecache.getline(place.file, place.line).rstrip("\r\n")

    return replace(report, findings=sorted(_where_made(finding, made) for finding in report.findings), line=line)


def approve(files: Mapping[str, tuple[str, Any, Place | None]], dist: Path) -> None:
    """Raises Faults for the errors of `judge`; prints its warnings to stderr."""
    import json

    plain = {path: (text, json.loads(json.dumps(manifest)), place) for path, (text, manifest, place) in files.items()}
    try:
        report = judge(plain, dist, options_here())
    except CannotCheck as error:
        raise Faults([Fault(str(error))]) from None
    if errors := [_fault(finding) for finding in report.findings if finding.severity == "error"]:
        raise Faults(errors)
    sys.stderr.write(told(report))


def told(report: Report) -> str:
    """The report as text for stderr; empty when there is nothing to tell."""
    return render(report, "text", colour=sys.stderr.isatty()) if report.findings else ""


def _sources(files: Rendered, root: str) -> Iterator[tuple[Source, dict[str, Any]]]:
    for path in sorted(files):
        text, manifest, _ = files[path]
        yield Source(f"{root}/{path}", text, root, explicit=False), dict(manifest)


def _where_made(finding: Finding, made: Mapping[str, Place | None]) -> Finding:
    place = made.get(finding.place.file) if finding.place else None
    if finding.place is None or place is None:
        return finding
    return replace(finding, place=place, related=(("as rendered", finding.place), *finding.related))


def _fault(finding: Finding) -> Fault:
    return Fault(
        f"{finding.message} [{finding.code}]", str(finding.object or ""), finding.path, finding.fix, finding.place
    )
