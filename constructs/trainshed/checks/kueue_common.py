"""What the Kueue rules share: which workloads are queued, where a field is to be edited, how sure a reference is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from trainshed.faults import nearest
from trainshed.fleet.access import dig, mapping
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.kueue_requests import local_queue_of, managed_workloads
from trainshed.fleet.kueue_tree import KUEUE, ClusterQueueNode, LocalQueueNode
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

QUEUE_NAME: Final = f"{KUEUE}/queue-name"
PRIORITY_CLASS: Final = f"{KUEUE}/priority-class"

__all__ = [
    "PRIORITY_CLASS",
    "QUEUE_NAME",
    "container_name",
    "depends",
    "elsewhere",
    "managed_workloads",
    "named",
    "place_in",
    "platform",
    "proposal",
    "queue_path",
    "queued",
    "request_path",
    "sure",
]


def queued(fleet: Fleet) -> Iterator[tuple[Workload, LocalQueueNode, ClusterQueueNode]]:
    """The managed workloads whose LocalQueue and ClusterQueue are in the input."""
    tree = fleet.kueue
    for workload in managed_workloads(fleet):
        local = local_queue_of(tree, workload)
        queue = tree.cluster_queues.get(local.cluster_queue) if local else None
        if local is not None and queue is not None:
            yield workload, local, queue


def queue_path(workload: Workload) -> Path:
    """Where the workload's queue name is written, or would be."""
    return (*workload.labels_path, QUEUE_NAME)


def named(document: Document) -> str:
    """An object for a sentence: `Job aurora/tokenise`, `ClusterQueue gpu`."""
    return f"{document.kind} {document.namespace + '/' if document.namespace else ''}{document.name}"


def place_in(workload: Workload, pod_set: PodSet, path: Path) -> tuple[Document, Path]:
    """Where to report a field of a pod template: at the field when it stands in the workload itself; when it stands in
    another object (a runtime), at the workload's queue name."""
    document, found = pod_set.at(path)
    if any(document is member for member in workload.members):
        return document, found
    return workload.document, queue_path(workload)


def elsewhere(workload: Workload, pod_set: PodSet, path: Path) -> tuple[tuple[str, Document, Path], ...]:
    """The field's own place as a related one, when it stands in another object than the workload."""
    document, found = pod_set.at(path)
    if any(document is member for member in workload.members):
        return ()
    return ((f"written in {named(document)}", document, found),)


def request_path(pod_set: PodSet, resource: str) -> tuple[Path, bool]:
    """Where a pod template asks for a resource, and whether it does: a LimitRange or an overhead adds some."""
    for path, container in (*pod_set.containers, *pod_set.init_containers):
        for field in ("requests", "limits"):
            if resource in mapping(container, "resources", field):
                return (*path, "resources", field, resource), True
    for field in ("requests", "limits"):
        if resource in mapping(pod_set.spec, "resources", field):
            return ("spec", "resources", field, resource), True
    containers = pod_set.containers
    return (*(containers[0][0] if containers else ("spec",)), "resources"), False


def container_name(pod_set: PodSet, path: Path) -> str:
    """The container that a path in the template belongs to; empty for none."""
    name = dig(pod_set.template, *path[:3], "name") if path[1:2] in (("containers",), ("initContainers",)) else None
    return name if isinstance(name, str) else ""


def sure(fleet: Fleet, kind: str) -> Severity:
    """How sure a missing cluster-scoped Kueue object of this kind is a mistake: an error when the input holds others
    of the kind, or both ClusterQueues and flavors, hence the platform's objects; otherwise it may exist elsewhere."""
    if fleet.has_kind(KUEUE, kind) or platform(fleet):
        return "error"
    return "info"


def platform(fleet: Fleet) -> bool:
    """Whether the input is where a platform's Kueue objects are kept."""
    return fleet.has_kind(KUEUE, "ClusterQueue") and fleet.has_kind(KUEUE, "ResourceFlavor")


def depends(severity: Severity, what: str) -> str:
    """What an uncertain answer depends on, as the end of a sentence."""
    return "" if severity == "error" else f", unless {what} elsewhere"


def proposal(name: str, known: Iterable[str], otherwise: str) -> str:
    """The nearest known name as a question, followed by what else would be right."""
    near = nearest(name, known)
    return f"{near} Otherwise {otherwise}" if near else otherwise
