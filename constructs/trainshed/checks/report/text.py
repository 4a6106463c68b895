"""For people: each finding with its line of source and a caret, the related lines, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from trainshed.checks.engine import Report
from trainshed.checks.report.lines import excerpt
from trainshed.faults import Place, printable, shown_path
from trainshed.fleet.finding import Finding

#: (style, text) pieces of one line.
Line = list[tuple[str, str]]

_STYLES: Final = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}
_GUTTER: Final = "cyan"
_KINDS_SHOWN: Final = 6
#: From so many findings with the same words on, the first ones are shown whole, then some places, then a number.
_MANY: Final = 6
_WHOLE: Final = 3
_PLACES: Final = 10


def text_report(report: Report, *, colour: bool = False) -> str:
    """The report as text; `colour` adds the escape codes of a terminal."""
    lines = list(_lines(report))
    if not colour:
        return "".join("".join(text for _, text in line).rstrip() + "\n" for line in lines)
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    out = StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", soft_wrap=True, highlight=False)
    for line in lines:
        console.print(Text.assemble(*((text, style) for style, text in line)))
    return out.getvalue()


def _lines(report: Report) -> Iterator[Line]:
    whole, others = _sorted_out(report.findings)
    for (_, shown), findings in groupby(whole, key=lambda one: (one.place and one.place.file, _object(one))):
        if shown:
            yield [("bold", shown)]
        for finding in findings:
            yield from _finding(report, finding)
            yield []
            yield from _others(others.get(id(finding), []))
    yield from _summary(report)


def _sorted_out(findings: list[Finding]) -> tuple[list[Finding], dict[int, list[Finding]]]:
    """The findings to show whole, and after which of them (by id) others with the same words are only counted."""
    same: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        same.setdefault((finding.code, finding.message, finding.fix), []).append(finding)
    others = {id(found[_WHOLE - 1]): found[_WHOLE:] for found in same.values() if len(found) >= _MANY}
    counted = {id(finding) for found in others.values() for finding in found}
    return [finding for finding in findings if id(finding) not in counted], others


def _others(findings: list[Finding]) -> Iterator[Line]:
    if not findings:
        return
    code, more = findings[0].code, len(findings) - _PLACES
    yield [(_STYLES[findings[0].severity], f"{len(findings):,} more of {code}"), ("", " with the same words:")]
    for finding in findings[:_PLACES]:
        what = printable(" ".join(str(part) for part in (finding.object, finding.path) if part))
        yield [(_GUTTER, "  --> "), ("", f"{finding.place or ''}  {what}")]
    if more > 0:
        yield [("", f"  and {more:,} more; --output json lists them all")]
    yield []


def _object(finding: Finding) -> str:
    if finding.object is None:
        return ""
    where = f" in {shown_path(finding.place.file)}" if finding.place else ""
    return printable(f"{finding.object}{where}")


def _finding(report: Report, finding: Finding) -> Iterator[Line]:
    style = _STYLES[finding.severity]
    yield [(style, f"{finding.severity}[{finding.code}]"), ("bold", f": {printable(finding.message)}")]
    places = [finding.place, *(place for _, place in finding.related)]
    width = max((len(str(place.line)) for place in places if place and place.line), default=1)
    if finding.place is not None:
        yield from _place(report, finding.place, width, "-->", style, finding.path)
    for label, place in finding.related:
        yield from _place(report, place, width, ":::", _GUTTER, label)
    if finding.fix:
        yield [(_GUTTER, f"{' ' * width} = "), ("bold green", "help"), ("", f": {printable(finding.fix)}")]


def _place(report: Report, place: Place, width: int, arrow: str, style: str, label: str) -> Iterator[Line]:
    pad = " " * width
    yield [(_GUTTER, f"{pad}{arrow} "), ("", f"{place}" + (f"  {printable(label)}" if label else ""))]
    line = report.line(place)
    if not place.line or not line.strip():
        return
    shown = excerpt(line, place.column or 1)
    yield [(_GUTTER, f"{pad} |")]
    yield [(_GUTTER, f"{place.line:>{width}} | "), ("", shown.text)]
    yield [(_GUTTER, f"{pad} | "), (style, shown.carets)]


def _summary(report: Report) -> Iterator[Line]:
    counts = report.counts
    told = [_count(counts.errors, "error"), _count(counts.warnings, "warning")]
    if counts.infos:
        told.append(_count(counts.infos, "note"))
    style = "bold red" if counts.errors else "bold yellow" if counts.warnings else "bold green"
    where = f" in {_count(counts.objects, 'object')} of {_count(counts.files, 'file')}"
    yield [(style, ", ".join(told)), ("", where)]
    rest = []
    if counts.unknown:
        kinds = [f"{kind} ({number})" for kind, number in counts.unknown_kinds.items()]
        more = f" and {len(kinds) - _KINDS_SHOWN} more" if len(kinds) > _KINDS_SHOWN else ""
        rest.append(f"{counts.unknown} of kinds without a schema here: {', '.join(kinds[:_KINDS_SHOWN])}{more}")
    if counts.unjudged:
        rest.append(f"{counts.unjudged} not judged (templates, patches, encrypted)")
    if counts.not_kubernetes:
        rest.append(f"{_count(counts.not_kubernetes, 'document')} of other kinds than Kubernetes objects")
    if counts.allowed:
        rest.append(f"{_count(counts.allowed, 'finding')} allowed by annotation")
    for one in rest:
        yield [("", f"  {printable(one)}")]


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
