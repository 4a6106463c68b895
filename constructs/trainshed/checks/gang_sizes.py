"""PodGroups that are complete before all ranks of a run are there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import distributed, elastic_minimum, spec_text
from trainshed.checks.gang_pod_groups import KINDS, members
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import whole
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "gang scheduling"


@rule("gang-smaller-than-run", severity="warning", family=_FAMILY, targets=("volcano",))
def smaller_than_run(fleet: Fleet) -> Iterator[Issue]:
    """A distributed run's PodGroup is complete before all its pods fit.

    Why: With `minMember` below the number of ranks the scheduler starts a part of the run; it waits for the other ranks
    and holds its GPUs meanwhile. Two such runs block each other for ever.
    Fix: Write the number of pods as minMember; for an elastic run at least its smallest size.
    """
    joined: dict[int, list[PodSet]] = {}
    for kind, workload, pod_set, name, _ in members(fleet):
        group = fleet.namespaces.find(kind.group, "PodGroup", workload.namespace, name)
        if group is not None:
            joined.setdefault(id(group), []).append(pod_set)
    for kind in KINDS:
        for group in fleet.of((kind.group, "PodGroup")):
            pod_sets = joined.get(id(group), [])
            least = whole(group.manifest, "spec", "minMember")
            pods = sum(item.count for item in pod_sets)
            ranks = all(distributed(item.spec) for item in pod_sets)
            if least is None or not pod_sets or not ranks or not 0 < least < pods or any(map(_elastic, pod_sets)):
                continue
            message = f"minMember is {least}, and the run has {pods} pods: {least} may start and wait for the others"
            yield Issue(group, ("spec", "minMember"), message, f"write minMember: {pods}")


def _elastic(pod_set: PodSet) -> bool:
    return elastic_minimum(spec_text(pod_set.spec)) is not None
