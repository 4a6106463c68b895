"""KubeRay's RayCluster, RayJob and RayService.

KubeRay v1.4 `ray-operator/controllers/ray/{common/pod.go,rayjob_controller.go}`; pod sets as Kueue v0.19 counts them
(`pkg/controller/jobs/{raycluster,rayjob}`).
"""

from __future__ import annotations

from typing import Final

from trainshed.fleet.access import Node, items, mapping, mappings, text
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.workloads.at import At, counted

#: What KubeRay asks for its own containers where the user does not say.
_AUTOSCALER: Final = {"cpu": "500m", "memory": "512Mi"}
_SUBMITTER: Final = {"cpu": "500m", "memory": "200Mi"}


def ray_cluster(at: At) -> Workload:
    """A RayCluster: `head`, and each worker group by its name."""
    return at.workload("RayCluster", _cluster(at, "spec"))


def ray_service(at: At) -> Workload:
    """A RayService: the pods of its cluster."""
    return at.workload("RayService", _cluster(at, "spec", "rayClusterConfig"))


def ray_job(at: At) -> Workload:
    """A RayJob: its cluster, and `submitter` in the mode K8sJobMode, the default. With a clusterSelector the cluster is
    somebody else's."""
    spec = mapping(at.manifest, "spec")
    pod_sets = [] if spec.get("clusterSelector") else _cluster(at, "spec", "rayClusterSpec")
    if spec.get("submissionMode", "K8sJobMode") == "K8sJobMode":
        pod_sets.append(_submitter(at))
    return at.workload("RayJob", pod_sets)


def _cluster(at: At, *root: str) -> list[PodSet]:
    spec = mapping(at.manifest, *root)
    head = (*root, "headGroupSpec")
    group = mapping(spec, "headGroupSpec")
    found = [at.pod_set("head", 1, *head, "template", count_path=head, item=group, item_path=at.path + head)]
    if spec.get("enableInTreeAutoscaling") is True:
        _add_autoscaler(at, found[0], spec, root)
    for index, group in mappings(spec, "workerGroupSpecs"):
        found.append(_group(at, group, (*root, "workerGroupSpecs", index)))
    return found


def _group(at: At, group: Node, place: Path) -> PodSet:
    replicas = counted(group, "replicas", counted(group, "minReplicas", 0))
    return at.pod_set(
        text(group, "groupName").lower(),
        replicas * max(counted(group, "numOfHosts"), 1),
        *place,
        "template",
        count_path=(*place, "replicas"),
        item=group,
        item_path=at.path + place,
        replicas=replicas,
    )


def _add_autoscaler(at: At, head: PodSet, spec: Node, root: tuple[str, ...]) -> None:
    """The sidecar that KubeRay adds to the head pod."""
    resources = mapping(spec, "autoscalerOptions", "resources")
    container = {"name": "autoscaler", "resources": resources or {"requests": _AUTOSCALER, "limits": _AUTOSCALER}}
    containers = [*items(head.spec, "containers"), container]
    head.rewrite({**head.template, "spec": {**head.spec, "containers": containers}})
    place: Path = ("spec", "containers", len(containers) - 1)
    field = "autoscalerOptions" if resources else "enableInTreeAutoscaling"
    head.origins[place] = (at.document, (*at.path, *root, field))


def _submitter(at: At) -> PodSet:
    place: Path = ("spec", "submitterPodTemplate")
    pod_set = at.pod_set("submitter", 1, *place, count_path=place)
    if not pod_set.template:
        container = {"name": "ray-job-submitter", "resources": {"requests": _SUBMITTER}}
        pod_set.rewrite({"spec": {"restartPolicy": "Never", "containers": [container]}})
        pod_set.origins[("spec",)] = (at.document, (*at.path, "spec"))
    return pod_set
