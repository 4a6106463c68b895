"""Names that Kueue objects and workloads give: queues, flavors, priority classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.kueue_common import (
    PRIORITY_CLASS,
    depends,
    managed_workloads,
    named,
    platform,
    proposal,
    queue_path,
    sure,
)
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, mappings, text
from trainshed.fleet.finding import Severity
from trainshed.fleet.kueue_tree import KUEUE
from trainshed.fleet.workload import Workload
from trainshed.spelling import Names

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue references"


@rule("kueue-local-queue-missing", severity="error", family=_FAMILY, targets=("kueue",))
def local_queue_missing(fleet: Fleet) -> Iterator[Issue]:
    """A workload names a LocalQueue that its namespace does not have.

    Why: Kueue looks the queue up in the workload's own namespace. A LocalQueue of that name in another namespace does
    not count, and the workload stays pending with "LocalQueue doesn't exist".

    Fix: Name a LocalQueue of the namespace, or add one there.
    """
    for workload in managed_workloads(fleet):
        if workload.queue_name and not _has_queue(fleet, workload):
            yield _missing_queue(fleet, workload)


def _has_queue(fleet: Fleet, workload: Workload) -> bool:
    name = workload.queue_name
    known = fleet.kueue.local_queues
    if (workload.namespace or "", name) in known or ("", name) in known:
        return True
    if workload.namespace is None and fleet.kueue.queues_named(name):
        return True
    return fleet.find(KUEUE, "LocalQueue", workload.namespace, name) is not None


def _missing_queue(fleet: Fleet, workload: Workload) -> Issue:
    name, namespace = workload.queue_name, workload.namespace
    here = fleet.names(KUEUE, "LocalQueue", namespace) if namespace else fleet.names(KUEUE, "LocalQueue")
    others = fleet.kueue.queues_named(name) if namespace else []
    severity = sure(fleet, "LocalQueue")
    where = f" in namespace {namespace}" if namespace else ""
    message = f'queue-name names LocalQueue "{name}", but there is none of that name{where}'
    if others:
        message += f" (there is one in {', '.join(sorted(queue.namespace for queue in others)[:3])})"
    message += f": the workload stays pending{depends(severity, 'it exists')}"
    fix = proposal(name, here, f'add a LocalQueue "{name}"{where}' + (f" or name one of {_list(here)}" if here else ""))
    related = tuple(
        (f"LocalQueue {name} of another namespace", queue.document, ("metadata", "namespace")) for queue in others[:1]
    )
    return Issue(workload.document, queue_path(workload), message, fix, severity, related)


def _list(names: Names) -> str:
    shown = names.in_order
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")


@rule("kueue-cluster-queue-missing", severity="error", family=_FAMILY, targets=("kueue",))
def cluster_queue_missing(fleet: Fleet) -> Iterator[Issue]:
    """A LocalQueue leads to no ClusterQueue.

    Why: Nothing checks the name when it is applied. The LocalQueue gets the condition Active=False with
    ClusterQueueDoesNotExist, and everything in it waits. `spec.clusterQueue` can't be changed later, so a wrong name
    means to delete the LocalQueue.

    Fix: Write the name of an existing ClusterQueue.
    """
    known = fleet.names(KUEUE, "ClusterQueue")
    for queue in fleet.kueue.local_queues.values():
        path = ("spec", "clusterQueue")
        if not queue.cluster_queue:
            if dig(queue.document.manifest, *path) in (None, ""):
                yield Issue(
                    queue.document,
                    path,
                    "names no ClusterQueue: everything in this LocalQueue waits for ever",
                    "write the name of a ClusterQueue" + (f": {_list(known)}" if known else ""),
                )
        elif fleet.find(KUEUE, "ClusterQueue", None, queue.cluster_queue) is None:
            severity: Severity = sure(fleet, "ClusterQueue")
            if fleet.has_kind(KUEUE, "ResourceFlavor"):
                severity = "error"
            yield Issue(
                queue.document,
                path,
                f'there is no ClusterQueue "{queue.cluster_queue}": everything in this LocalQueue waits'
                + depends(severity, "it exists"),
                proposal(queue.cluster_queue, known, f"add it{f' or name one of {_list(known)}' if known else ''}"),
                severity,
            )


@rule("kueue-flavor-missing", severity="error", family=_FAMILY, targets=("kueue",))
def flavor_missing(fleet: Fleet) -> Iterator[Issue]:
    """A ClusterQueue or Cohort lists a flavor that no ResourceFlavor has.

    Why: One missing flavor stops the whole ClusterQueue (Active=False, FlavorNotFound), its good flavors too.

    Fix: Correct the name, or add the ResourceFlavor.
    """
    known = fleet.names(KUEUE, "ResourceFlavor")
    severity: Severity = "error" if known else "info"
    for document in fleet.of((KUEUE, "ClusterQueue"), (KUEUE, "Cohort")):
        for group_index, group in mappings(document.manifest, "spec", "resourceGroups"):
            for index, flavor in mappings(group, "flavors"):
                name = text(flavor, "name")
                if not name or fleet.find(KUEUE, "ResourceFlavor", None, name) is not None:
                    continue
                stops = "the whole ClusterQueue is inactive" if document.kind == "ClusterQueue" else "nobody can use it"
                yield Issue(
                    document,
                    ("spec", "resourceGroups", group_index, "flavors", index, "name"),
                    f'there is no ResourceFlavor "{name}": {stops}{depends(severity, "it exists")}',
                    proposal(name, known, f'add ResourceFlavor "{name}"'),
                    severity,
                )


@rule("kueue-priority-class-missing", severity="error", family=_FAMILY, targets=("kueue",))
def priority_class_missing(fleet: Fleet) -> Iterator[Issue]:
    """The label `kueue.x-k8s.io/priority-class` names no WorkloadPriorityClass.

    Why: Kueue then makes no Workload at all: the job stays suspended without an event, only the manager's log tells
    why. A PriorityClass of that name does not count.

    Fix: Name a WorkloadPriorityClass, or add it.
    """
    known = fleet.names(KUEUE, "WorkloadPriorityClass")
    severity: Severity = "error" if known or platform(fleet) else "info"
    for workload in managed_workloads(fleet):
        name = workload.labels.get(PRIORITY_CLASS, "")
        if not name or fleet.find(KUEUE, "WorkloadPriorityClass", None, name) is not None:
            continue
        other = fleet.find("scheduling.k8s.io", "PriorityClass", None, name)
        message = f'there is no WorkloadPriorityClass "{name}": Kueue makes no Workload and the job stays suspended'
        if other is not None:
            message += f"; PriorityClass {name} is another kind and does not count"
        related = ((f"{named(other)}", other, ("metadata", "name")),) if other else ()
        yield Issue(
            workload.document,
            (*workload.labels_path, PRIORITY_CLASS),
            message + depends(severity, "it exists"),
            proposal(name, known, f'add WorkloadPriorityClass "{name}"'),
            severity,
            related,
        )
