"""KAI's PodGroups that are made by hand: their own rules, and the pods that join them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import KAI, listed, proposal
from trainshed.checks.kai_common import GROUP_NAME
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, mapping, mappings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.kai_tree import GROUP
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "kai gangs"
_SUBGROUP: Final = "kai.scheduler/subgroup-name"


def missing_groups(fleet: Fleet, key: str) -> Iterator[Issue]:
    """Pods whose PodGroup or subgroup the input does not have, while it has others."""
    known = fleet.names(GROUP, "PodGroup")
    for workload, pod_set in fleet.gang_marks.grouped if known else ():
        name = pod_set.annotations.get(key, "")
        if not name or pod_set.scheduler != KAI:
            continue
        group = fleet.namespaces.find(GROUP, "PodGroup", workload.namespace, name)
        if group is None:
            document, path = pod_set.at(("metadata", "annotations", key))
            message = f'there is no PodGroup "{name}" in the namespace: the pods stay Pending'
            yield Issue(document, path, message, proposal(name, known, f'add PodGroup "{name}"'))
            continue
        subgroup = pod_set.labels.get(_SUBGROUP, "")
        names = [text(item, "name") for _, item in mappings(group.manifest, "spec", "subGroups")]
        if subgroup and subgroup not in names:
            document, path = pod_set.at(("metadata", "labels", _SUBGROUP))
            message = f'PodGroup "{name}" has no subgroup "{subgroup}"'
            yield Issue(document, path, message, proposal(subgroup, names, f"name one of {listed(names)}"))


@rule("kai-pod-group-invalid", severity="error", family=_FAMILY, targets=("kai",))
def pod_group_invalid(fleet: Fleet) -> Iterator[Issue]:
    """A KAI PodGroup breaks a rule of its webhook.

    Why: `minMember` and `minSubGroup` exclude each other; subgroup names are unique, their parents exist, and leaf
    subgroups count pods while others count subgroups.
    Fix: Write minMember for groups of pods and minSubGroup for groups of groups.
    """
    for group in fleet.of((GROUP, "PodGroup")):
        spec = mapping(group.manifest, "spec")
        if "minMember" in spec and "minSubGroup" in spec:
            message = "minMember and minSubGroup are both set, and exclude each other"
            yield Issue(group, ("spec", "minSubGroup"), message, "keep one of them")
        yield from _subgroups(group, spec)


def _subgroups(group: Document, spec: Node) -> Iterator[Issue]:
    subgroups = mappings(spec, "subGroups")
    names = [text(item, "name") for _, item in subgroups]
    parents = {text(item, "parent") for _, item in subgroups}
    for position, (index, item) in enumerate(subgroups):
        path: Path = ("spec", "subGroups", index)
        name, parent = text(item, "name"), text(item, "parent")
        if name in names[:position]:
            yield Issue(group, (*path, "name"), f'there is a subgroup "{name}" already', "rename one")
        if parent and parent not in names:
            message = f'subgroup "{name}" has the parent "{parent}", which does not exist'
            yield Issue(group, (*path, "parent"), message, proposal(parent, names, "leave it out"))
        elif parent and _circles(name, subgroups):
            yield Issue(group, (*path, "parent"), f'subgroup "{name}" is its own ancestor', "break the circle")
        if "minMember" in item and "minSubGroup" in item:
            yield Issue(group, path, f'subgroup "{name}" has both minMember and minSubGroup', "keep one of them")
        elif name not in parents and "minSubGroup" in item:
            message = f'subgroup "{name}" has no subgroups of its own, so minSubGroup is refused'
            yield Issue(group, (*path, "minSubGroup"), message, "write minMember")
        elif name in parents and "minMember" in item:
            message = f'subgroup "{name}" is made of subgroups, so minMember is refused'
            yield Issue(group, (*path, "minMember"), message, "write minSubGroup")


def _circles(name: str, subgroups: list[tuple[int, Node]]) -> bool:
    parent_of = {text(item, "name"): text(item, "parent") for _, item in subgroups}
    seen, at = set(), name
    while at and at not in seen:
        seen.add(at)
        at = parent_of.get(at, "")
    return bool(at) and at == name


@rule("kai-pod-group-size", severity="error", family=_FAMILY, targets=("kai",))
def pod_group_size(fleet: Fleet) -> Iterator[Issue]:
    """A KAI PodGroup, or one of its subgroups, waits for more pods than join it.

    Why: The gang never gets its minimum and stays Pending.
    Fix: Write the number of pods as minMember, or add pods.
    """
    members: dict[int, list[PodSet]] = {}
    for workload, pod_set in fleet.gang_marks.grouped:
        if name := pod_set.annotations.get(GROUP_NAME, ""):
            group = fleet.namespaces.find(GROUP, "PodGroup", workload.namespace, name)
            if group is not None:
                members.setdefault(id(group), []).append(pod_set)
    for group in fleet.of((GROUP, "PodGroup")):
        joined = members.get(id(group), [])
        if not joined:
            continue
        pods, least = sum(pod_set.count for pod_set in joined), whole(group.manifest, "spec", "minMember") or 0
        if least > pods:
            message = f"minMember is {least}, and {pods} pods of the input join the group: it never starts"
            yield Issue(group, ("spec", "minMember"), message, f"write {pods} or less, or add pods")
        for index, item in mappings(group.manifest, "spec", "subGroups"):
            own = sum(pod_set.count for pod_set in joined if pod_set.labels.get(_SUBGROUP) == text(item, "name"))
            least = whole(item, "minMember") or 0
            if own and least > own:
                message = f'subgroup "{text(item, "name")}" has minMember {least}, and {own} pods join it'
                path = ("spec", "subGroups", index, "minMember")
                yield Issue(group, path, message, f"write {own} or less, or add pods")
