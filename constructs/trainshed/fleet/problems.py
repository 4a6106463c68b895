"""The sentences for what the builder found odd in documents that could be read."""

from __future__ import annotations

from typing import Final, NamedTuple

from trainshed.faults import Place
from trainshed.fleet.compose import Refused
from trainshed.fleet.finding import Finding, Severity
from trainshed.fleet.nodes import Problem
from trainshed.fleet.source import Source


class _Told(NamedTuple):
    severity: Severity
    message: str
    fix: str


_TOLD: Final = {
    "yaml-duplicate-key": _Told(
        "error",
        'the key "{detail}" is written twice in one mapping; kubectl and Argo CD keep the last value silently',
        "remove one of the two",
    ),
    "yaml-tag": _Told("error", "{detail}; Kubernetes refuses the document", "remove the tag or correct the value"),
    "yaml-not-json": _Told(
        "error",
        '"{detail}" is a number that JSON cannot carry; Kubernetes refuses the document',
        "put it in quotes if it is meant as text",
    ),
    "yaml-complex-key": _Told(
        "error", "a list or mapping stands where a key belongs; Kubernetes refuses the document", "write a plain key"
    ),
}


def tell(problem: Problem, source: Source, base: int) -> Finding:
    """The finding for `problem` in the stretch of `source` that starts at `base`."""
    offset = base + problem.node.start_mark.index
    place = source.place(offset)
    if problem.code == "yaml-complex-key" and source.text.startswith("{", offset) and source.text[offset - 1] == "{":
        end = source.text.find("}}", offset, offset + 200)
        shown = source.text[offset - 1 : end + 2] if end > 0 else "{{"
        message = f"{' '.join(shown.split())} is left of a template; YAML reads it as a mapping"
        return Finding(
            "template-not-rendered", "error", message, "check the rendered text (`helm template`)", place=place
        )
    told = _TOLD.get(problem.code) or _told_by_detail(problem)
    related: tuple[tuple[str, Place], ...] = ()
    if problem.other is not None:
        related = (("first written here", source.place(base + problem.other.start_mark.index)),)
    message = told.message.format(detail=problem.detail)
    return Finding(problem.code, told.severity, message, told.fix, place=place, related=related)


def _told_by_detail(problem: Problem) -> _Told:
    if problem.code == "yaml-merge-key":
        if not problem.detail:
            return _Told("error", "<< needs a mapping or a list of mappings", "refer to a mapping")
        return _Told(
            "warning",
            'the merge key << stands after "{detail}" and changes it for Kubernetes, but not for YAML 1.1 readers '
            "such as Python's",
            "write << first in its mapping",
        )
    if not problem.detail:
        return _Told("error", "a key is null; Kubernetes refuses the document", "write a key, in quotes if it is meant")
    spelled = problem.node.value[:40].replace("{", "{{").replace("}", "}}")
    return _Told(
        "warning", f'the key {spelled} is not a string: Kubernetes reads it as "{{detail}}"', f'write "{spelled}"'
    )


def refused(refusal: Refused, source: Source, base: int) -> Finding:
    """The finding for a document that is not read further."""
    offset = base + (refusal.node.start_mark.index if refusal.node is not None else 0)
    message = f"the document {refusal.message}" if not refusal.message.startswith("an ") else refusal.message
    return Finding(refusal.code, "error", message, refusal.fix, place=source.place(offset))
