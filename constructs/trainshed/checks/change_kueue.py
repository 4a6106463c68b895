"""Changes that take a LocalQueue or a ResourceFlavor from under workloads that are not in the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.change_removed import removed
from trainshed.checks.kueue_common import named
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import strings, text
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_tree import KUEUE, ClusterQueueNode

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "changes"
_DRAINED: Final = "HoldAndDrain"


@rule("change-removed-local-queue", severity="warning", family=FAMILY, targets=("kueue",), baseline=True)
def removed_local_queue(fleet: Fleet) -> Iterator[Issue]:
    """The change removes a LocalQueue, or gives it another name, while its ClusterQueue and its Namespace stay.

    Why: Kueue puts no finalizer on it: it vanishes at once. What waits in it waits for ever, and so does what people
    go on submitting to that name; what runs goes on (v0.19.2, `pkg/controller/core/localqueue_controller.go`). A
    repository does not show what was submitted by hand.
    Fix: Set `stopPolicy: HoldAndDrain` on the LocalQueue first, tell who submits to it, and remove it later.
    """
    if fleet.baseline is None:
        return
    named_still = {(workload.namespace, workload.queue_name) for workload in fleet.workloads}
    gone = {item.name for item in removed(fleet, ("", "Namespace"))}
    for queue in removed(fleet, (KUEUE, "LocalQueue")):
        target = text(queue.manifest, "spec", "clusterQueue")
        drained = text(queue.manifest, "spec", "stopPolicy") == _DRAINED
        if drained or queue.namespace in gone or (queue.namespace, queue.name) in named_still:
            continue  # change-removes-referenced tells of what still names it
        if (stays := fleet.kueue.cluster_queues.get(target)) is None or _drains(fleet.baseline, target):
            continue
        message = (
            f"{named(queue)} is removed by this change, and its ClusterQueue {target} stays: what waits in it, and "
            "what is submitted to it, waits for ever"
        )
        fix = "set stopPolicy: HoldAndDrain on it first, and remove it with a later change"
        related = ((f"ClusterQueue {target}", stays.doc, ("metadata", "name")),)
        yield Issue(queue, ("metadata", "name"), message, fix, None, related)


@rule("change-removed-flavor", severity="warning", family=FAMILY, targets=("kueue",), baseline=True)
def removed_flavor(fleet: Fleet) -> Iterator[Issue]:
    """The change removes a ResourceFlavor, or gives it another name, though a ClusterQueue that had it stays.

    Why: Workloads that were admitted to it run on and keep its nodes, but Kueue no longer counts them
    (kubernetes-sigs/kueue#2678): a flavor that takes its place hands out the same nodes again, and pods stay Pending
    while they hold quota.
    Fix: Keep the flavor, with quota 0, until what runs in it has ended; or drain the ClusterQueue first.
    """
    if fleet.baseline is None:
        return
    tree = fleet.baseline.kueue
    users: dict[str, list[ClusterQueueNode]] = {}
    for queue in tree.cluster_queues.values():
        for name in dict.fromkeys(flavor for group in queue.groups for flavor in group.flavors):
            users.setdefault(name, []).append(queue)
    for flavor in removed(fleet, (KUEUE, "ResourceFlavor")):
        staying = [
            fleet.kueue.cluster_queues[queue.name]
            for queue in users.get(flavor.name, [])
            if queue.name in fleet.kueue.cluster_queues and not _drains(fleet.baseline, queue.name)
        ]
        if not staying or any(flavor.name in group.flavors for queue in staying for group in queue.groups):
            continue  # change-removes-referenced tells of a queue that still names it
        again = _successor(fleet, flavor)
        message = (
            f'ResourceFlavor "{flavor.name}" of ClusterQueue {staying[0].name} is removed by this change: what runs in '
            f"it keeps its nodes and is no longer counted"
        )
        message += f', and flavor "{again}" of the same nodeLabels offers them again' if again else ""
        fix = "keep the flavor with nominalQuota 0 until what runs in it has ended, or drain the ClusterQueue first"
        related = ((f"ClusterQueue {staying[0].name}", staying[0].doc, ("spec", "resourceGroups")),)
        yield Issue(flavor, ("metadata", "name"), message, fix, None, related)


def _successor(fleet: Fleet, old: Document) -> str:
    """The new flavor for the nodes of an old one; empty for none."""
    labels = strings(old.manifest, "spec", "nodeLabels")
    known = fleet.baseline.kueue.flavors if fleet.baseline else {}
    return next((name for name, one in fleet.kueue.flavors.items() if name not in known and one.labels == labels), "")


def _drains(before: Fleet, name: str) -> bool:
    queue = before.kueue.cluster_queues.get(name)
    return queue is not None and text(queue.spec, "stopPolicy") == _DRAINED
