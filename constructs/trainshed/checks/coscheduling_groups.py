"""The Coscheduling and CapacityScheduling plugins of scheduler-plugins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed
from trainshed.checks.gang_pod_groups import COSCHEDULING, FAMILY, GROUP_LABEL
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, mappings, text, whole
from trainshed.fleet.amounts import amounts
from trainshed.fleet.document import Document
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_QUEUE_SORT: Final = "Coscheduling"


@rule("coscheduling-priorities-differ", severity="error", family=FAMILY)
def priorities_differ(fleet: Fleet) -> Iterator[Issue]:
    """Members of one Coscheduling PodGroup have different priorities.

    Why: The plugin sorts by priority first, so pods of other gangs come between the members; two gangs then hold their
    halves and wait for each other.
    Fix: Give all members the same priorityClassName.
    """
    groups: dict[tuple[str | None, str], list[PodSet]] = {}
    for workload, pod_set in fleet.gang_marks.grouped:
        if name := pod_set.labels.get(GROUP_LABEL, ""):
            groups.setdefault((workload.namespace, name), []).append(pod_set)
    for (_, name), members in groups.items():
        classes = [text(pod_set.spec, "priorityClassName") for pod_set in members]
        for pod_set, written in zip(members, classes, strict=True):
            if written != classes[0]:
                document, path = pod_set.at(("spec", "priorityClassName"))
                message = (
                    f'members of PodGroup "{name}" have different priorities: '
                    f"{listed(item or 'none' for item in classes)}"
                )
                yield Issue(document, path, message, "give all members the same priorityClassName")
                break


@rule("coscheduling-queue-sort", severity="error", family=FAMILY)
def queue_sort(fleet: Fleet) -> Iterator[Issue]:
    """A scheduler profile enables Coscheduling beside another queueSort plugin.

    Why: A profile has exactly one queueSort plugin. With the default one still on, the scheduler does not start, or
    gangs are not kept together in its queue.
    Fix: Disable `*` under queueSort and enable Coscheduling there.
    """
    for document in fleet.of(("kubescheduler.config.k8s.io", "KubeSchedulerConfiguration")):
        for index, profile in mappings(document.manifest, "profiles"):
            plugins = mapping(profile, "plugins")
            points = [name for name in plugins if _enables(plugins.get(name))]
            if not points:
                continue
            sort = mapping(plugins, "queueSort")
            off = {text(item, "name") for _, item in mappings(sort, "disabled")}
            others = [text(item, "name") for _, item in mappings(sort, "enabled") if text(item, "name") != _QUEUE_SORT]
            if others or not off & {"*", "PrioritySort"}:
                profile_name = text(profile, "schedulerName") or "default-scheduler"
                has = f"beside {listed(others)}" if others else "while the default one is still on"
                message = f'profile "{profile_name}" sorts its queue with Coscheduling {has}'
                path = ("profiles", index, "plugins", "queueSort")
                yield Issue(document, path, message, 'disable "*" under queueSort, and enable Coscheduling alone')


def _enables(point: object) -> bool:
    return any(text(item, "name") == _QUEUE_SORT for _, item in mappings(point, "enabled"))


@rule("coscheduling-min-member", severity="error", family=FAMILY)
def min_member(fleet: Fleet) -> Iterator[Issue]:
    """A PodGroup of the coscheduling plugin has no pods to wait for.

    Why: The CRD asks for a minMember of at least 1, and the API server refuses the PodGroup; its pods then wait for a
    group that does not exist.
    Fix: Write the number of pods that start together.
    """
    for group in fleet.of((COSCHEDULING, "PodGroup")):
        least = whole(group.manifest, "spec", "minMember")
        if least is not None and least < 1:
            message = f"minMember is {least}, and the API server refuses less than 1"
            yield Issue(group, ("spec", "minMember"), message, "write the number of pods that start together")


@rule("coscheduling-elastic-quota", severity="error", family=FAMILY)
def elastic_quota(fleet: Fleet) -> Iterator[Issue]:
    """An ElasticQuota guarantees more than it allows, or a namespace has two.

    Why: Nothing checks `min` against `max`. Pods are refused above max, so the rest of min is never used; of two
    ElasticQuotas in a namespace one is ignored.
    Fix: Write min at most as large as max, and one ElasticQuota for each namespace.
    """
    first: dict[str, Document] = {}
    for quota in fleet.of((COSCHEDULING, "ElasticQuota")):
        least, most = amounts(mapping(quota.manifest, "spec", "min")), amounts(mapping(quota.manifest, "spec", "max"))
        for resource, amount in least.items():
            if resource in most and amount > most[resource]:
                message = f"min {resource} is {amount}, above its max of {most[resource]}"
                yield Issue(quota, ("spec", "min", resource), message, "raise max, or lower min")
        namespace = quota.namespace
        if namespace is None:
            continue
        if namespace in first:
            other = first[namespace]
            message = f'namespace {namespace} has the ElasticQuota "{other.name}" already, and one of them is ignored'
            related = (("the other one", other, ("metadata", "name")),)
            yield Issue(quota, ("metadata", "name"), message, "keep one of the two", None, related)
        first.setdefault(namespace, quota)
