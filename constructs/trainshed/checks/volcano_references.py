"""Volcano Jobs: claims, priorities, and the defaults that webhooks write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, mapping, mappings, text
from trainshed.fleet.volcano_jobs import VolcanoJob
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "volcano jobs"


@rule("volcano-claim-mounted-twice", severity="warning", family=FAMILY, targets=("volcano",))
def claim_mounted_twice(fleet: Fleet) -> Iterator[Issue]:
    """Two volumes of a Job name the same claim.

    Why: The controller adds one volume for each claim, and silently leaves out the second mount.
    Fix: Keep one entry, and mount further folders in the pod template.
    """
    for job in fleet.volcano_jobs:
        seen: dict[str, str] = {}
        for index, volume in mappings(job.spec, "volumes"):
            claim, mount = text(volume, "volumeClaimName"), text(volume, "mountPath")
            if claim and claim in seen:
                message = f'claim "{claim}" is mounted at {seen[claim]} already; the mount at {mount} is left out'
                path = (*job.path, "volumes", index, "volumeClaimName")
                yield Issue(job.document, path, message, "mount the second folder in the pod template")
            seen.setdefault(claim, mount)


@rule("volcano-priority-class-missing", severity="error", family=FAMILY, targets=("volcano",))
def priority_class_missing(fleet: Fleet) -> Iterator[Issue]:
    """A Volcano Job or PodGroup names a PriorityClass that the input nearly has.

    Why: The class goes to every pod whose template names none, and pods with an unknown class are refused.
    Fix: Name an existing PriorityClass.
    """
    known = fleet.names("scheduling.k8s.io", "PriorityClass")
    found = [(job.document, job.spec, job.path) for job in fleet.volcano_jobs]
    for group in fleet.of(("scheduling.volcano.sh", "PodGroup")):
        found.append((group, mapping(group.manifest, "spec"), ("spec",)))
    for document, spec, path in found:
        name = dig(spec, "priorityClassName")
        if isinstance(name, str) and name and known and name not in known and not name.startswith("system-"):
            message = (
                f'there is no PriorityClass "{name}" (defined: {", ".join(sorted(known)[:5])}): its pods are refused'
            )
            yield Issue(document, (*path, "priorityClassName"), message, f'add PriorityClass "{name}" or name another')


@rule("volcano-claim-missing", severity="error", family=FAMILY, targets=("volcano",))
def claim_missing(fleet: Fleet) -> Iterator[Issue]:
    """A volume of a Volcano Job names a claim that its namespace nearly has.

    Why: The controller looks for the claim before it makes any pod: the Job stays Pending with the event PVCError.
    Fix: Name an existing claim of the namespace.
    """
    for job in fleet.volcano_jobs:
        namespace = fleet.namespaces.of(job.document)
        for index, volume in mappings(job.spec, "volumes"):
            name = text(volume, "volumeClaimName")
            if not name or fleet.namespaces.find("", "PersistentVolumeClaim", namespace, name):
                continue
            near = near_miss(name, fleet.names("", "PersistentVolumeClaim", namespace))
            if near:
                path = (*job.path, "volumes", index, "volumeClaimName")
                message = f'there is no claim "{name}" in the namespace: the job stays Pending'
                yield Issue(job.document, path, message, f'did you mean "{near}"?')


@rule("volcano-defaults-unwritten", severity="info", family=FAMILY, targets=("volcano",))
def defaults_unwritten(fleet: Fleet) -> Iterator[Issue]:
    """A Volcano Job leaves out values that its webhook writes on creation.

    Why: The webhook fills them in on creation only. When a synced Job is applied again, its list of tasks is sent
    without them, and the update is refused: they can't be changed.
    Fix: Write the values, as they are by default.
    """
    for job in fleet.volcano_jobs:
        missing = list(_unwritten(job)) if job.document.kind == "Job" else []
        if missing:
            message = f"Volcano's webhook writes {listed(missing, 8)} on creation, and a later sync is refused over it"
            yield Issue(job.document, job.path, message, f"write {listed(missing, 8)}")


def _unwritten(job: VolcanoJob) -> Iterator[str]:
    for field in ("queue", "schedulerName", "maxRetry", "minAvailable"):
        if not job.spec.get(field):
            yield field
    for task in job.tasks:
        for field in ("name", "maxRetry", "minAvailable"):
            if field not in task.node:
                yield f"tasks[].{field}"
    if "svc" not in job.plugins and {"pytorch", "tensorflow", "mpi", "ray"} & set(job.plugins):
        yield "the plugin svc"
    if "mpi" in job.plugins and "ssh" not in job.plugins:
        yield "the plugin ssh"
