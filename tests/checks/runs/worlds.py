"""One training run in every kind that makes pods, good as it stands; tests break it in one place."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import yaml

from trainshed.checks import all_rules
from trainshed.checks.rule import RULES
from trainshed.fleet.finding import Finding
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import read

Manifest = dict[str, Any]
FAMILIES = ("rendezvous", "torchrun", "trainer", "jobset", "job", "lws", "resources", "names")
GPUS = 8
NAMESPACE = "team-a"

#: The address of rank 0 in each kind.
FIRST = {
    "Job": "sft-0.sft",
    "JobSet": "sft-node-0-0.sft",
    "TrainJob": "sft-node-0-0.sft",
    "LeaderWorkerSet": "sft-0.sft",
    "VolcanoJob": "sft-node-0.sft",
    "StatefulSet": "sft-0.sft",
    "PyTorchJob": "sft-worker-0",
    "AppWrapper": "sft-node-0-0.sft",
}


def fleet(*objects: Manifest) -> Fleet:
    """A fleet of these manifests."""
    return Fleet(read(["-"], io.BytesIO(yaml.safe_dump_all(objects, sort_keys=False).encode())).documents)


def findings(*objects: Manifest, infos: bool = False) -> list[Finding]:
    """What the rules on runs find in these manifests; infos only where they are asked for."""
    all_rules.load()
    world = fleet(*objects)
    rules = [rule for code, rule in RULES.items() if code.startswith(tuple(f"{family}-" for family in FAMILIES))]
    rules = [rule for rule in rules if not rule.function.__module__.endswith(("gang_trainer", "gang_setups"))]
    found = [issue.finding(rule) for rule in rules for issue in rule.function(world)]
    return sorted(finding for finding in dict.fromkeys(found) if infos or finding.severity != "info")


def codes(*objects: Manifest, infos: bool = False) -> list[str]:
    """Their codes, sorted, each once."""
    return sorted({finding.code for finding in findings(*objects, infos=infos)})


def torchrun(kind: str, *, nodes: str = "2", processes: str = "8", endpoint: str = "") -> list[str]:
    """torchrun with c10d, as words."""
    endpoint = endpoint or f"{FIRST[kind]}:29500"
    return [
        "torchrun",
        f"--nnodes={nodes}",
        f"--nproc-per-node={processes}",
        "--rdzv-backend=c10d",
        "--rdzv-id=sft",
        f"--rdzv-endpoint={endpoint}",
        "train.py",
    ]


def container(command: list[str], env: list[Manifest] | None = None, **fields: Any) -> Manifest:
    """A container with 8 GPUs and shared memory."""
    amounts = {"cpu": "96", "memory": "512Gi", "nvidia.com/gpu": str(GPUS)}
    made: Manifest = {
        "name": "node",
        "image": "registry.example.com/trainer:1",
        "command": command,
        "resources": {"requests": amounts, "limits": dict(amounts)},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "tmp", "mountPath": "/tmp"}],
    }
    if env:
        made["env"] = env
    return made | fields


def template(box: Manifest, **spec: Any) -> Manifest:
    """A pod template around a container."""
    volumes = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    return {"spec": {"terminationGracePeriodSeconds": 120, "containers": [box], "volumes": volumes} | spec}


def service(name: str = "sft", selector: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """The headless Service of a Job."""
    chosen = {"batch.kubernetes.io/job-name": "sft"} if selector is None else selector
    written = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": chosen}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": written | spec}


def job_spec(pod: Manifest, pods: int) -> Manifest:
    """The spec of an Indexed Job."""
    numbers = {"completionMode": "Indexed", "completions": pods, "parallelism": pods, "backoffLimit": 0}
    return {**numbers, "podReplacementPolicy": "Failed", "template": pod}


def _object(api_version: str, kind: str, spec: Manifest, name: str = "sft") -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _job(pod: Manifest, pods: int) -> list[Manifest]:
    pod["spec"] = {"subdomain": "sft"} | pod["spec"]
    return [service(), _object("batch/v1", "Job", job_spec(pod, pods))]


def _job_set(pod: Manifest, pods: int) -> list[Manifest]:
    jobs = [{"name": "node", "template": {"spec": job_spec(pod, pods)}}]
    return [_object("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})]


def _app_wrapper(pod: Manifest, pods: int) -> list[Manifest]:
    components = [{"template": inner} for inner in _job_set(pod, pods)]
    return [_object("workload.codeflare.dev/v1beta2", "AppWrapper", {"components": components}, "wrapped")]


def _train_job(pod: Manifest, pods: int) -> list[Manifest]:
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    spec = {"backoffLimit": 0, "podReplacementPolicy": "Failed", "template": pod}
    jobs = [{"name": "node", "template": {"metadata": {"labels": label}, "spec": spec}}]
    runtime = {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": jobs}}}
    trainer = {"numNodes": pods, "numProcPerNode": GPUS}
    job = {"runtimeRef": {"kind": "TrainingRuntime", "name": "ddp"}, "trainer": trainer}
    version = "trainer.kubeflow.org/v1alpha1"
    return [_object(version, "TrainingRuntime", runtime, "ddp"), _object(version, "TrainJob", job)]


def _lws(pod: Manifest, pods: int) -> list[Manifest]:
    del pod["spec"]["restartPolicy"]
    spec = {"leaderWorkerTemplate": {"size": pods, "workerTemplate": pod}}
    return [_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)]


def _volcano(pod: Manifest, pods: int) -> list[Manifest]:
    tasks = [{"name": "node", "replicas": pods, "template": pod}]
    spec = {"minAvailable": pods, "plugins": {"svc": [], "env": []}, "tasks": tasks}
    return [_object("batch.volcano.sh/v1alpha1", "Job", spec)]


def _stateful_set(pod: Manifest, pods: int) -> list[Manifest]:
    del pod["spec"]["restartPolicy"]
    labels = {"app": "sft"}
    spec: Manifest = {"replicas": pods, "serviceName": "sft", "selector": {"matchLabels": labels}}
    spec["template"] = {"metadata": {"labels": labels}, **pod}
    return [service(selector=labels), _object("apps/v1", "StatefulSet", spec)]


def _pytorch(pod: Manifest, pods: int) -> list[Manifest]:
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": pods, "template": pod}}}
    return [_object("kubeflow.org/v1", "PyTorchJob", spec)]


_MAKERS: dict[str, Callable[[Manifest, int], list[Manifest]]] = {
    "Job": _job,
    "JobSet": _job_set,
    "TrainJob": _train_job,
    "LeaderWorkerSet": _lws,
    "VolcanoJob": _volcano,
    "StatefulSet": _stateful_set,
    "PyTorchJob": _pytorch,
    "AppWrapper": _app_wrapper,
}


def run(kind: str, box: Manifest, pods: int = 2, **spec: Any) -> list[Manifest]:
    """The objects of a run of so many pods; `spec` are fields of the pod spec."""
    return _MAKERS[kind](template(box, restartPolicy="Never", **spec), pods)
