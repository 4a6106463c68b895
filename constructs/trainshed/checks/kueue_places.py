"""Every metadata block of a workload, and whether Kueue reads labels or annotations there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from trainshed.fleet.access import Node, mapping, strings, text
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_match import PODSET_GROUP, PREFERRED, REQUIRED, SLICE, SLICE_SIZE, SLICES, UNCONSTRAINED
from trainshed.fleet.kueue_tree import KUEUE
from trainshed.fleet.once import once
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import Workload
from trainshed.spelling import misspelt

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: `object`: where Kueue reads the queue; `template`: a pod template; `inner`: anything between or beside them.
Role = Literal["object", "template", "inner"]

#: Keys that users write (kueue.md 5.2; Kueue v0.19.2, `pkg/controller/constants`, `apis/kueue/v1beta2`).
OBJECT_LABELS: Final = tuple(f"{KUEUE}/{name}" for name in ("queue-name", "priority-class", "max-exec-time-seconds"))
OBJECT_ANNOTATIONS: Final = tuple(
    f"{KUEUE}/{name}"
    for name in ("job-min-parallelism", "job-completions-equal-parallelism", "admission-gated-by", "elastic-job")
)
TEMPLATE_ANNOTATIONS: Final = (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE, SLICE_SIZE, SLICES, PODSET_GROUP)
POD_ANNOTATIONS: Final = tuple(
    f"{KUEUE}/{name}"
    for name in ("pod-group-total-count", "pod-group-fast-admission", "pod-group-pod-index-label", "retriable-in-group")
)
EITHER: Final = (f"{KUEUE}/pod-group-name", f"{KUEUE}/prebuilt-workload-name")
#: Keys that only Kueue writes.
OWNED: Final = frozenset(
    f"{KUEUE}/{name}"
    for name in (
        "managed",
        "podset",
        "workload",
        "cluster-queue-name",
        "local-queue-name",
        "role-hash",
        "pod-suspending-parent",
        "stopping",
        "pod-index-offset",
        "pod-group-serving",
        "is-group-workload",
        "multikueue-origin",
    )
)
KNOWN: Final = frozenset(
    {*OBJECT_LABELS, *OBJECT_ANNOTATIONS, *TEMPLATE_ANNOTATIONS, *POD_ANNOTATIONS, *EITHER, *OWNED}
)
_DEEPEST: Final = 12
_WAYS: Final = frozenset(
    {
        "spec", "template", "jobTemplate", "replicatedJobs", "leaderWorkerTemplate", "leaderTemplate", "workerTemplate",
        "rayClusterSpec", "rayClusterConfig", "headGroupSpec", "workerGroupSpecs", "submitterPodTemplate", "components",
        "tasks", "driver", "executor", "runtimePatches", "trainingRuntimeSpec", "jobs",
    }
)  # fmt: skip


class Metadata(NamedTuple):
    """One block of labels and annotations, at `path` of the document (`("metadata",)` for the object's own)."""

    document: Document
    path: Path
    labels: dict[str, str]
    annotations: dict[str, str]
    role: Role

    @property
    def keys(self) -> Iterator[str]:
        """The keys of its labels and annotations."""
        yield from self.labels
        yield from self.annotations


@once
def metadata_blocks(fleet: Fleet) -> list[tuple[Workload, list[list[Metadata]]]]:
    """Every workload with the metadata blocks of each of its documents; found once for all rules."""
    return [
        (workload, [list(metadata_of(member, workload.labels_path[:-1])) for member in workload.members])
        for workload in fleet.workloads
    ]


def metadata_of(document: Document, queue_path: Path | None) -> Iterator[Metadata]:
    """The metadata blocks of a workload or runtime. `queue_path` is the path of the block whose labels Kueue reads; a
    runtime has none."""
    yield from _walk(document, document.manifest, (), queue_path, 0)


def _walk(document: Document, node: Any, path: Path, queue_path: Path | None, depth: int) -> Iterator[Metadata]:
    if not isinstance(node, dict) or depth > _DEEPEST:
        return
    pod = isinstance(mapping(node, "spec").get("containers"), list)
    if isinstance(node.get("metadata"), dict):
        here = (*path, "metadata")
        role: Role = "object" if here == queue_path else "template" if pod else "inner"
        yield _block(document, node["metadata"], here, role)
    if document.kind == "TrainJob" and path == ("spec",):
        yield _block(document, node, path, "inner")
    if pod:
        return
    for key, value in node.items():
        if key in _WAYS or str(key).endswith("ReplicaSpecs"):
            yield from _children(document, value, (*path, key), queue_path, depth)


def _children(document: Document, value: Any, path: Path, queue_path: Path | None, depth: int) -> Iterator[Metadata]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(document, item, (*path, index), queue_path, depth + 1)
    elif isinstance(value, dict):
        if str(path[-1]).endswith("ReplicaSpecs"):
            for key, item in value.items():
                yield from _walk(document, item, (*path, key), queue_path, depth + 2)
        else:
            yield from _walk(document, value, path, queue_path, depth + 1)


def _block(document: Document, node: Node, path: Path, role: Role) -> Metadata:
    return Metadata(document, path, strings(node, "labels"), strings(node, "annotations"), role)


def is_live(document: Document) -> bool:
    """Whether the object was read from a cluster, where controllers have written to it."""
    metadata = mapping(document.manifest, "metadata")
    return bool(text(metadata, "uid") or "managedFields" in metadata or "creationTimestamp" in metadata)


def meant(key: str) -> str:
    """The key of Kueue that a misspelt one was to be; empty when it is right, foreign, or unknown but not near."""
    if key in KNOWN:
        return ""
    domain, slash, name = key.rpartition("/")
    if slash and domain == KUEUE:
        return next((known for known in sorted(KNOWN - OWNED) if misspelt(name, known.partition("/")[2])), "")
    if f"{KUEUE}/{name}" not in KNOWN:
        return ""
    foreign = slash and not ("kueue" in domain or misspelt(domain, KUEUE))
    return "" if foreign or not slash else f"{KUEUE}/{name}"
