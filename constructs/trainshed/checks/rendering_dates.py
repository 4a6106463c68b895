"""Dates without quotes where text belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rendering_scripts import FAMILY
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: A timestamp of YAML 1.1 (https://yaml.org/type/timestamp.html).
_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?([Tt]|[ \t]+)\d\d?:\d\d:\d\d(\.\d*)?([ \t]*(Z|[-+]\d\d?(:\d\d)?))?"
)
#: What a source with such a date has somewhere: most have none, and are not looked into.
_NEAR: Final = re.compile(r"[:-] +\d{4}-\d\d?-\d")
_DASHES: Final = re.compile(r"-\d\d?-\d")  # five times as quick


@rule("rendering-plain-date", severity="warning", family=FAMILY)
def plain_date(fleet: Fleet) -> Iterator[Issue]:
    """A label, an annotation or another text is a date without quotes.

    Why: YAML 1.1 has dates: PyYAML, and what builds on it or on other readers of it, makes a date object of
    `2026-01-31` and writes it back as something else, or refuses it; kubectl keeps the text.
    Fix: Write it in quotes.
    """
    sources = {id(document.source): document.source for document in fleet.documents}
    dated = {key for key, source in sources.items() if _DASHES.search(source.text) and _NEAR.search(source.text)}
    if not dated:
        return
    for document in fleet.documents:
        if document.judged and id(document.source) in dated:
            for path, value in _own(document):
                yield from _told(document, path, value)
    for workload in fleet.workloads:
        for pod_set in workload.pod_sets if id(workload.document.source) in dated else ():
            for place in ("labels", "annotations"):
                for key, value in mapping(pod_set.template, "metadata", place).items():
                    yield from _told(*pod_set.at(("metadata", place, key)), value)
            for path, container in (*pod_set.containers, *pod_set.init_containers):
                for index, entry in mappings(container, "env"):
                    yield from _told(*pod_set.at((*path, "env", index, "value")), text(entry, "value"))


def _own(document: Document) -> Iterator[tuple[Path, object]]:
    metadata = mapping(document.manifest, "metadata")
    for place in ("labels", "annotations"):
        for key, value in mapping(metadata, place).items():
            yield ("metadata", place, key), value
    if document.kind == "ConfigMap":
        for key, value in mapping(document.manifest, "data").items():
            yield ("data", key), value


def _told(document: Document, path: Path, value: object) -> Iterator[Issue]:
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return
    spelling = document.raw(path)
    if spelling is not None and spelling.plain and not spelling.tag:
        message = f"{path[-1] if path[-1] != 'value' else 'the value'} is the date {value} to readers of YAML 1.1"
        yield Issue(document, path, f"{message}, and must be a string", f'write it in quotes: "{value}"')
