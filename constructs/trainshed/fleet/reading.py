"""Any bytes in, documents and findings out: the one entrance to the read half."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, BinaryIO, Final

import yaml

from trainshed.collector import collector_paused
from trainshed.faults import Place
from trainshed.fleet.chunks import chunks
from trainshed.fleet.compose import Limits, Refused, compose
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding
from trainshed.fleet.joined import joined_finding, joints
from trainshed.fleet.json_text import json_values, looks_like_json
from trainshed.fleet.leftovers import ARGOCD_SKIP, encrypted, encrypted_finding, template_finding
from trainshed.fleet.nodes import Builder
from trainshed.fleet.objects import Counts, Objects
from trainshed.fleet.positions import Extent, Positions
from trainshed.fleet.problems import refused, tell
from trainshed.fleet.source import Source
from trainshed.fleet.sources import Sources
from trainshed.fleet.syntax import explain
from trainshed.fleet.worlds import duplicates

MAX_BYTES: Final = 64 << 20
_ALIAS: Final = re.compile(r"(?<![^\s,\[{:-])\*[^\s,\[\]{}*]")


class Reading:
    """What was read: `documents` in input order, `findings` on the text sorted by place, `counts`."""

    def __init__(self, objects: Objects, findings: list[Finding], counts: Counts, sources: dict[str, Source]) -> None:
        self.documents: list[Document] = objects.documents
        self.findings: list[Finding] = findings
        self.counts = counts
        self._sources = sources

    @property
    def unreadable(self) -> bool:
        """Whether an input could not be opened or read at all: exit code 2."""
        return any(finding.code == "unreadable" for finding in self.findings)

    def line(self, place: Place) -> str:
        """The source line at `place`, without its line end; empty for a file that is not part of this reading."""
        source = self._sources.get(place.file)
        return source.line(place.line) if source else ""

    def duplicates(self, world_of: Callable[[Document], str] | None = None) -> list[Finding]:
        """The findings for identities that are defined twice in one world; `worlds.worlds` is the default."""
        return sorted(duplicates(self.documents, world_of))


def read(
    paths: Sequence[str],
    stdin: BinaryIO | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    limits: Limits = Limits(),  # noqa: B008  (an immutable tuple)
    on_source: Callable[[str], None] | None = None,
) -> Reading:
    """Reads files, folders (recursively, `.yaml`, `.yml`, `.json`) and `-` (`stdin`, or the process' own).

    Never raises on what the input contains: a text that cannot be read is a finding, and the other documents of its
    file are still read. Files above `max_bytes` are refused unread. `on_source` is called with the name of every text.
    Documents that are no Kubernetes objects are counted. Duplicate objects are not looked for (`Reading.duplicates`).
    """
    sources = Sources(paths, stdin, max_bytes)
    reader = _Reader(limits)
    kept: dict[str, Source] = {}
    with collector_paused():  # node graphs hold no cycles; walking them makes large files four times as slow
        for source in sources:
            if on_source is not None:
                on_source(source.file)
            kept[source.file] = source
            reader.read(source)
    reader.counts.chart_templates = sources.chart_templates
    reader.counts.files += sources.binary_files
    reader.objects.mark_patches()
    findings = sorted(sources.findings + reader.findings + reader.objects.findings)
    return Reading(reader.objects, findings, reader.counts, kept)


def read_rendered(items: Iterable[tuple[Source, dict[str, Any]]]) -> Reading:
    """As `read`, of texts whose one object is known already: our own writer's, which is certain to read back equal."""
    reader = _Reader(Limits())
    kept: dict[str, Source] = {}
    with collector_paused():  # node graphs hold no cycles; walking them makes large files four times as slow
        for source, manifest in items:
            kept[source.file] = source
            reader.take(source, manifest)
    reader.objects.mark_patches()
    return Reading(reader.objects, sorted(reader.findings + reader.objects.findings), reader.counts, kept)


class _Reader:
    def __init__(self, limits: Limits) -> None:
        self.findings: list[Finding] = []
        self.counts = Counts()
        self.objects = Objects(Positions(limits), self.counts)
        self._limits = limits
        self._builder = Builder(limits)

    def read(self, source: Source) -> None:
        """Adds what `source` holds."""
        text = source.text
        self.counts.files += 1
        if ARGOCD_SKIP in text:
            self._skipped_by_argocd(source, text.index(ARGOCD_SKIP))
            return
        findings, documents = len(self.findings), len(self.objects.documents)
        before = self.counts.not_kubernetes + self.counts.lists + len(self.objects.findings)
        if looks_like_json(text):
            self._json(source)
        else:
            self._yaml_chunks(source, 0, len(text))
        after = self.counts.not_kubernetes + self.counts.lists + len(self.objects.findings)
        if (len(self.findings), len(self.objects.documents), after) == (findings, documents, before):
            message = "the file holds no object, only comments or nothing"
            self.findings.append(Finding("yaml-empty-document", "info", message, "remove it", place=Place(source.file)))
        self._leftovers(source, self.objects.documents[documents:])

    def take(self, source: Source, manifest: dict[str, Any]) -> None:
        """Adds the object that `source` holds."""
        self.counts.files += 1
        if ARGOCD_SKIP in source.text:
            self._skipped_by_argocd(source, source.text.index(ARGOCD_SKIP))
            return
        documents = len(self.objects.documents)
        self.objects.add(manifest, Extent(source, 0, len(source.text)))
        self._leftovers(source, self.objects.documents[documents:])

    def _give_up(self, source: Source, offset: int, findings: bool) -> None:
        limit = self._limits.findings if findings else self._limits.documents
        message = (
            f"the file is not read from here on: it has more than {limit:,} {'faults' if findings else 'documents'}"
        )
        fix = "mend the first ones, or leave the file out" if findings else "split the file"
        self.findings.append(Finding("yaml-too-large", "error", message, fix, place=source.place(offset)))

    def _json(self, source: Source) -> None:
        most = len(self.findings) + len(self.objects.findings) + self._limits.findings
        for number, value in enumerate(json_values(source.text, self._limits.depth)):
            found = len(self.findings) + len(self.objects.findings)
            if number >= self._limits.documents or found >= most:
                self._give_up(source, value.start, found >= most)
                return
            if value.deep:
                message = f"the document is nested more than {self._limits.depth} levels deep"
                place = source.place(value.start)
                self.findings.append(Finding("yaml-too-deep", "error", message, "flatten it", place=place))
            elif value.plain:
                self.objects.add(value.value, Extent(source, value.start, value.end, json=True))
            elif not self._yaml_chunks(source, value.start, value.end):
                return

    def _yaml_chunks(self, source: Source, start: int, end: int) -> bool:
        """Reads the documents of a stretch; False where it gave up."""
        text = source.text[start:end]
        return self._yaml_documents(source, ((start + first, start + last) for first, last in chunks(text)))

    def _yaml_documents(self, source: Source, extents: Iterable[tuple[int, int]]) -> bool:
        most = len(self.findings) + len(self.objects.findings) + self._limits.findings
        for number, (start, end) in enumerate(extents):
            found = len(self.findings) + len(self.objects.findings)
            if number >= self._limits.documents or found >= most:
                self._give_up(source, start, found >= most)
                return False
            begins = self._yaml(source, start, end)
            if begins and not self._joined(source, begins, end):
                return False
        return True

    def _joined(self, source: Source, begins: list[int], end: int) -> bool:
        """Reads objects that run together one by one, as they are meant, and tells it once."""
        before = len(self.objects.documents)
        whole = self._yaml_documents(source, pairwise((*begins, end)))
        second = (one.ref for one in self.objects.documents[before:] if one.extent.start == begins[1])
        self.findings.append(replace(joined_finding(source, begins), object=next(second, None)))
        return whole

    def _yaml(self, source: Source, start: int, end: int) -> list[int]:
        """Reads a document. Where several objects run together in it, it only says where they begin."""
        text = source.text[start:end]
        aliases = "*" in text and "&" in text and _ALIAS.search(text) is not None
        try:
            for root in compose(text, self._limits):
                before = len(self.objects.documents)
                try:
                    value = self._builder.build(root, aliases)
                except Refused as refusal:
                    self.findings.append(refused(refusal, source, start))
                else:
                    if not aliases and (found := joints(root, value)):
                        self._builder.problems.clear()
                        return [start + offset for offset in (root.start_mark.index, *found)]
                    self.objects.add(value, Extent(source, start, end))
                    if not _like_object(value):  # a workflow's `on:` is nothing that Kubernetes reads
                        problems = self._builder.problems
                        problems[:] = [problem for problem in problems if problem.code != "yaml-non-string-key"]
                self._tell_problems(source, start, self.objects.documents[before:])
        except Refused as refusal:
            self.findings.append(refused(refusal, source, start))
        except yaml.YAMLError as error:
            code, message, fix, offset = explain(error, text)
            self.findings.append(Finding(code, "error", message, fix, place=source.place(start + offset)))
        return []

    def _tell_problems(self, source: Source, start: int, documents: list[Document]) -> None:
        """Tells what the builder met, of the object it built where that was one (and not a List of several)."""
        if not self._builder.problems:
            return
        ref = documents[0].ref if len(documents) == 1 else None
        # An alias is built once for each use; its problems are told once.
        unique = {(problem.code, problem.node.start_mark.index): problem for problem in self._builder.problems}
        first = islice(unique.values(), self._limits.findings)
        self.findings.extend(replace(tell(problem, source, start), object=ref) for problem in first)
        self._builder.problems.clear()

    def _skipped_by_argocd(self, source: Source, offset: int) -> None:
        self.counts.skipped_files += 1
        message = "the file is not judged: Argo CD skips every file that contains this marker"
        fix = "remove the marker, also from comments about it, if the file is meant to be applied"
        self.findings.append(Finding("argocd-skipped-file", "info", message, fix, place=source.place(offset)))

    def _leftovers(self, source: Source, documents: list[Document]) -> None:
        text = source.text
        braces, substitutions = "{{" in text, "${" in text
        for document in documents:
            if "sops" in document.manifest and encrypted(document):
                document.unjudged = "encrypted"
                self.findings.append(encrypted_finding(document))
            elif braces or substitutions:
                finding = template_finding(document)
                if finding is not None:
                    self.findings.append(finding)


def _like_object(value: object) -> bool:
    """Whether a document is, or was to be, an object of Kubernetes, or a list of them."""
    if isinstance(value, list):
        return any(map(_like_object, value))
    return isinstance(value, dict) and ("apiVersion" in value or "kind" in value)
