"""Volumes that a run's containers mount and its pods do not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import containers, issue, named
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import mappings, text

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "references"


@rule("reference-mount", severity="error", family=FAMILY)
def mount(fleet: Fleet) -> Iterator[Issue]:
    """A container of a TrainJob mounts a volume that neither its runtime nor its patches have.

    Why: Trainer makes a JobSet whose pods the API server refuses: the TrainJob never gets a pod. Other kinds are
    refused when they are applied, and reported as such.
    Fix: Add the volume, or correct the mount's name.
    """
    for workload in fleet.workloads:
        if workload.kind != "TrainJob" or not workload.parts_known:
            continue
        claims = {
            text(item, "metadata", "name") for _, item in mappings(workload.manifest, "spec", "volumeClaimPolicies")
        }
        for pod_set in workload.pod_sets:
            volumes = claims | {text(volume, "name") for _, volume in mappings(pod_set.spec, "volumes")}
            for path, container in containers(pod_set):
                for index, entry in mappings(container, "volumeMounts"):
                    name = text(entry, "name")
                    if name and name not in volumes:
                        message = f'{named(container)} mounts volume "{name}", which its pod does not have'
                        fix = nearest(name, volumes) or "add the volume"
                        yield issue(pod_set, (*path, "volumeMounts", index, "name"), message, fix)
