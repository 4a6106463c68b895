"""Order and preemption: PriorityClasses that act behind Kueue's back, fair-sharing settings without effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from trainshed.checks.kueue_common import named, queued
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_tree import ClusterQueueNode
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue preemption"
_BUILT_IN = ("system-cluster-critical", "system-node-critical")


class _User(NamedTuple):
    workload: Workload
    queue: ClusterQueueNode
    value: int
    pod_set: PodSet
    priority_class: Document | None


@rule("kueue-pod-priority-preempts", severity="warning", family=_FAMILY, targets=("kueue",))
def pod_priority_preempts(fleet: Fleet) -> Iterator[Issue]:
    """A preempting PriorityClass on queued pods undoes what the ClusterQueues forbid.

    Why: kube-scheduler preempts by the pods' PriorityClass and knows nothing of queues. Where quota exceeds the real
    nodes, a pod with a higher PriorityClass pushes out pods of another queue although all policies say Never.

    Fix: Write `preemptionPolicy: Never` in the PriorityClass, and order workloads by WorkloadPriorityClass.
    """
    users = list(_users(fleet))
    lowest: dict[int, _User] = {}
    for user in users:
        known = lowest.get(id(user.queue))
        if known is None or user.value < known.value:
            lowest[id(user.queue)] = user
    ordered = sorted(lowest.values(), key=lambda user: user.value)
    told: set[int] = set()
    for user in users:
        if user.priority_class is None or id(user.priority_class) in told:
            continue
        for victim in ordered:
            if victim.value >= user.value:
                break
            if not _allowed(user, victim):
                told.add(id(user.priority_class))
                yield _behind_kueue(user, victim, user.priority_class)
                break


def _users(fleet: Fleet) -> Iterator[_User]:
    classes = {document.name: document for document in fleet.of(("scheduling.k8s.io", "PriorityClass"))}
    if not classes:
        return
    for workload, _, queue in queued(fleet):
        for pod_set in workload.pod_sets:
            name = text(pod_set.spec, "priorityClassName")
            document = classes.get(name)
            if (name and document is None) or name in _BUILT_IN:
                continue
            value = (whole(document.manifest, "value") or 0) if document else 0
            preempts = document is not None and text(document.manifest, "preemptionPolicy") != "Never"
            yield _User(workload, queue, value, pod_set, document if preempts else None)


def _allowed(user: _User, victim: _User) -> bool:
    """Whether Kueue itself would let one preempt the other."""
    if user.workload is victim.workload:
        return True
    if user.queue is victim.queue:
        return user.queue.policy("withinClusterQueue") != "Never"
    same_tree = user.queue.parent is not None and user.queue.root is victim.queue.root
    return same_tree and user.queue.policy("reclaimWithinCohort") != "Never"


def _behind_kueue(user: _User, victim: _User, priority_class: Document) -> Issue:
    between = (
        f"within ClusterQueue {user.queue.name}"
        if user.queue is victim.queue
        else f"between ClusterQueues {user.queue.name} and {victim.queue.name}"
    )
    return Issue(
        priority_class,
        ("preemptionPolicy",),
        f"pods of {named(user.workload.document)} with this PriorityClass ({user.value}) preempt those of "
        f"{named(victim.workload.document)} ({victim.value}) on full nodes (preemptionPolicy PreemptLowerPriority), "
        f"while Kueue allows no preemption {between}",
        'write preemptionPolicy: "Never", and order workloads by the label kueue.x-k8s.io/priority-class',
        related=(("used here", *user.pod_set.at(("spec", "priorityClassName"))),),
    )
