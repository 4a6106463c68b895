"""Training runtimes v2.3.0: the CRD's rules, the webhook's, and JobSet's that need no TrainJob."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.api.trainer import ClusterTrainingRuntime, TrainingRuntime

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def job(name: str = "node", container: str = "node", step: str | None = "trainer", **fields: Any) -> dict[str, Any]:
    """A replicated job; `spec` holds more fields of the Job, `pod` more fields of the pod."""
    pod = {"containers": [{"name": container}], **fields.pop("pod", {})}
    template: dict[str, Any] = {"spec": {"template": {"spec": pod}, **fields.pop("spec", {})}}
    if step is not None:
        template["metadata"] = {"labels": {STEP: step}}
    return {"name": name, "template": template, **fields}


def runtime(*jobs: dict[str, Any], kind: str = "TrainingRuntime", **spec: Any) -> dict[str, Any]:
    jobset = {"replicatedJobs": list(jobs) or [job()], **spec.pop("jobset", {})}
    template = {"spec": jobset, **spec.pop("template", {})}
    metadata: dict[str, Any] = {"name": "torch"} | ({"namespace": "ml"} if kind == "TrainingRuntime" else {})
    if labels := spec.pop("labels", None):
        metadata["labels"] = labels
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }


def refusals(manifest: dict[str, Any]) -> list[str]:
    try:
        TrainingRuntime.parse(manifest)
    except ValidationError as error:
        return [str(broken) for item in error.errors() for broken in item.get("ctx", {}).get("broken", [item["msg"]])]
    return []


def policy(**frameworks: Any) -> dict[str, Any]:
    return runtime(mlPolicy=frameworks)


def targets(*targets: dict[str, Any]) -> dict[str, Any]:
    sidecars = {"containers": [{"name": "node"}, {"name": "sidecar"}], "initContainers": [{"name": "warm"}]}
    return runtime(job(pod=sidecars), mlPolicy={"torch": {"envInjection": {"targets": list(targets)}}})


def queue(name: str, **podgroup: Any) -> dict[str, Any]:
    annotations = {"scheduling.volcano.sh/queue-name": name}
    return runtime(template={"metadata": {"annotations": annotations}}, podGroupPolicy=podgroup or {"volcano": {}})


FAILURE = {"action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}
GOOD: dict[str, dict[str, Any]] = {
    "smallest": runtime(),
    "no jobs": {**runtime(), "spec": {"mlPolicy": {}}},
    "torch": targets({"jobName": "node", "containerNames": ["sidecar", "warm"]}),
    "mpi": runtime(
        job("node", step=None),
        job("launcher"),
        mlPolicy={
            "numNodes": 2,
            "mpi": {
                "numProcPerNode": 8,
                "mpiImplementation": "OpenMPI",
                "sshAuthMountPath": "/home/mpiuser/.ssh",
                "runLauncherAsNode": True,
            },
        },
    ),
    "flux": policy(flux={"numProcPerNode": 1}),
    "jax": policy(jax={}),
    "xgboost": policy(xgboost={}, numNodes=1),
    "coscheduling": runtime(podGroupPolicy={"coscheduling": {"scheduleTimeoutSeconds": 120}}),
    "volcano": queue("tenants", volcano={"networkTopology": {"mode": "soft", "highestTierAllowed": 2}}),
    "Trainer writes completions": runtime(job(spec={"parallelism": 1})),
    "steps": runtime(
        job("dataset-initializer", "dataset-initializer", "dataset-initializer", replicas=1),
        job("model-initializer", "model-initializer", "model-initializer"),
        job(dependsOn=[{"name": "dataset-initializer", "status": "Complete"}]),
    ),
    "volumes from patches": runtime(
        job(pod={"containers": [{"name": "node", "volumeMounts": [{"name": "later", "mountPath": "/x"}]}]})
    ),
    "policies": runtime(
        jobset={
            "network": {"publishNotReadyAddresses": True},
            "failurePolicy": {"maxRestarts": 3, "rules": [{"name": "a", **FAILURE}]},
        }
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_reads_back_as_written(name: str) -> None:
    read = TrainingRuntime.parse(GOOD[name])
    assert read.manifest() == GOOD[name]
    assert TrainingRuntime.parse(read.manifest()) == read


def test_a_cluster_runtime_has_no_namespace() -> None:
    manifest = runtime(kind="ClusterTrainingRuntime")
    assert ClusterTrainingRuntime.parse(manifest).manifest() == manifest
    manifest["metadata"]["namespace"] = "ml"
    with pytest.raises(ValidationError, match="ClusterTrainingRuntime is cluster-scoped"):
        ClusterTrainingRuntime.parse(manifest)


JOBS = "template.spec.replicatedJobs[0]"
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "CRD: something is written": (
        {**runtime(), "spec": {"template": {"metadata": {}}}},
        {**runtime(), "spec": {}},
        ["is empty; add template"],
    ),
    "CRD: something is written in the template": (
        {**runtime(), "spec": {"template": {"spec": {}}}},
        {**runtime(), "spec": {"template": {}}},
        ["is empty; add spec"],
    ),
    "CRD: at most one framework": (
        policy(torch={}),
        policy(torch={}, jax={}),
        ["jax: torch is written as well, and only one policy is allowed; keep one of them"],
    ),
    "CRD: flux runs processes": (
        policy(flux={"numProcPerNode": 1}),
        policy(flux={"numProcPerNode": 0}),
        ["Input should be greater than or equal to 1"],
    ),
    "CRD: the main container is no target": (
        targets({"jobName": "node", "containerNames": ["sidecar"]}),
        targets({"jobName": "node", "containerNames": ["sidecar", "node"]}),
        ['containerNames: "node" gets the variables anyway; leave it out'],
    ),
    "T3 steps have one replica": (
        runtime(job(replicas=1)),
        runtime(job(replicas=2)),
        [f"spec.{JOBS}.replicas: is 2, and the step trainer has 1; use numNodes for more pods"],
    ),
    "T3 the trainer's container": (
        runtime(job(container="main", step=None)),
        runtime(job(container="main")),
        [
            f"spec.{JOBS}.template.spec.template.spec.containers: "
            'the step trainer needs a container called "node"; name it "node"'
        ],
    ),
    "T3 an initializer's container": (
        runtime(job("a", "model-initializer", "model-initializer")),
        runtime(job("a", "dataset-initializer", "model-initializer")),
        [
            f"spec.{JOBS}.template.spec.template.spec.containers: the step model-initializer needs a container "
            'called "model-initializer"; name it "model-initializer"'
        ],
    ),
    "T3 can be switched off": (
        runtime(job(replicas=2), labels={"trainer.kubeflow.org/webhook-validation": "disabled"}),
        runtime(job(replicas=2), labels={"trainer.kubeflow.org/webhook-validation": "enabled"}),
        [f"spec.{JOBS}.replicas: is 2, and the step trainer has 1; use numNodes for more pods"],
    ),
    "T5 targets are jobs": (
        targets({"jobName": "node", "containerNames": ["warm"]}),
        targets({"jobName": "nodes", "containerNames": ["warm"]}),
        ['mlPolicy.torch.envInjection.targets[0].jobName: "nodes" is not a job of the template; did you mean "node"?'],
    ),
    "T5 targets are containers": (
        targets({"jobName": "node", "containerNames": ["sidecar"]}),
        targets({"jobName": "node", "containerNames": ["side-car"]}),
        [
            'mlPolicy.torch.envInjection.targets[0].containerNames[0]: "side-car" is not a container of "node"; '
            'did you mean "sidecar"?'
        ],
    ),
    "T11 Volcano's queue": (
        queue("", coscheduling={}),
        queue(""),
        [
            "template.metadata.annotations[scheduling.volcano.sh/queue-name]: is empty; "
            "name a queue, or leave the annotation out"
        ],
    ),
    "J1 of JobSet": (
        runtime(job("a", step=None), job(dependsOn=[{"name": "a", "status": "Ready"}])),
        runtime(job(dependsOn=[{"name": "a", "status": "Ready"}]), job("a", step=None)),
        ["replicatedJobs[0].dependsOn: the first job cannot wait for another; leave it out, or move the job down"],
    ),
    "J6 of JobSet, as far as it goes": (
        runtime(job("a", step=None)),
        runtime(job("A", step=None)),
        [
            'spec.replicatedJobs[0].name: "A" cannot be part of a Job\'s name: "t-A-0" is not a DNS-1035 label: '
            'lower-case letters, digits and "-", starting with a letter'
        ],
    ),
    "failure rules have names": (
        runtime(jobset={"failurePolicy": {"rules": [{"name": "a", **FAILURE}]}}),
        runtime(jobset={"failurePolicy": {"rules": [FAILURE]}}),
        ["spec.failurePolicy.rules[0].name: is missing, and only JobSets get a default; add a name"],
    ),
    "Jobs can be created": (
        runtime(job(spec={"podFailurePolicy": {"rules": []}}, pod={"restartPolicy": "Never"})),
        runtime(job(spec={"podFailurePolicy": {"rules": []}})),
        [
            "spec.replicatedJobs[0].template.spec.template.spec.restartPolicy: is OnFailure; podFailurePolicy works "
            'only with Never; write "Never"'
        ],
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_rule(name: str) -> None:
    kept, broken, said = PAIRS[name]
    assert refusals(kept) == []
    assert refusals(broken) == said


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (policy(torch={"numProcPerNode": 8}), "Extra inputs"),
        (policy(torch={"elasticPolicy": {}}), "Extra inputs"),
        (policy(mpi={"mpiImplementation": "IntelMPI"}), "OpenMPI"),
        (policy(mpi={"sshAuthMountPath": "a" * 4097}), "at most 4096"),
        (runtime(podGroupPolicy={"volcano": {"networkTopology": {"mode": "strict"}}}), "hard"),
        (runtime(template={"schedulerName": "volcano"}), "Extra inputs"),
        (targets({"jobName": "node", "containerNames": []}), "at least 1"),
        (targets({"jobName": "node", "containerNames": ["warm", "warm"]}), "listed twice"),
        (
            targets(*({"jobName": "node", "containerNames": ["warm"]} for _ in range(2))),
            'two items have jobName "node"',
        ),
        (targets({"jobName": "node", "containerNames": [f"a{n}" for n in range(9)]}), "at most 8"),
    ],
)
def test_bounds_of_the_schema(manifest: dict[str, Any], reason: str) -> None:
    """Removed fields of older releases are among what is refused."""
    with pytest.raises(ValidationError, match=reason):
        TrainingRuntime.parse(manifest)
