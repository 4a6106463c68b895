"""Plain pods, and the groups that Kueue makes of them."""

from __future__ import annotations

from typing import Final

from trainshed.fleet.document import Document
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.workloads.at import At

GROUP: Final = "kueue.x-k8s.io/pod-group-name"


def joined(workload: Workload, groups: dict[tuple[str, str], Workload]) -> bool:
    """Whether the pod went to a group that is there already. `groups` holds the groups by namespace and name; the first
    pod of one stands for it, with a pod set for each pod.

    Kueue takes a group's name from the label, or from the annotation of that name (kueue.md 5.2).
    """
    name = workload.labels.get(GROUP) or workload.annotations.get(GROUP)
    if not name:
        return False
    group = groups.setdefault((workload.document.namespace or "", name), workload)
    if group is workload:
        return False
    _join(group, workload.document, workload.pod_sets)
    return True


def pod(at: At) -> Workload:
    """A Pod: it is its own template."""
    return at.workload("Pod", [at.pod_set("main", 1, item=at.manifest, item_path=at.path)])


def _join(group: Workload, document: Document, pod_sets: list[PodSet]) -> None:
    if len(group.members) == 1:
        group.pod_sets[0].name = group.document.name
    for pod_set in pod_sets:
        pod_set.name = document.name
    group.pod_sets.extend(pod_sets)
    group.members.append(document)
