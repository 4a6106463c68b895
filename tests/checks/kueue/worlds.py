"""Small worlds with Kueue in them: platform objects, and one workload in every kind that Kueue queues."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import yaml

from trainshed.checks import all_rules
from trainshed.checks.rule import RULES
from trainshed.fleet.finding import Finding
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import read
from trainshed.target import TARGET

Manifest = dict[str, Any]
KUEUE = "kueue.x-k8s.io"
API = f"{KUEUE}/v1beta2"
QUEUE = f"{KUEUE}/queue-name"


def fleet(*objects: Manifest, **target: str) -> Fleet:
    """A fleet of these manifests, for the default target with changes."""
    text = yaml.safe_dump_all(objects, sort_keys=False)
    return Fleet(read(["-"], io.BytesIO(text.encode())).documents, target=replace(TARGET, **target))


def findings(*objects: Manifest, **target: str) -> list[Finding]:
    """What all Kueue rules find, infos left out."""
    all_rules.load()
    world = fleet(*objects, **target)
    rules = [rule for rule in RULES.values() if "checks.kueue_" in rule.function.__module__]
    found = [issue.finding(rule) for rule in rules for issue in rule.function(world)]
    return sorted(finding for finding in found if finding.severity != "info")


def codes(*objects: Manifest, **target: str) -> list[str]:
    """Their codes, sorted."""
    return sorted(finding.code for finding in findings(*objects, **target))


def flavor(name: str = "h100", **spec: Any) -> Manifest:
    spec = {"nodeLabels": {"example.com/gpu": name}} | spec
    return {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def group(quotas: dict[str, dict[str, Any]]) -> Manifest:
    """A resource group from {flavor: {resource: quota or {field: value}}}."""
    covered = list(next(iter(quotas.values())))
    flavors = [
        {
            "name": name,
            "resources": [
                {"name": resource} | (quota if isinstance(quota, dict) else {"nominalQuota": quota})
                for resource, quota in resources.items()
            ],
        }
        for name, resources in quotas.items()
    ]
    return {"coveredResources": covered, "flavors": flavors}


def cluster_queue(name: str = "gpu", *groups: dict[str, dict[str, Any]], **spec: Any) -> Manifest:
    written = groups or ({"h100": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "16"}},)
    spec = {"namespaceSelector": {}, "resourceGroups": [group(item) for item in written]} | spec
    return {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def cohort(name: str, *groups: dict[str, dict[str, Any]], **spec: Any) -> Manifest:
    spec = {"resourceGroups": [group(item) for item in groups]} | spec
    return {"apiVersion": API, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def local_queue(name: str = "train", queue: str = "gpu", namespace: str = "aurora", **spec: Any) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": API, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": queue} | spec}


def platform() -> list[Manifest]:
    """One flavor, one ClusterQueue and one LocalQueue."""
    return [flavor(), cluster_queue(), local_queue()]


def configuration(**settings: Any) -> Manifest:
    """The manager's ConfigMap."""
    settings = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"} | settings
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
        "data": {"controller_manager_config.yaml": yaml.safe_dump(settings)},
    }


def node(name: str, labels: dict[str, str], taints: list[Manifest] | None = None, **offer: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints or []},
        "status": {"allocatable": offer},
    }


def template(
    requests: dict[str, Any] | None = None, annotations: dict[str, str] | None = None, **spec: Any
) -> Manifest:
    """A pod template; by default one GPU."""
    requests = {"cpu": "4", "nvidia.com/gpu": "1"} if requests is None else requests
    container = {"name": "main", "image": "registry.example.com/a:1", "resources": {"requests": requests}}
    pod: Manifest = {"spec": {"containers": [container]} | spec}
    return pod | ({"metadata": {"annotations": annotations}} if annotations else {})


def metadata(labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None) -> Manifest:
    labels = {QUEUE: "train"} if labels is None else labels
    return {"name": "run", "namespace": "aurora", "labels": labels} | (
        {"annotations": annotations} if annotations is not None else {}
    )


def job(pod: Manifest, meta: Manifest, **spec: Any) -> Manifest:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": pod} | spec}


def _cron_job(pod: Manifest, meta: Manifest) -> Manifest:
    inner = {key: value for key, value in meta.items() if key in ("labels", "annotations")}
    outer = {"name": meta["name"], "namespace": meta["namespace"]}
    spec = {"schedule": "0 0 * * *", "jobTemplate": {"metadata": inner, "spec": {"template": pod}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": outer, "spec": spec}


def job_set(pod: Manifest, meta: Manifest) -> Manifest:
    spec = {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": pod}}}]}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta, "spec": spec}


def _lws(pod: Manifest, meta: Manifest) -> Manifest:
    spec = {"leaderWorkerTemplate": {"size": 1, "workerTemplate": pod}}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": meta, "spec": spec}


def _apps(kind: str) -> Callable[[Manifest, Manifest], Manifest]:
    def make(pod: Manifest, meta: Manifest) -> Manifest:
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": pod}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}

    return make


def _pod(pod: Manifest, meta: Manifest) -> Manifest:
    annotations = pod.get("metadata", {}).get("annotations", {}) | meta.get("annotations", {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta | {"annotations": annotations}, "spec": pod["spec"]}


def _kubeflow(kind: str, field: str, roles: tuple[str, ...]) -> Callable[[Manifest, Manifest], Manifest]:
    def make(pod: Manifest, meta: Manifest) -> Manifest:
        version = "v2beta1" if kind == "MPIJob" else "v1"
        spec = {field: {role: {"replicas": 1, "template": pod} for role in roles}}
        return {"apiVersion": f"kubeflow.org/{version}", "kind": kind, "metadata": meta, "spec": spec}

    return make


def _ray(kind: str) -> Callable[[Manifest, Manifest], Manifest]:
    def make(pod: Manifest, meta: Manifest) -> Manifest:
        cluster = {"headGroupSpec": {"template": pod}, "workerGroupSpecs": []}
        spec = {"shutdownAfterJobFinishes": True, "submissionMode": "HTTPMode", "rayClusterSpec": cluster}
        return {
            "apiVersion": "ray.io/v1",
            "kind": kind,
            "metadata": meta,
            "spec": spec if kind == "RayJob" else cluster,
        }

    return make


def _app_wrapper(pod: Manifest, meta: Manifest) -> Manifest:
    inner = job(pod, {"name": "inner"})
    spec = {"components": [{"template": inner}]}
    return {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": meta, "spec": spec}


#: Every kind as a function of its pod template and its metadata.
KINDS: dict[str, Callable[[Manifest, Manifest], Manifest]] = {
    "Job": job,
    "CronJob": _cron_job,
    "JobSet": job_set,
    "LeaderWorkerSet": _lws,
    "Deployment": _apps("Deployment"),
    "StatefulSet": _apps("StatefulSet"),
    "Pod": _pod,
    "PyTorchJob": _kubeflow("PyTorchJob", "pytorchReplicaSpecs", ("Worker",)),
    "MPIJob": _kubeflow("MPIJob", "mpiReplicaSpecs", ("Worker",)),
    "RayJob": _ray("RayJob"),
    "RayCluster": _ray("RayCluster"),
    "AppWrapper": _app_wrapper,
}


def train_job(meta: Manifest, pod: Manifest, **trainer: Any) -> list[Manifest]:
    """A runtime with one node job, and a TrainJob that uses it."""
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    pod["spec"]["containers"][0]["name"] = "node"
    replicated = {"name": "node", "template": {"metadata": {"labels": label}, "spec": {"template": pod}}}
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch"},
        "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [replicated]}}},
    }
    run = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": meta,
        "spec": {"runtimeRef": {"name": "torch"}, "trainer": trainer},
    }
    return [runtime, run]
