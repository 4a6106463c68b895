"""Pods that run on: Deployment, ReplicaSet, StatefulSet, DaemonSet, LeaderWorkerSet."""

from __future__ import annotations

from trainshed.fleet.access import Node, mapping
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.workloads.at import At, counted


def deployment(at: At) -> Workload:
    """A Deployment or ReplicaSet: each pod is a Kueue Workload of its own."""
    pod_set = _replicas(at)
    return at.workload(at.document.kind, [pod_set], units=max(pod_set.count, 1))


def stateful_set(at: At) -> Workload:
    """A StatefulSet: Kueue takes all its pods as one group."""
    return at.workload("StatefulSet", [_replicas(at)])


def daemon_set(at: At) -> Workload:
    """A DaemonSet: one pod for each node, of which the manifest does not tell the number."""
    pod_set = at.pod_set("main", 1, "spec", "template", count_path=("spec",))
    return at.workload("DaemonSet", [pod_set], parts_known=False)


def _replicas(at: At) -> PodSet:
    spec = mapping(at.manifest, "spec")
    return at.pod_set(
        "main",
        counted(spec, "replicas"),
        "spec",
        "template",
        count_path=("spec", "replicas"),
        item=spec,
        item_path=(*at.path, "spec"),
    )


def leader_worker_set(at: At) -> Workload:
    """A LeaderWorkerSet: `leader` and `worker` with a leader template, otherwise `main`; each group is a Kueue
    Workload of its own (kueue.md 5.3)."""
    spec = mapping(at.manifest, "spec")
    group = mapping(spec, "leaderWorkerTemplate")
    groups, size = counted(spec, "replicas"), counted(group, "size")
    if isinstance(group.get("leaderTemplate"), dict):
        pod_sets = [
            _members(at, group, "leader", groups, min(size, 1), "leaderTemplate"),
            _members(at, group, "worker", groups, max(size - 1, 0), "workerTemplate"),
        ]
    else:
        pod_sets = [_members(at, group, "main", groups, size, "workerTemplate")]
    return at.workload("LeaderWorkerSet", pod_sets, units=max(groups, 1))


def _members(at: At, group: Node, name: str, groups: int, each: int, field: str) -> PodSet:
    place = ("spec", "leaderWorkerTemplate")
    return at.pod_set(
        name,
        groups * each,
        *place,
        field,
        count_path=(*place, "size"),
        item=group,
        item_path=at.path + place,
        replicas=groups,
    )
