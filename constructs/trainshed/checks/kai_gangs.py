"""KAI: gangs that start in part, never, or beyond what their queue may have."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import KAI_QUEUE, distributed, label_place
from trainshed.checks.kai_common import (
    GROUP_NAME,
    MIN_MEMBER,
    gangs,
    has_own_group,
    min_member,
    own_annotations,
    placed,
    preemptible,
    priority_class,
    queue_of,
    waits,
)
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping
from trainshed.fleet.document import Document
from trainshed.fleet.kai_tree import demand, in_units
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "kai gangs"


def _place(workload: Workload) -> tuple[Document, Path]:
    return workload.document, (*workload.annotations_path, MIN_MEMBER)


@rule("kai-job-is-no-gang", severity="warning", family=FAMILY, targets=("kai",))
def job_is_no_gang(fleet: Fleet) -> Iterator[Issue]:
    """A distributed batch Job goes to KAI without saying how many pods start together.

    Why: KAI schedules each pod of a batch Job on its own. Two half-started runs hold their GPUs and wait for each
    other.
    Fix: Annotate the Job with `kai.scheduler/batch-min-member`, the number of its pods.
    """
    for workload in placed(fleet):
        if workload.form != "Job" or workload.kind not in ("Job", "CronJob") or has_own_group(workload):
            continue
        if workload.pods < 2 or MIN_MEMBER in workload.annotations:
            continue
        if any(distributed(pod_set.spec) for pod_set in workload.pod_sets):
            message = f"KAI starts the {workload.pods} pods of this run one by one, without {MIN_MEMBER}"
            yield Issue(*_place(workload), message, f'annotate the Job with {MIN_MEMBER}: "{workload.pods}"')


@rule("kai-min-member", severity="error", family=FAMILY, targets=("kai",))
def min_member_value(fleet: Fleet) -> Iterator[Issue]:
    """`kai.scheduler/batch-min-member` is no number, asks for more pods than there are, or is a label.

    Why: A gang larger than the workload stays Pending for ever; as a label it is not read.
    Fix: Annotate the workload with a whole number, at most its number of pods.
    """
    for workload in placed(fleet):
        written = workload.annotations.get(MIN_MEMBER)
        if written is not None:
            count = min_member(workload)
            if not count:
                message = f'{MIN_MEMBER} is "{written[:40]}", not a whole number from 1'
                yield Issue(*_place(workload), message, f'write "{max(workload.pods, 1)}"')
            elif workload.kind in ("Job", "CronJob") and count > workload.pods:
                message = f"{MIN_MEMBER} is {count}, and the Job runs {workload.pods} pods at once: it never starts"
                yield Issue(*_place(workload), message, f'write "{workload.pods}" or less')
        elif MIN_MEMBER in workload.labels:
            message = f"{MIN_MEMBER} is written as a label, and KAI reads an annotation"
            yield Issue(workload.document, (*workload.labels_path, MIN_MEMBER), message, "make it an annotation")


@rule("kai-gang-waits-for-itself", severity="error", family=FAMILY, targets=("kai",))
def gang_waits_for_itself(fleet: Fleet) -> Iterator[Issue]:
    """A JobSet or TrainJob whose parts start after each other goes to KAI as one gang.

    Why: KAI does not look at `dependsOn`. It waits for the pods of all replicatedJobs, and some of them are made only
    after others have ended (KAI #1209), as with the initializers of a TrainJob.
    Fix: Annotate the JobSet or TrainJob with `kai.scheduler/batch-min-member: "1"`.
    """
    for workload in placed(fleet):
        if workload.kind not in ("JobSet", "TrainJob") or has_own_group(workload) or min_member(workload) == 1:
            continue
        if workload.kind == "TrainJob" and own_annotations(workload).get(MIN_MEMBER) == "1":
            continue
        late = waits(workload)
        if late:
            message = f'KAI waits for all parts of the gang, but "{late}" starts only after what it depends on'
            path = ("metadata", "annotations", MIN_MEMBER)
            yield Issue(workload.document, path, message, f'add the annotation {MIN_MEMBER}: "1"')


@rule("kai-over-limit", severity="error", family=FAMILY, targets=("kai",))
def over_limit(fleet: Fleet) -> Iterator[Issue]:
    """A gang needs more than a limit of its KAI queue or of a queue above.

    Why: The limit holds for the gang as a whole, at every level. What does not fit stays Pending as OverLimit. Pods
    that can't be preempted (priority 100 and above) must fit into the quotas: NonPreemptibleOverQuota.
    Fix: Raise the limit (or quota), or make the gang smaller.
    """
    for workload in placed(fleet):
        queue = queue_of(workload)
        if queue not in fleet.kai.queues or has_own_group(workload):
            continue
        needs, pods = _needs(workload)
        document, path = label_place(workload, KAI_QUEUE)
        who = f"the gang of {pods} pods" if pods > 1 else "the pod"
        over = [item for item in fleet.kai.over_limit(queue, needs) if _written(item[0].document, item[1])]
        if over:
            at, resource, limit = over[0]
            message = (
                f"{who} needs {in_units(resource, needs[resource])}, and the {resource} limit of queue "
                f'"{at.name}" is {in_units(resource, limit)}: it never starts'
            )
            place = ("spec", "resources", resource, "limit")
            fix = "raise the limit, or make the gang smaller"
            yield Issue(document, path, message, fix, None, (("the limit", at.document, place),))
        elif not preemptible(fleet, workload):
            short = list(fleet.kai.over_quota(queue, needs))
            if short:
                at, resource, quota = short[0]
                class_name = priority_class(fleet, workload)[0]
                message = (
                    f"{who} can't be preempted (PriorityClass {class_name}), so it must fit into quotas: it needs "
                    f'{in_units(resource, needs[resource])}, queue "{at.name}" has {in_units(resource, quota)}'
                )
                place = ("spec", "resources", resource, "quota")
                fix = "raise the quota, or use a preemptible PriorityClass such as train"
                yield Issue(document, path, message, fix, None, (("the quota", at.document, place),))


def _written(document: Document, resource: str) -> bool:
    """Whether the limit is written: one that is left out is told at the queue."""
    return "limit" in mapping(document.manifest, "spec", "resources", resource)


def _needs(workload: Workload) -> tuple[dict[str, Fraction], int]:
    total: dict[str, Fraction] = {}
    pods = 0
    for pod_set, count in gangs(workload):
        pods += count
        for resource, amount in demand(pod_set.requests, count).items():
            total[resource] = total.get(resource, Fraction(0)) + amount
    if workload.kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"):
        pods = min(pods, 1)
    return total, pods


@rule("kai-pod-group-missing", severity="error", family=FAMILY, targets=("kai",))
def pod_group_missing(fleet: Fleet) -> Iterator[Issue]:
    """Pods join a hand-made KAI PodGroup or subgroup that does not exist.

    Why: The pods belong to no group that KAI knows, and stay Pending.
    Fix: Name an existing PodGroup of the same namespace, and one of its subGroups.
    """
    from trainshed.checks.kai_pod_groups import missing_groups

    yield from missing_groups(fleet, GROUP_NAME)
