"""Runs to test with: one description, and the four ways to run it."""

from __future__ import annotations

from typing import Any

from tests.synthesis import Manifest, h100, new_cluster, synth
from trainshed.gitops import Cluster
from trainshed.tenancy import Namespace, NodePool, QueueRef, VolcanoQueue, nodes
from trainshed.training import IndexedJob, JobSet, Training, TrainJob, VolcanoJob
from trainshed.training.run import Run

QUEUE = QueueRef("llm", "research", home="runs")
FORMS = ("IndexedJob", "JobSet", "TrainJob", "VolcanoJob")


def training(**more: Any) -> Training:
    """Two nodes of eight GPUs."""
    given: dict[str, Any] = {
        "nodes": 2,
        "gpus_per_node": 8,
        "image": "registry.example.com/trainer:1",
        "script": "/opt/train.py",
        "resources": {"cpu": 96, "memory": "400G"},
    }
    return Training(**{**given, **more})


def run(cluster: Cluster, form: str, description: Training | None = None, id: str = "llm", **more: Any) -> Run:
    """A run in the given form; `more` are arguments of it."""
    described = description or training()
    if form == "VolcanoJob":
        known = cluster.all_of(VolcanoQueue)
        queue = known[0] if known else VolcanoQueue(cluster, "llm", capability={pool_of(cluster): nodes(1)})
        return VolcanoJob(cluster, id, described, queue=queue, namespace="research", **more)
    kinds: dict[str, type[IndexedJob | JobSet | TrainJob]] = {
        "IndexedJob": IndexedJob,
        "JobSet": JobSet,
        "TrainJob": TrainJob,
    }
    return kinds[form](cluster, id, described, queue=QUEUE, **more)


def pool_of(cluster: Cluster) -> NodePool:
    """The cluster's pool, made on first use."""
    known = cluster.all_of(NodePool)
    return known[0] if known else h100(cluster)


def manifests(form: str, **more: Any) -> list[Manifest]:
    """What one run in the given form renders."""
    cluster = new_cluster()
    Namespace(cluster, "research")
    run(cluster, form, training(**more))
    return synth(cluster, "runs")


def outermost(form: str, **more: Any) -> Manifest:
    """The object that is submitted."""
    return manifests(form, **more)[-1]


def pod_templates(form: str, made: list[Manifest]) -> list[Manifest]:
    """Every pod template of a run."""
    if form == "TrainJob":
        job = made[0]["spec"]["template"]["spec"]["replicatedJobs"][0]
        return [job["template"]["spec"]["template"]]
    spec = made[-1]["spec"]
    if form == "JobSet":
        return [spec["replicatedJobs"][0]["template"]["spec"]["template"]]
    return [spec["template"]] if form == "IndexedJob" else [task["template"] for task in spec["tasks"]]


def trained(form: str, made: list[Manifest]) -> list[Manifest]:
    """What says command, args, env and resources of each pod: its container, or the TrainJob's trainer."""
    if form == "TrainJob":
        return [made[-1]["spec"]["trainer"]]
    return [template["spec"]["containers"][0] for template in pod_templates(form, made)]


def environment(holder: Manifest) -> dict[str, Any]:
    """Variables by name; a `valueFrom` stays one."""
    found = {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in holder["env"]}
    assert len(found) == len(holder["env"]), "a variable is set twice"
    return found
