"""Fair-sharing settings without effect, or with another one than is meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.kueue_versions import fixed_in, kueue_release
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig
from trainshed.fleet.amounts import quantity
from trainshed.fleet.kueue_tree import KUEUE, amount
from trainshed.quantity import Quantity

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue fair sharing"
_ONE: Final = Quantity("1")


@rule("kueue-borrow-within-cohort-unused", severity="warning", family=_FAMILY, targets=("kueue",))
def borrow_within_cohort_unused(fleet: Fleet) -> Iterator[Issue]:
    """`borrowWithinCohort` is set while Kueue shares fairly, or its threshold while its policy is Never.

    Why: With `fairSharing` in the manager's configuration, shares decide who is preempted and `borrowWithinCohort`
    does not, though the flavor assigner still expects preemption where it cannot happen. `maxPriorityThreshold` is read
    with `policy: LowerPriority` only; Never is the default.

    Fix: Leave `borrowWithinCohort` out, or write its policy.
    """
    sharing = fleet.kueue.config.fair_sharing
    for queue in fleet.kueue.cluster_queues.values():
        threshold = dig(queue.spec, "preemption", "borrowWithinCohort", "maxPriorityThreshold")
        if queue.policy("borrowWithinCohort") == "Never" and threshold is not None:
            yield Issue(
                queue.doc,
                ("spec", "preemption", "borrowWithinCohort", "maxPriorityThreshold"),
                f"maxPriorityThreshold is {threshold}, but borrowWithinCohort.policy is Never: it has no effect",
                "write policy: LowerPriority, or leave the threshold out",
            )
        elif sharing and queue.policy("borrowWithinCohort") != "Never":
            yield Issue(
                queue.doc,
                ("spec", "preemption", "borrowWithinCohort"),
                f"borrowWithinCohort is {queue.policy('borrowWithinCohort')}, but the manager's configuration turns "
                "fairSharing on, under which it has no effect",
                "leave borrowWithinCohort out",
            )


@rule("kueue-admission-scope-unused", severity="warning", family=_FAMILY, targets=("kueue",))
def admission_scope_unused(fleet: Fleet) -> Iterator[Issue]:
    """A ClusterQueue asks for usage-based order, which the manager's configuration does not turn on.

    Why: `admissionScope: UsageBasedAdmissionFairSharing` works only with an `admissionFairSharing` block in the
    manager's configuration. Without it LocalQueues are served by priority and time.

    Fix: Add `admissionFairSharing` to the configuration, or leave `admissionScope` out.
    """
    config = fleet.kueue.config
    if config.document is None or config.admission_fair_sharing:
        return
    for queue in fleet.kueue.cluster_queues.values():
        path = ("spec", "admissionScope", "admissionMode")
        if dig(queue.doc.manifest, *path) == "UsageBasedAdmissionFairSharing":
            yield Issue(
                queue.doc,
                path,
                "has no effect: the manager's configuration has no admissionFairSharing",
                "add admissionFairSharing to the configuration, or leave admissionScope out",
                related=(("the configuration", config.document, config.path),),
            )


@rule("kueue-weight-unused", severity="warning", family=_FAMILY, targets=("kueue",))
def weight_unused(fleet: Fleet) -> Iterator[Issue]:
    """A queue has a weight, and nothing shares by weight.

    Why: The weight of a ClusterQueue or Cohort counts only with `fairSharing` in the manager's configuration; that of a
    LocalQueue only where its ClusterQueue has `admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}`.

    Fix: Turn fair sharing on, or leave the weight out.
    """
    tree, path = fleet.kueue, ("spec", "fairSharing", "weight")
    config = tree.config
    if config.document is not None and config.known and not config.fair_sharing:
        for document in fleet.of((KUEUE, "ClusterQueue"), (KUEUE, "Cohort")):
            if (weight := quantity(dig(document.manifest, *path))) is not None and weight != _ONE:
                message = (
                    f"fairSharing.weight is {weight}, but the manager's configuration does not turn fairSharing on"
                )
                related = (("the configuration", config.document, config.path),)
                yield Issue(document, path, message, "add fairSharing to the configuration", None, related)
    for local in tree.local_queues.values():
        queue = tree.cluster_queues.get(local.cluster_queue)
        weight = quantity(dig(local.document.manifest, *path))
        if queue is None or weight is None or weight == _ONE or not queue.doc.judged:
            continue
        if dig(queue.spec, "admissionScope", "admissionMode") != "UsageBasedAdmissionFairSharing":
            message = (
                f"fairSharing.weight is {weight}, but ClusterQueue {queue.name} has no admissionScope that uses it"
            )
            related = (("the ClusterQueue", queue.doc, ("spec",)),)
            yield Issue(local.document, path, message, "add admissionScope to the ClusterQueue", None, related)


@rule("kueue-zero-weight-first", severity="info", family=_FAMILY, targets=("kueue",))
def zero_weight_first(fleet: Fleet) -> Iterator[Issue]:
    """A LocalQueue with weight 0 is served first by Kueue before 0.18.5 and 0.19.1; one below 0 is always last.

    Why: Usage by weight was 0/0 for an idle queue, which sorts before every number. Releases with the fix serve it
    last. No webhook looks at the weight of a LocalQueue.

    Fix: Write a small weight such as 0.01, or run Kueue 0.18.5, 0.19.1 or newer.
    """
    fixed = fixed_in(kueue_release(fleet), ((0, 18, 5), (0, 19, 1)), (0, 20))
    for local in fleet.kueue.local_queues.values():
        weight = dig(local.document.manifest, "spec", "fairSharing", "weight")
        if weight is not None and (amount("cpu", weight) or 0) < 0:
            message = f"fairSharing.weight is {weight}, below 0: its usage counts as infinite, so it is served last"
            yield Issue(local.document, ("spec", "fairSharing", "weight"), message, "write a weight above 0", "warning")
        queue = fleet.kueue.cluster_queues.get(local.cluster_queue)
        if weight is None or queue is None or amount("cpu", weight) != 0:
            continue
        if dig(queue.spec, "admissionScope", "admissionMode") == "UsageBasedAdmissionFairSharing":
            yield Issue(
                local.document,
                ("spec", "fairSharing", "weight"),
                "fairSharing.weight is 0: Kueue before 0.18.5 and 0.19.0 serve this LocalQueue first, later ones last",
                'write a small weight such as "0.01"',
                None if fixed else "warning",
            )
