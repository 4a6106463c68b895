"""The labels that pods really have: those of the template and those that controllers add."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from trainshed.fleet.access import text
from trainshed.fleet.workload import PodSet, Workload


class PodLabels(NamedTuple):
    """`labels` have the same value on every pod of the set; the keys in `varying` are there with values that differ
    from pod to pod, or that nobody knows beforehand."""

    labels: dict[str, str]
    varying: frozenset[str]

    def selected(self, selector: Any) -> bool | None:
        """Whether a plain selector (a Service's) takes the pods; None where it takes some of them only."""
        if not isinstance(selector, dict) or not selector:
            return False
        fixed = {key: value for key, value in selector.items() if key not in self.varying}
        if any(self.labels.get(key) != value for key, value in fixed.items()):
            return False
        return True if len(fixed) == len(selector) else None


_JOB: Final = frozenset(
    (
        "batch.kubernetes.io/controller-uid",
        "controller-uid",
        "batch.kubernetes.io/job-completion-index",
        "job-name",
        "batch.kubernetes.io/job-name",
    )
)
_VARYING: Final[dict[str, frozenset[str]]] = {
    "Job": _JOB,
    "JobSet": _JOB
    | {
        f"jobset.sigs.k8s.io/{key}"
        for key in ("jobset-uid", "job-index", "job-global-index", "job-key", "restart-attempt", "job-group-index")
    },
    "LeaderWorkerSet": frozenset(
        f"leaderworkerset.sigs.k8s.io/{key}"
        for key in (
            "group-index",
            "worker-index",
            "group-key",
            "template-revision-hash",
            "subgroup-index",
            "subgroup-key",
        )
    ),
    "StatefulSet": frozenset(
        ("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "controller-revision-hash")
    ),
    "Deployment": frozenset(("pod-template-hash",)),
    "DaemonSet": frozenset(("controller-revision-hash", "pod-template-generation")),
}
_VOLCANO_VARYING: Final = frozenset(
    f"volcano.sh/{key}" for key in ("task-index", "job-version", "job-retry-count", "template-uid", "partition-id")
)


def pod_labels(workload: Workload, pod_set: PodSet) -> PodLabels:
    """The labels of the pods of one pod set (of a part, for an AppWrapper: pass the part)."""
    name = text(workload.manifest, "metadata", "name")
    form = workload.form
    if form == "Job" and pod_set.job:
        return _of_job(pod_set, name, {})
    if form == "JobSet":
        return _of_job_set(workload, pod_set, name)
    added: dict[str, str] = {}
    if form == "Job":
        added = {"volcano.sh/job-name": name, "volcano.sh/task-spec": pod_set.name}
        added["volcano.sh/queue-name"] = text(workload.manifest, "spec", "queue") or "default"
        return PodLabels({**pod_set.labels, **_written(added)}, _VOLCANO_VARYING)
    if form == "LeaderWorkerSet":
        added = {"leaderworkerset.sigs.k8s.io/name": name}
    elif form in ("pytorch", "tf", "xgb", "paddle", "jax", "mpi"):
        added = {"training.kubeflow.org/job-name": name, "training.kubeflow.org/replica-type": pod_set.name}
    elif form.startswith("Ray"):
        added = {"ray.io/group": "headgroup" if pod_set.name == "head" else text(pod_set.item, "groupName")}
        added["ray.io/node-type"] = "head" if pod_set.name == "head" else "worker"
        if form == "RayCluster":
            added["ray.io/cluster"] = name
    return PodLabels({**pod_set.labels, **_written(added)}, _VARYING.get(form, frozenset()))


def _of_job(pod_set: PodSet, name: str, more: dict[str, str]) -> PodLabels:
    varying = _JOB
    if name:
        more = {**more, "job-name": name, "batch.kubernetes.io/job-name": name}
        varying = _JOB - {"job-name", "batch.kubernetes.io/job-name"}
    return PodLabels({**pod_set.labels, **more}, varying)


def _of_job_set(workload: Workload, pod_set: PodSet, name: str) -> PodLabels:
    job = text(pod_set.item, "name")
    added = {
        "jobset.sigs.k8s.io/jobset-name": name,
        "jobset.sigs.k8s.io/replicatedjob-name": job,
        "jobset.sigs.k8s.io/replicatedjob-replicas": str(pod_set.replicas),
        "jobset.sigs.k8s.io/global-replicas": str(sum(item.replicas for item in workload.pod_sets)),
    }
    labels = {**pod_set.labels, **_written(added)}
    varying = _VARYING["JobSet"]
    if name and job and pod_set.replicas == 1:
        labels["jobset.sigs.k8s.io/job-index"] = "0"
        labels["job-name"] = labels["batch.kubernetes.io/job-name"] = f"{name}-{job}-0"
    return PodLabels(labels, varying - labels.keys())


def _written(labels: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if value}
