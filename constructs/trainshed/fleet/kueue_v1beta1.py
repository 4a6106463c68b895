"""Kueue objects of v1beta1, read as v1beta2: rules know one version, findings keep the words and places of the input.

Source of the renames: Kueue v0.19.2, `apis/kueue/v1beta1/*_conversion.go`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from trainshed.faults import Place
from trainshed.fleet.access import items, mapping
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding, ObjectRef, Severity
from trainshed.fleet.paths import Path, show_path
from trainshed.fleet.positions import Spelling

OLD: Final = "kueue.x-k8s.io/v1beta1"
NEW: Final = "kueue.x-k8s.io/v1beta2"

Spec = dict[str, Any]
Moves = list[tuple[Path, Path]]
_Converter = Callable[[Spec], Moves]


def as_v1beta2(document: Document) -> Document:
    """`document` itself, or a Kueue object of v1beta1 as a `Converted` one. A Workload stays: controllers own it."""
    if document.api_version != OLD or document.kind == "Workload":
        return document
    return Converted(document)


class Converted(Document):
    """A document whose `manifest` is in v1beta2, while names, paths and places are those of the v1beta1 input."""

    __slots__ = ("_moves", "_original")

    def __init__(self, original: Document) -> None:
        manifest, self._moves = _converted(original.manifest, original.kind)
        super().__init__(manifest, original.extent, original._positions, original.prefix)
        self._original = original
        self.unjudged = original.unjudged

    @property
    def original(self) -> Document:
        """The document as it is written."""
        return self._original

    @property
    def ref(self) -> ObjectRef:
        return self._original.ref

    def written_path(self, path: Path) -> Path:
        """The path in the input of the field at `path` in `manifest`."""
        for new, old in self._moves:
            if path[: len(new)] == new:
                return old + path[len(new) :]
        return path

    def place(self, path: Path = (), *, value: bool = False) -> Place:
        return self._original.place(self.written_path(path), value=value)

    def raw(self, path: Path) -> Spelling | None:
        return self._original.raw(self.written_path(path))

    def finding(
        self,
        code: str,
        severity: Severity,
        message: str,
        fix: str = "",
        path: Path = (),
        related: tuple[tuple[str, Place], ...] = (),
        *,
        value: bool = False,
    ) -> Finding:
        written = self.written_path(path)
        place = self._original.place(written, value=value)
        return Finding(code, severity, message, fix, self.ref, show_path(written), place, related)


def _converted(manifest: Spec, kind: str) -> tuple[Spec, Moves]:
    converter = _CONVERTERS.get(kind)
    converted = {**manifest, "apiVersion": NEW}
    spec = manifest.get("spec")
    if converter is None or not isinstance(spec, dict):
        return converted, []
    converted["spec"] = dict(spec)
    moves = converter(converted["spec"])
    return converted, sorted(moves, key=lambda move: -len(move[0]))


def _cluster_queue(spec: Spec) -> Moves:
    moves: Moves = []
    if "cohort" in spec and "cohortName" not in spec:
        spec["cohortName"] = spec.pop("cohort")
        moves.append((("spec", "cohortName"), ("spec", "cohort")))
    if "admissionChecks" in spec:
        moves += _admission_checks(spec)
    fungibility = mapping(spec, "flavorFungibility")
    if fungibility:
        words = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
        spec["flavorFungibility"] = {
            key: "MayStopSearch" if value == words.get(key) else value for key, value in fungibility.items()
        }
    return moves


def _admission_checks(spec: Spec) -> Moves:
    """The names of the short list go to the end of the strategy's, where they do not stand in it already."""
    names = items(spec, "admissionChecks")
    del spec["admissionChecks"]
    written = items(spec, "admissionChecksStrategy", "admissionChecks")
    known = [one.get("name") for one in written if isinstance(one, dict)]
    added = [(index, name) for index, name in enumerate(names) if name not in known]
    if not added:
        return []
    strategy = mapping(spec, "admissionChecksStrategy")
    spec["admissionChecksStrategy"] = {**strategy, "admissionChecks": [*written, *({"name": one} for _, one in added)]}
    new: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
    moves: Moves = [] if written else [(("spec", "admissionChecksStrategy"), ("spec", "admissionChecks"))]
    for at, (index, _) in enumerate(added, len(written)):
        old: Path = ("spec", "admissionChecks", index)
        moves += [((*new, at), old), ((*new, at, "name"), old)]
    return moves


def _multikueue_cluster(spec: Spec) -> Moves:
    moves: Moves = []
    if "clusterSource" in spec:
        return moves
    source = {key: spec.pop(key) for key in ("kubeConfig", "clusterProfileRef") if key in spec}
    if source:
        spec["clusterSource"] = source
        moves = [(("spec", "clusterSource", key), ("spec", key)) for key in source]
        moves.append((("spec", "clusterSource"), ("spec",)))
    return moves


def _admission_check(spec: Spec) -> Moves:
    spec.pop("retryDelayMinutes", None)
    return []


_CONVERTERS: Final[dict[str, _Converter]] = {
    "ClusterQueue": _cluster_queue,
    "MultiKueueCluster": _multikueue_cluster,
    "AdmissionCheck": _admission_check,
}
