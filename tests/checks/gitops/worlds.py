"""Small inputs for the rules on Argo CD, changes, references, security and rendering; every kind that makes pods."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from trainshed.checks.engine import check
from trainshed.checks.options import Options
from trainshed.fleet.finding import Finding

Manifest = dict[str, Any]
NAMESPACE = "team-a"
WAVE = "argocd.argoproj.io/sync-wave"
HOOK = "argocd.argoproj.io/hook"
OPTIONS = "argocd.argoproj.io/sync-options"


def findings(*objects: Manifest, before: list[Manifest] | None = None, text: str = "") -> list[Finding]:
    """What check finds in these manifests (or in `text`) in one file; with `before`, in the change from there."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "input.yaml"
        file.write_text(text or dumped(*objects), encoding="utf-8")
        base = None
        if before is not None:
            base = str(Path(folder) / "base.yaml")
            Path(base).write_text(dumped(*before) or "# nothing\n", encoding="utf-8")
        return check([str(file)], Options(), baseline=base).findings


def codes(*objects: Manifest, before: list[Manifest] | None = None, text: str = "", infos: bool = False) -> set[str]:
    """The codes of errors and warnings; of notes, too, where they are asked for."""
    found = findings(*objects, before=before, text=text)
    return {finding.code for finding in found if infos or finding.severity != "info"}


def in_files(files: dict[str, list[Manifest]]) -> list[Finding]:
    """What check finds in a folder of these files."""
    with TemporaryDirectory() as folder:
        for name, objects in files.items():
            file = Path(folder) / "dist" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(dumped(*objects), encoding="utf-8")
        return check([str(Path(folder) / "dist")], Options()).findings


def dumped(*objects: Manifest) -> str:
    """The manifests as YAML documents."""
    return yaml.dump_all(objects, Dumper=_Plain, sort_keys=False)


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def made(api_version: str, kind: str, spec: Manifest | None = None, name: str = "sft", **fields: Any) -> Manifest:
    """An object; `annotations` and `labels` among the fields go to its metadata, `namespace=None` leaves that out."""
    metadata: Manifest = {"name": name}
    if (namespace := fields.pop("namespace", NAMESPACE)) is not None:
        metadata["namespace"] = namespace
    for key in ("labels", "annotations", "uid", "ownerReferences"):
        if key in fields:
            metadata[key] = fields.pop(key)
    found = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return found | ({} if spec is None else {"spec": spec}) | fields


def pod(**spec: Any) -> Manifest:
    """A pod spec that nobody has anything to say about; the keyword `box` holds fields of its container."""
    box = {"name": "node", "image": "registry.example.com/trainer:1"} | spec.pop("box", {})
    return {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [box]} | spec


def _job_spec(spec: Manifest) -> Manifest:
    return {"backoffLimit": 0, "podReplacementPolicy": "Failed", "template": {"spec": spec}}


def job(spec: Manifest | None = None, **fields: Any) -> Manifest:
    """A Job around a pod spec; `more` holds fields of its spec."""
    more = fields.pop("more", {})
    return made("batch/v1", "Job", _job_spec(spec or pod()) | more, **fields)


def _cron_job(spec: Manifest) -> list[Manifest]:
    return [made("batch/v1", "CronJob", {"schedule": "0 3 * * *", "jobTemplate": {"spec": _job_spec(spec)}})]


def _job_set(spec: Manifest) -> list[Manifest]:
    jobs = [{"name": "node", "template": {"spec": _job_spec(spec)}}]
    return [made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})]


def _train_job(spec: Manifest) -> list[Manifest]:
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    jobs = [{"name": "node", "template": {"metadata": {"labels": label}, "spec": _job_spec(spec)}}]
    runtime = {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": jobs}}}
    run = {"runtimeRef": {"kind": "TrainingRuntime", "name": "ddp"}, "trainer": {"numNodes": 1}}
    version = "trainer.kubeflow.org/v1alpha1"
    earlier = {WAVE: "-5"}
    return [made(version, "TrainingRuntime", runtime, "ddp", annotations=earlier), made(version, "TrainJob", run)]


def _patched(spec: Manifest) -> list[Manifest]:
    """The pod's fields beside its containers come from the TrainJob's patch."""
    runtime, run = _train_job({"restartPolicy": "Never", "containers": spec["containers"]})
    patch = {key: value for key, value in spec.items() if key not in ("containers", "restartPolicy")}
    patch = {key: value for key, value in patch.items() if key != "automountServiceAccountToken"}
    inner = {"spec": {"template": {"spec": patch}}}
    job_patch = {"replicatedJobs": [{"name": "node", "template": inner}]}
    run["spec"]["runtimePatches"] = [
        {"manager": "example.com/me", "trainingRuntimeSpec": {"template": {"spec": job_patch}}}
    ]
    return [runtime, run]


def _lws(spec: Manifest) -> list[Manifest]:
    always = {key: value for key, value in spec.items() if key != "restartPolicy"}
    worker = {"leaderWorkerTemplate": {"size": 1, "workerTemplate": {"spec": always}}}
    return [made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", worker)]


def _volcano(spec: Manifest) -> list[Manifest]:
    policies = [{"event": "PodFailed", "action": "AbortJob"}, {"event": "PodEvicted", "action": "RestartJob"}]
    task = {"name": "node", "replicas": 1, "template": {"spec": spec}}
    return [made("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 1, "policies": policies[:1], "tasks": [task]})]


def _pytorch(spec: Manifest) -> list[Manifest]:
    first, *others = spec["containers"]
    named = spec | {"containers": [first | {"name": "pytorch"}, *others]}  # what the operator looks for
    replicas = {"Master": {"replicas": 1, "template": {"spec": named}}}
    return [made("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": replicas})]


def _ray_job(spec: Manifest) -> list[Manifest]:
    head = {"rayStartParams": {}, "template": {"spec": spec}}
    cluster = {"entrypoint": "python train.py", "rayClusterSpec": {"headGroupSpec": head}}
    return [made("ray.io/v1", "RayJob", cluster)]


def _app_wrapper(spec: Manifest) -> list[Manifest]:
    components = [{"template": job(copy.deepcopy(spec), name="inner")}]
    return [made("workload.codeflare.dev/v1beta2", "AppWrapper", {"components": components})]


def _deployment(kind: str) -> Callable[[Manifest], list[Manifest]]:
    def make(spec: Manifest) -> list[Manifest]:
        always = {key: value for key, value in spec.items() if key != "restartPolicy"}
        template = {"metadata": {"labels": {"app": "sft"}}, "spec": always}
        more = {"serviceName": "sft"} if kind == "StatefulSet" else {}
        return [made("apps/v1", kind, {"selector": {"matchLabels": {"app": "sft"}}, "template": template} | more)]

    return make


#: Every kind that makes pods, around one pod spec.
KINDS: dict[str, Callable[[Manifest], list[Manifest]]] = {
    "Pod": lambda spec: [made("v1", "Pod", spec)],
    "Job": lambda spec: [job(spec)],
    "CronJob": _cron_job,
    "JobSet": _job_set,
    "TrainJob": _train_job,
    "TrainingRuntime": lambda spec: _train_job(spec)[:1],
    "LeaderWorkerSet": _lws,
    "VolcanoJob": _volcano,
    "PyTorchJob": _pytorch,
    "RayJob": _ray_job,
    "AppWrapper": _app_wrapper,
    "Deployment": _deployment("Deployment"),
    "StatefulSet": _deployment("StatefulSet"),
}
#: A patch gives a TrainJob's pods fields that its runtime does not have.
PATCHED = _patched


def application(**fields: Any) -> Manifest:
    """An Application of project `default` that syncs dist/runs to team-a."""
    spec = {
        "project": "default",
        "source": {"repoURL": "https://git.example.com/platform.git", "path": "dist/runs", "targetRevision": "main"},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": NAMESPACE},
    }
    return made("argoproj.io/v1alpha1", "Application", spec | fields, "runs", namespace="argocd")


def as_list(*objects: Manifest) -> str:
    """The objects as `kubectl get -o json` prints them."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
