"""What quota a workload stands on: that of others, or none at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.kueue_common import container_name, elsewhere, place_in, queued, request_path
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.kueue_feasibility import feasibilities
from trainshed.fleet.kueue_requests import requests_of

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue quota"


@rule("kueue-only-by-borrowing", severity="info", family=_FAMILY, targets=("kueue",))
def only_by_borrowing(fleet: Fleet) -> Iterator[Issue]:
    """A workload is larger than its ClusterQueue's own quota: it runs only while others leave theirs idle.

    Why: Beyond the nominalQuota a workload borrows from the cohort. It waits while the others use their quota, and
    is preempted when an owner with `reclaimWithinCohort` takes it back.

    Fix: Nothing, when that is meant; otherwise raise the nominalQuota.
    """
    for answer in feasibilities(fleet):
        if answer.verdict != "borrowing":
            continue
        queue = answer.queue
        key, amount = next(item for item in answer.assigned.items() if item[1] > queue.subtree_quota(item[0]))
        pod_set = answer.workload.pod_sets[0]
        document, where = place_in(answer.workload, pod_set, request_path(pod_set, key[1])[0])
        message = f"runs only while others leave quota idle: {answer.arithmetic(key, amount)}"
        yield Issue(
            document, where, message, "", related=(("the ClusterQueue", queue.doc, queue.covered[key[1]].path),)
        )


@rule("kueue-no-covered-request", severity="warning", family=_FAMILY, targets=("kueue",))
def no_covered_request(fleet: Fleet) -> Iterator[Issue]:
    """A queued workload has pods that request nothing its ClusterQueue covers.

    Why: Kueue assigns a flavor for each requested resource. Without a covered request there is no flavor: the pods
    are admitted at once, get no node labels, run anywhere and charge no quota.

    Fix: Write requests, or let the ClusterQueue cover `pods`, which counts every pod.
    """
    for workload, _, queue in queued(fleet):
        if not workload.parts_known or not queue.groups or "pods" in queue.covered:
            continue
        for pod_set in workload.pod_sets:
            counts = requests_of(fleet.kueue.config, pod_set)
            if not pod_set.count or not pod_set.containers or any(counts.get(name) for name in queue.covered):
                continue
            if any(counts.values()) and not fleet.kueue.config.ignore_undeclared:
                continue
            path = (*pod_set.containers[0][0], "resources")
            document, where = place_in(workload, pod_set, path)
            container = container_name(pod_set, path)
            message = (
                f"container {container or pod_set.name} requests nothing that ClusterQueue {queue.name} covers "
                f"({', '.join(sorted(queue.covered))}): the pods of {pod_set.name} are admitted at once, get no flavor "
                "and no node labels, and charge no quota"
            )
            fix = 'write resources.requests, or add "pods" to the coveredResources'
            yield Issue(document, where, message, fix, related=elsewhere(workload, pod_set, path))
            break
