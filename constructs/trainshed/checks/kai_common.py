"""What the KAI rules share: which workloads KAI places, the queue that each goes to, and its gang."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import KAI, KAI_QUEUE, marked
from trainshed.fleet.access import mappings, strings, text
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

MIN_MEMBER: Final = "kai.scheduler/batch-min-member"
GROUP_NAME: Final = "pod-group-name"
SKIP: Final = "kai.scheduler/skip-podgrouper"
#: The chart's PriorityClasses by value; from 100 on pods can't be preempted.
_INSTALLED: Final = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
_NON_PREEMPTIBLE: Final = 100
_SERVING: Final = ("Deployment", "StatefulSet", "ReplicaSet")


def placed(fleet: Fleet) -> Iterator[Workload]:
    """The workloads some pods of which go to KAI."""
    for workload in fleet.gang_marks.kai:
        if any(pod_set.scheduler == KAI for pod_set in workload.pod_sets):
            yield workload


def queue_of(workload: Workload) -> str:
    """The queue that a workload names: its own label goes before its pods'."""
    return marked(workload, KAI_QUEUE)


def in_kai(fleet: Fleet) -> bool:
    """Whether the input has KAI's queues, hence is where they would be."""
    return bool(fleet.kai)


def priority_class(fleet: Fleet, workload: Workload) -> tuple[str, int]:
    """The class that KAI takes for a workload, with its value; the kind's default where none is named."""
    names = [workload.labels.get("priorityClassName", "")]
    for pod_set in workload.pod_sets:
        names += [pod_set.labels.get("priorityClassName", ""), text(pod_set.spec, "priorityClassName")]
    name = next((item for item in names if item), "")
    if not name:
        name = "inference" if workload.kind == "Deployment" else "train"
    found = fleet.find("scheduling.k8s.io", "PriorityClass", None, name)
    value = found.manifest.get("value") if found else _INSTALLED.get(name)
    return name, value if isinstance(value, int) else _INSTALLED["train"]


def preemptible(fleet: Fleet, workload: Workload) -> bool:
    """Whether its pods can be preempted: as the label says, otherwise by priority."""
    written = marked(workload, "kai.scheduler/preemptibility")
    if written in ("preemptible", "non-preemptible"):
        return written == "preemptible"
    return priority_class(fleet, workload)[1] < _NON_PREEMPTIBLE


def gangs(workload: Workload) -> list[tuple[PodSet, int]]:
    """(pod set, pods that start together) as KAI's pod-grouper counts (v0.17.0): all pods of a JobSet, TrainJob or
    training-operator job, one group of a LeaderWorkerSet, one pod of a Job without batch-min-member, and of
    Deployments and other kinds."""
    kind = workload.kind
    if kind in ("JobSet", "TrainJob", "PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"):
        return [(pod_set, pod_set.count) for pod_set in workload.pod_sets]
    if kind == "LeaderWorkerSet":
        return [(pod_set, workload.unit_count(pod_set)) for pod_set in workload.pod_sets]
    least = min_member(workload) if kind in ("Job", "CronJob") else None
    return [(pod_set, min(pod_set.count, least or 1)) for pod_set in workload.pod_sets]


def min_member(workload: Workload) -> int | None:
    """`batch-min-member` of the workload as a number, None where it is not written or none."""
    written = workload.annotations.get(MIN_MEMBER, "")
    return int(written) if written.isascii() and written.isdigit() and len(written) < 10 else None


def has_own_group(workload: Workload) -> bool:
    """Whether the pods join a PodGroup that somebody made by hand."""
    if workload.annotations.get(SKIP) == "true":
        return True
    return any(GROUP_NAME in pod_set.annotations for pod_set in workload.pod_sets)


def waits(workload: Workload) -> str:
    """The replicatedJob that starts after another has ended or run, empty when there is none."""
    for _, job in mappings(workload.manifest, "spec", "replicatedJobs"):
        if mappings(job, "dependsOn"):
            return text(job, "name")
    return ""


def own_annotations(workload: Workload) -> dict[str, str]:
    """Annotations of the object in the manifest."""
    return strings(workload.document.manifest, "metadata", "annotations")
