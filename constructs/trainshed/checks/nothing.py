"""Paths that hold no object: a green check of the wrong folder is worse than a red one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from trainshed.faults import Place, shown_path
from trainshed.fleet.finding import Finding
from trainshed.fleet.reading import Reading
from trainshed.fleet.sources import STDIN_NAME

NOTHING: Final = "nothing-checked"
_FIX: Final = "check the path and what was to be written there; `--ignore nothing-checked` when it may be empty"


def nothing_checked(paths: Sequence[str], reading: Reading) -> Iterator[Finding]:
    """An error when the whole input holds no object and nothing else is wrong with it; otherwise a warning for each
    folder, and for standard input, that has none while other paths have some."""
    if not reading.documents:
        if not any(finding.severity == "error" for finding in reading.findings):
            shown = ", ".join(_shown(path) for path in paths[:3]) + (" …" if len(paths) > 3 else "")
            message = f"nothing was judged: there is no Kubernetes object in {shown} ({_read(reading)})"
            yield Finding(NOTHING, "error", message, _FIX, place=Place(_file(paths[0])))
        return
    if len(paths) == 1:
        return
    roots = {document.source.root for document in reading.documents}
    told = {finding.place.file for finding in reading.findings if finding.place and finding.severity == "error"}
    for path in dict.fromkeys(paths):
        file = _file(path)
        if path in roots or not (path == "-" or os.path.isdir(path)):  # noqa: PTH112
            continue
        inside = os.path.join(os.path.abspath(path), "")  # noqa: PTH100, PTH118
        files = told.union(document.file for document in reading.documents)
        if file not in told and not any(os.path.abspath(one).startswith(inside) for one in files):  # noqa: PTH100
            message = f"there is no Kubernetes object in {_shown(path)}: nothing of it was judged"
            yield Finding(NOTHING, "warning", message, _FIX, place=Place(file))


def _file(path: str) -> str:
    return STDIN_NAME if path == "-" else path


def _shown(path: str) -> str:
    return "standard input" if path == "-" else shown_path(path)


def _read(reading: Reading) -> str:
    counts = reading.counts
    told = [_number(counts.files, "file read", "files read")]
    if counts.not_kubernetes:
        told.append(_number(counts.not_kubernetes, "document of another kind", "documents of other kinds"))
    if counts.skipped_files:
        told.append(f"{counts.skipped_files} that Argo CD skips")
    if counts.chart_templates:
        told.append("charts are judged when Helm has rendered them")
    return ", ".join(told)


def _number(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"
