"""Gangs of Volcano that are not written as its Job, and shares that never come back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import VOLCANO
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, strings
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_MIN_MEMBER: Final = "scheduling.volcano.sh/group-min-member"


@rule("volcano-group-min-member", severity="error", family="gang scheduling", targets=("volcano",))
def group_min_member(fleet: Fleet) -> Iterator[Issue]:
    """`group-min-member` asks for more pods than there are, or is no number.

    Why: Volcano makes a PodGroup with that minMember for the pods of the Job (of each Job of a JobSet); with fewer pods
    it is never reached, and they stay Pending. What is no number counts as 1: no gang.
    Fix: Write the number of pods that start together.
    """
    for workload in fleet.workloads:
        if workload.form not in ("Job", "JobSet") and workload.kind not in ("Deployment", "StatefulSet"):
            continue
        for pod_set in workload.pod_sets:
            place = _place(workload, pod_set) if pod_set.scheduler == VOLCANO else None
            if place is None:
                continue
            document, path, written = place
            pods = pod_set.count // max(pod_set.replicas, 1)
            if not (written.isascii() and written.isdigit()):
                message = f'group-min-member is "{written[:20]}", which is no number: the pods start one by one'
                yield Issue(document, path, message, f"write {pods}")
            elif int(written[:9]) > pods > 0:
                message = f"group-min-member is {written[:9]}, and there are {pods} pods: they wait for ever"
                yield Issue(document, path, message, f"write {pods}")


def _place(workload: Workload, pod_set: PodSet) -> tuple[Document, Path, str] | None:
    """Where the annotation is written, and what: on the Job itself, or on a JobSet's replicated job."""
    if workload.form == "JobSet":
        path: Path = (*pod_set.item_path, "template", "metadata", "annotations")
        found = strings(pod_set.item, "template", "metadata", "annotations").get(_MIN_MEMBER)
        return None if found is None else (pod_set.document, (*path, _MIN_MEMBER), found)
    if workload.document.group not in ("batch", "apps"):
        return None
    found = workload.annotations.get(_MIN_MEMBER)
    return None if found is None else (workload.document, (*workload.annotations_path, _MIN_MEMBER), found)


@rule("volcano-deserved-not-recovered", severity="warning", family="volcano queues", targets=("volcano",))
def deserved_not_recovered(fleet: Fleet) -> Iterator[Issue]:
    """A queue has `deserved`, and no other queue gives anything back.

    Why: What others have borrowed comes back by the action reclaim, which takes pods only from queues with
    `reclaimable: true`. Where all others have it false, the queue waits until they end by themselves.
    Fix: Leave reclaimable true on the queues that borrow.
    """
    leaves = [node for node in fleet.volcano.queues.values() if not node.children and node.document is not None]
    kept = [node for node in leaves if node.document and dig(node.document.manifest, "spec", "reclaimable") is False]
    owed = [node for node in leaves if node.deserved]
    if len(leaves) < 2 or len(kept) < len(leaves):
        return
    for node in owed[:1]:
        if node.document is not None:
            message = (
                f'"{node.name}" deserves a share, but reclaimable is false on all {len(leaves)} queues: what others '
                "have borrowed never comes back"
            )
            yield Issue(node.document, ("spec", "reclaimable"), message, "leave reclaimable true on those that borrow")
