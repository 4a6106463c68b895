"""Topology-aware scheduling: annotations, levels and flavors that go together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from trainshed.checks.kueue_common import elsewhere, managed_workloads, place_in
from trainshed.checks.kueue_flavors import blocked_by
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.kueue_feasibility import refusal_lines
from trainshed.fleet.kueue_match import (
    LEVEL_KEYS,
    PODSET_GROUP,
    PREFERRED,
    REQUIRED,
    SLICE,
    SLICE_SIZE,
    SLICES,
    UNCONSTRAINED,
)
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue topology"
_ANNOTATIONS: Path = ("metadata", "annotations")


@rule("kueue-topology-not-supported", severity="error", family=_FAMILY, targets=("kueue",))
def topology_not_supported(fleet: Fleet) -> Iterator[Issue]:
    """No flavor of the queue offers the topology that the pods ask for.

    Why: A topology annotation can be met only by a flavor with `topologyName`, and only at a level of that Topology.
    In a ClusterQueue that mixes flavors with and without a topology, pods without an annotation can't use the former.

    Fix: Write a level of the flavor's Topology, or give the flavor a `topologyName`.
    """
    for answer, blocked in blocked_by(fleet, "topology"):
        pod_set = blocked.part.pod_sets[0]
        key = next((name for name in (*LEVEL_KEYS, SLICES, UNCONSTRAINED) if name in pod_set.annotations), "")
        field: Path = (*_ANNOTATIONS, key) if key else _ANNOTATIONS
        document, path = place_in(answer.workload, pod_set, field)
        asked = f'asks for topology "{pod_set.annotations[key]}"' if key else "asks for no topology"
        message = f"{asked} and is never admitted by ClusterQueue {answer.queue.name}: {refusal_lines(blocked)}"
        fix = "write a level of the flavor's Topology, or give a flavor of the queue a topologyName"
        if not key:
            fix = "add a topology annotation to the pod template, or give all flavors of the queue a topologyName"
        flavors = [fleet.kueue.flavors[name] for name in blocked.group.flavors if name in fleet.kueue.flavors]
        related = tuple((f"flavor {f.name}", f.document, ("spec", "topologyName")) for f in flavors[:4])
        yield Issue(document, path, message, fix, related=(*related, *elsewhere(answer.workload, pod_set, field)))


@rule("kueue-topology-mixed-groups", severity="warning", family=_FAMILY, targets=("kueue",))
def topology_mixed_groups(fleet: Fleet) -> Iterator[Issue]:
    """Resource groups of one ClusterQueue differ in topology, so no pods can use both.

    Why: Pods with a topology annotation need a flavor with `topologyName` in every group they touch, and only one such
    flavor altogether; pods without one can't use a topology flavor in a ClusterQueue that has plain flavors as well.

    Fix: Put the resources of one kind of node in one group, whose flavors have a `topologyName` all or none.
    """
    flavors = fleet.kueue.flavors
    for queue in fleet.kueue.cluster_queues.values():
        kinds: list[str] = []
        for group in queue.groups:
            known = [bool(flavors[name].topology) for name in group.flavors if name in flavors]
            complete = len(known) == len(group.flavors) and known
            kinds.append("all" if complete and all(known) else "none" if complete and not any(known) else "")
        if "all" not in kinds:
            continue
        first = kinds.index("all")
        for index, kind in enumerate(kinds):
            if index == first or not kind:
                continue
            both = f"{', '.join(queue.groups[first].resources)} and {', '.join(queue.groups[index].resources)}"
            why = (
                "only one flavor with a topology can be assigned" if kind == "all" else "only one group has a topology"
            )
            yield Issue(
                queue.doc,
                queue.groups[index].path,
                f"pods that request {both} are never admitted: {why}",
                "put the resources of one kind of node in one resource group",
            )
            break


@rule("kueue-topology-annotation-invalid", severity="error", family=_FAMILY, targets=("kueue",))
def topology_annotation_invalid(fleet: Fleet) -> Iterator[Issue]:
    """Topology annotations of a pod template contradict each other or can't be read.

    Why: Kueue's webhooks refuse them: one of required, preferred and unconstrained at most; slice level and slice size
    only together, the size a number from 1 to the number of pods; a pod set group needs required or preferred and
    exactly two pod sets (rules J8 to J11, `pkg/controller/jobframework/tas_validation.go`).

    Fix: Write one of them.
    """
    for workload in managed_workloads(fleet):
        groups: dict[str, list[PodSet]] = {}
        for pod_set in workload.pod_sets:
            if any(key.startswith("kueue.x-k8s.io/podset-") for key in pod_set.annotations):
                for key, message, fix in _faults(workload, pod_set):
                    document, path = place_in(workload, pod_set, (*_ANNOTATIONS, key))
                    yield Issue(document, path, message, fix)
                if group := pod_set.annotations.get(PODSET_GROUP):
                    groups.setdefault(group, []).append(pod_set)
        for name, members in groups.items():
            yield from _group_faults(workload, name, members)


def _faults(workload: Workload, pod_set: PodSet) -> Iterator[tuple[str, str, str]]:
    annotations = pod_set.annotations
    modes = [key for key in (REQUIRED, PREFERRED, UNCONSTRAINED) if key in annotations]
    if len(modes) > 1:
        names = " and ".join(key.partition("/")[2] for key in modes)
        yield modes[1], f"has {names} at once: the webhook refuses it", "keep one of them"
    if annotations.get(UNCONSTRAINED, "true").lower() not in ("true", "false", "1", "0", "t", "f"):
        yield UNCONSTRAINED, f'is "{annotations[UNCONSTRAINED]}", not a boolean', 'write "true"'
    if (SLICE in annotations) != (SLICE_SIZE in annotations):
        written, missing = (SLICE, SLICE_SIZE) if SLICE in annotations else (SLICE_SIZE, SLICE)
        yield written, f"needs {missing} beside it: the topology slice has only one of the two", f"add {missing}"
    if SLICE_SIZE in annotations:
        size, count = annotations[SLICE_SIZE], workload.unit_count(pod_set)
        if not (size.isascii() and size.isdigit() and len(size) < 10 and int(size) > 0):
            yield SLICE_SIZE, f'is "{size}", not a number from 1', f"write a number from 1 to {count}"
        elif workload.parts_known and int(size) > count > 0:
            yield SLICE_SIZE, f"is {size}, more than the {count} pods of {pod_set.name}", f"write {count} or less"
    if SLICES in annotations:
        yield from _slices_faults(annotations, workload.unit_count(pod_set) if workload.parts_known else 0)
    if annotations.get(PODSET_GROUP, "x").isdigit():
        yield PODSET_GROUP, f'is "{annotations[PODSET_GROUP]}", a number: the webhook refuses it', "write a name"
    elif PODSET_GROUP in annotations and (SLICE in annotations or SLICES in annotations):
        yield PODSET_GROUP, "can't stand beside topology slices: the webhook refuses it", "keep one of the two"


def _slices_faults(annotations: dict[str, str], count: int) -> Iterator[tuple[str, str, str]]:
    example = 'write a list such as [{"topology": "example.com/rack", "size": 8}]'
    if SLICE in annotations or SLICE_SIZE in annotations:
        yield SLICES, "can't stand beside the annotations of a single topology slice", "keep one of the two forms"
    try:
        levels = json.loads(annotations[SLICES])
    except (ValueError, RecursionError):
        yield SLICES, "is not JSON", example
        return
    if not isinstance(levels, list) or not 1 <= len(levels) <= 3 or not all(isinstance(x, dict) for x in levels):
        yield SLICES, "is not a JSON list of one to three topology levels", example
        return
    sizes = [item.get("size") for item in levels]
    if not all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in sizes):
        yield SLICES, "has a slice whose size is not a number from 1", example
    elif any(outer % inner for outer, inner in pairwise(sizes)):
        listed = ", ".join(map(str, sizes))
        yield SLICES, f"has slices of {listed}: each size must divide the one before it", "write the widest level first"
    elif 0 < count < sizes[0]:
        yield SLICES, f"has a slice of {sizes[0]}, more than the {count} pods", f"write {count} or less"
    names = [item.get("topology") for item in levels]
    if len({str(name) for name in names}) < len(names):
        yield SLICES, "names a topology level twice", "write each level once"


def _group_faults(workload: Workload, name: str, members: list[PodSet]) -> Iterator[Issue]:
    first = members[0]
    document, path = place_in(workload, first, (*_ANNOTATIONS, PODSET_GROUP))
    if not any(key in first.annotations for key in (REQUIRED, PREFERRED)):
        message = f'podset-group-name "{name}" needs podset-required-topology or podset-preferred-topology beside it'
        yield Issue(document, path, message, "add one of them")
    elif workload.parts_known and len(members) != 2:
        message = f'podset-group-name "{name}" is on {len(members)} pod sets; a group has exactly two'
        yield Issue(document, path, message, "write it on the leader and on the workers")
    elif len(members) == 2 and any(
        members[0].annotations.get(key) != members[1].annotations.get(key) for key in (REQUIRED, PREFERRED)
    ):
        message = f'the two pod sets of podset-group-name "{name}" ask for different topology levels'
        yield Issue(document, path, message, "write the same level on both")
