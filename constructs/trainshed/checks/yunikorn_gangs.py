"""YuniKorn's gangs: task groups in annotations, and the placeholders they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed, proposal
from trainshed.checks.rule import Issue, rule
from trainshed.checks.yunikorn_pods import TASK_GROUP, TASK_GROUPS, Groups, for_yunikorn, place, pods, queue_of
from trainshed.fleet.access import Node, mapping, text, whole
from trainshed.fleet.amounts import amounts
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.yunikorn_config import Resources, demand

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "yunikorn gangs"
_PARAMETERS: Final = "yunikorn.apache.org/schedulingPolicyParameters"
_FIELDS: Final = (
    "name",
    "minMember",
    "minResource",
    "labels",
    "annotations",
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
)


@rule("yunikorn-task-group", severity="error", family=FAMILY, targets=("yunikorn",))
def task_group(fleet: Fleet) -> Iterator[Issue]:
    """A pod's task group is not defined, or the definition can't be used.

    Why: A pod whose `task-group-name` is none of `task-groups` is scheduled outside of its gang, and the placeholders
    wait until their timeout. A group needs a name, minMember above 0 and minResource.
    Fix: Write the name of a group that `task-groups` defines, and each group with name, minMember and minResource.
    """
    for workload in fleet.gang_marks.yunikorn_workloads:
        members = [item for item in workload.pod_sets if for_yunikorn(item)]
        defined = [name for item in members for name in Groups(item).names]
        unreadable = any(Groups(item).error for item in members)
        for pod_set in members:
            groups = Groups(pod_set)
            name = pod_set.annotations.get(TASK_GROUP, "")
            if groups.error:
                message = f"task-groups {groups.error}, so there is no gang"
                yield Issue(*place(pod_set, TASK_GROUPS), message, "write a JSON list of groups")
            for message, fix in _definitions(groups.listed):
                yield Issue(*place(pod_set, TASK_GROUPS), message, fix)
            known = groups.names or defined
            if name and name not in known and not unreadable:
                has = f"task-groups defines {listed(known)}" if known else "no task-groups are defined"
                message = f'task-group-name is "{name}", but {has}: the pods are scheduled outside of the gang'
                fix = proposal(name, known, "add the task group to task-groups, on every pod of the application")
                yield Issue(*place(pod_set, TASK_GROUP), message, fix)
            elif groups.listed and not name:
                message = f"task-groups defines {listed(groups.names)}, but the pods name none: no task-group-name"
                yield Issue(*place(pod_set, TASK_GROUPS), message, f"add the annotation {TASK_GROUP}")


def _definitions(groups: list[Node]) -> Iterator[tuple[str, str]]:
    names = [text(group, "name") for group in groups]
    for group, name in zip(groups, names, strict=True):
        if not name:
            yield "a task group has no name", "add name"
        elif names.count(name) > 1 and group is groups[names.index(name)]:
            yield f'the task group "{name}" is defined twice', "keep one of them"
        if (whole(group, "minMember") or 0) < 1:
            yield f'minMember of task group "{name}" is not a number above 0', "write the number of its pods"
        if not mapping(group, "minResource"):
            yield f'task group "{name}" has no minResource', "write what one pod requests"
        for resource in mapping(group, "minResource").keys() - amounts(mapping(group, "minResource")).keys():
            yield f'minResource {resource} of task group "{name}" is no quantity', 'write such as "4"'
        for field in group:
            if field not in _FIELDS:
                yield f'task group "{name}" has the unknown field "{field}"', f"known are {listed(_FIELDS, 9)}"


@rule("yunikorn-task-group-size", severity="warning", family=FAMILY, targets=("yunikorn",))
def task_group_size(fleet: Fleet) -> Iterator[Issue]:
    """A task group is larger than the pods that join it, or its placeholders are smaller than they.

    Why: Placeholders that no pod replaces hold their room until the timeout. A pod that requests more than the
    placeholder's minResource does not fit into its place, and the gang's guarantee is lost.
    Fix: Write minMember as the number of pods and minResource as what one of them requests.
    """
    for workload in fleet.gang_marks.yunikorn_workloads:
        joined: dict[str, list[PodSet]] = {}
        for pod_set in workload.pod_sets:
            if for_yunikorn(pod_set) and pod_set.annotations.get(TASK_GROUP):
                joined.setdefault(pod_set.annotations[TASK_GROUP], []).append(pod_set)
        for name, members in joined.items():
            yield from _sizes(workload, name, members)


def _sizes(workload: Workload, name: str, members: list[PodSet]) -> Iterator[Issue]:
    defining = next((item for item in members if name in Groups(item).names), None)
    if defining is None or workload.kind == "Pod":
        return
    groups = Groups(defining)
    count, size = sum(item.count for item in members), groups.size(name)
    if size > count > 0 and workload.parts_known:
        message = (
            f'task group "{name}" has minMember {size}, and {count} pods join it: {size - count} placeholders stay'
        )
        yield Issue(*place(defining, TASK_GROUPS), message, f"write minMember {count}")
    group = next(item for item in groups.listed if text(item, "name") == name)
    offered = amounts(mapping(group, "minResource"))
    for pod_set in members:
        larger = [
            resource
            for resource, amount in pod_set.requests.items()
            if resource in offered and amount > offered[resource]
        ]
        if larger:
            resource = larger[0]
            message = (
                f'pods of task group "{name}" request {pod_set.requests[resource]} {resource}, more than the '
                f"{offered[resource]} of its minResource: they do not fit into their placeholders"
            )
            fix = f"write what one pod requests: {pod_set.requests[resource]}"
            yield Issue(*place(defining, TASK_GROUPS), message, fix, "error")
            return


@rule("yunikorn-gang-over-max", severity="error", family=FAMILY, targets=("yunikorn",))
def gang_over_max(fleet: Fleet) -> Iterator[Issue]:
    """A gang's placeholders need more than the max of its queue, or the queue does not take gangs.

    Why: The application is rejected at once when its placeholders do not fit below the max of the queue or of a queue
    above, or when the queue sorts its applications otherwise than first in, first out.
    Fix: Raise the max, make the gang smaller, or use a queue with `application.sort.policy: fifo`.
    """
    config = fleet.yunikorn[0] if fleet.yunikorn else None
    seen: set[tuple[int, str]] = set()
    for workload, pod_set in pods(fleet):
        groups = Groups(pod_set)
        queue = config.find(queue_of(pod_set)) if config and queue_of(pod_set) else None
        key = (id(workload), groups.written)
        if config is None or queue is None or not groups.listed or key in seen:
            continue
        seen.add(key)
        needs = placeholders(groups.listed)
        related = (("the queues", config.document, config.path),)
        for level in queue.line():
            over = [name for name, amount in needs.items() if name in level.max and amount > level.max[name]]
            if over:
                message = (
                    f"the gang's placeholders need {shown_amount(needs[over[0]])} {over[0]}, and the max of queue "
                    f"{level.path} is {shown_amount(level.max[over[0]])}: the application is rejected"
                )
                yield Issue(
                    *place(pod_set, TASK_GROUPS), message, "raise the max, or make the gang smaller", None, related
                )
                break
        if queue.property("application.sort.policy").lower() == "fair":
            message = f"queue {queue.path} sorts applications fairly, and gangs are taken by fifo queues only"
            yield Issue(
                *place(pod_set, TASK_GROUPS), message, "use a queue with application.sort.policy fifo", None, related
            )


def placeholders(groups: list[Node]) -> Resources:
    """What the placeholders of all groups request together."""
    total: Resources = {}
    for group in groups:
        count = max(whole(group, "minMember") or 0, 0)
        for name, amount in demand(amounts(mapping(group, "minResource")), count).items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total


def shown_amount(value: Fraction) -> str:
    """An amount of queues.yaml for a sentence."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"


@rule("yunikorn-gang-parameters", severity="warning", family=FAMILY, targets=("yunikorn",))
def gang_parameters(fleet: Fleet) -> Iterator[Issue]:
    """`schedulingPolicyParameters` has a part that YuniKorn ignores.

    Why: It reads `placeholderTimeoutInSeconds=N` and `gangSchedulingStyle=Hard|Soft`, separated by one space; anything
    else is left out with a line in the log, and the defaults hold (900 s, Soft).
    Fix: Write the two parts as above.
    """
    for _, pod_set in pods(fleet):
        for part in pod_set.annotations.get(_PARAMETERS, "").split(" "):
            name, _, value = part.partition("=")
            good = (name == "gangSchedulingStyle" and value in ("Hard", "Soft")) or (
                name == "placeholderTimeoutInSeconds" and value.isascii() and value.isdigit()
            )
            if part and not good:
                message = f'schedulingPolicyParameters: "{part[:80]}" is ignored'
                fix = "write placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard, separated by one space"
                yield Issue(*place(pod_set, _PARAMETERS), message, fix)
