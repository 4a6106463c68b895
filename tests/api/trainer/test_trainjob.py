"""TrainJob v2.3.0: what the CRD and the webhook say about one TrainJob, each beside a neighbour that passes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.api.trainer import TrainJob


def trainjob(name: str = "run-1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"runtimeRef": {"name": "torch", "kind": "TrainingRuntime"}, **spec},
    }


def refusals(manifest: dict[str, Any]) -> list[str]:
    try:
        TrainJob.parse(manifest)
    except ValidationError as error:
        return [str(broken) for item in error.errors() for broken in item.get("ctx", {}).get("broken", [item["msg"]])]
    return []


def trainer(**fields: Any) -> dict[str, Any]:
    return trainjob(trainer=fields)


def patched(manager: str = "example.io/platform-team", **pod: Any) -> dict[str, Any]:
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]
    patch = {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    return trainjob(runtimePatches=[patch])


GPUS = {"nvidia.com/gpu": "8"}
ENV = [{"name": "A", "value": ""}]
GOOD: dict[str, dict[str, Any]] = {
    "smallest": trainjob(),
    "default kind": trainjob(runtimeRef={"name": "torch"}),
    "cluster runtime": trainjob(
        runtimeRef={"name": "torch", "apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime"}
    ),
    "trainer": trainer(
        image="registry.example/train:1",
        command=["torchrun"],
        args=["train.py", ""],
        env=[{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        numNodes=0,
        numProcPerNode=8,
        resourcesPerNode={"limits": GPUS, "requests": {"cpu": "96", **GPUS}, "claims": [{"name": "nic"}]},
    ),
    "initializers": trainjob(
        initializer={
            "dataset": {"storageUri": "hf://org/name", "env": ENV, "secretRef": {"name": "hf"}},
            "model": {"storageUri": ""},
        }
    ),
    "states": trainjob(suspend=True, managedBy="kueue.x-k8s.io/multikueue", activeDeadlineSeconds=1),
    "patches": {
        **patched(
            nodeSelector={"a/b": "c"},
            affinity={"nodeAffinity": {}},
            tolerations=[{"key": "gpu", "operator": "Exists"}],
            schedulingGates=[{"name": "kueue.x-k8s.io/topology"}],
            serviceAccountName="train",
            volumes=[{"name": "shm", "emptyDir": {"medium": "Memory"}}],
            initContainers=[{"name": "node", "env": ENV}],
            containers=[
                {"name": "node", "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}], "securityContext": {}},
                {"name": "sidecar", "env": ENV},
            ],
            imagePullSecrets=[{"name": "registry"}],
            securityContext={"fsGroup": 0},
            terminationGracePeriodSeconds=0,
        ),
        "status": {"conditions": []},
    },
    "written by the webhook": trainjob(
        runtimePatches=[
            {"manager": "kueue.x-k8s.io/manager", "time": "2026-09-01T12:00:00Z", "trainingRuntimeSpec": {}}
        ]
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_reads_back_as_written(name: str) -> None:
    read = TrainJob.parse(GOOD[name])
    assert read.manifest() == GOOD[name]
    assert TrainJob.parse(read.manifest()) == read


PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "CRD: the name is a DNS-1035 label": (
        trainjob("a1"),
        trainjob("1a"),
        [
            'metadata.name: "1a" is not a DNS-1035 label: lower-case letters, digits and "-", starting with a letter',
        ],
    ),
    "CRD: the name has at most 63 characters": (
        trainjob("a" * 63),
        trainjob("a" * 64),
        ["metadata.name: it has 64 characters, 1 more than the 63 allowed"],
    ),
    "CRD: who may manage": (
        trainjob(managedBy="trainer.kubeflow.org/trainjob-controller"),
        trainjob(managedBy="kueue.x-k8s.io/manager"),
        [
            'managedBy: "kueue.x-k8s.io/manager" does not manage TrainJobs; '
            "write one of trainer.kubeflow.org/trainjob-controller, kueue.x-k8s.io/multikueue"
        ],
    ),
    "CRD: storageUri": (
        trainjob(initializer={"model": {"storageUri": "s3://bucket/path"}}),
        trainjob(initializer={"model": {"storageUri": "org/name"}}),
        ['storageUri: "org/name" is not a URI; write a scheme in front, such as "hf://" or "s3://"'],
    ),
    "T2 group of the runtime": (
        trainjob(runtimeRef={"name": "a", "apiGroup": "trainer.kubeflow.org"}),
        trainjob(runtimeRef={"name": "a", "apiGroup": "kubeflow.org"}),
        ['apiGroup: "kubeflow.org" has no training runtimes; write "trainer.kubeflow.org", or leave it out'],
    ),
    "T2 kind of the runtime": (
        trainjob(runtimeRef={"name": "a", "kind": "TrainingRuntime"}),
        trainjob(runtimeRef={"name": "a", "kind": "ClusterTrainingRuntimes"}),
        ['kind: "ClusterTrainingRuntimes" is not a kind of training runtime; did you mean "ClusterTrainingRuntime"?'],
    ),
    "T9 managers are paths": (
        patched("a/b"),
        patched("platform-team"),
        [
            'runtimePatches[0].manager: "platform-team" is not a domain, "/" and a path; '
            'write a path such as "example.io/platform-team"'
        ],
    ),
    "T9 environment of the trainer": (
        patched(containers=[{"name": "node", "env": []}]),
        patched(containers=[{"name": "node", "env": ENV}]),
        ['containers[0].env: the environment of "node" cannot be patched; write it in spec.trainer'],
    ),
    "T9 environment of the initializers": (
        patched(containers=[{"name": "init", "env": ENV}]),
        patched(containers=[{"name": "dataset-initializer", "env": ENV}]),
        ['containers[0].env: the environment of "dataset-initializer" cannot be patched; write it in spec.initializer'],
    ),
    "one patch for each manager": (
        trainjob(runtimePatches=[{"manager": "a/b"}, {"manager": "a/c"}]),
        trainjob(runtimePatches=[{"manager": "a/b"}, {"manager": "a/b"}]),
        ['two items have manager "a/b"'],
    ),
    "a time": (
        trainjob(runtimePatches=[{"manager": "a/b", "time": "2026-12-31T23:59:59.5+02:00"}]),
        trainjob(runtimePatches=[{"manager": "a/b", "time": "2026-13-31T23:59:59Z"}]),
        ['"2026-13-31T23:59:59Z" is not a time such as "2026-09-01T12:00:00Z"'],
    ),
    "resources: what is written must fit together": (
        trainer(resourcesPerNode={"requests": GPUS}),
        trainer(resourcesPerNode={"requests": GPUS, "limits": {"nvidia.com/gpu": "4"}}),
        [
            "requests[nvidia.com/gpu]: 8 differs from the limit of 4, and nvidia.com/gpu cannot be overcommitted; "
            "write the same number, or remove the request"
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
        (trainjob(activeDeadlineSeconds=0), "greater than or equal to 1"),
        (trainjob(runtimeRef={}), "runtimeRef.name"),
        (trainjob(runtimeRef={"name": ""}), "at least 1 character"),
        (trainer(image="a" * 501), "at most 500"),
        (trainer(command="torchrun"), "valid list"),
        (trainer(args=["x"] * 129), "at most 128"),
        (trainer(args=["x" * 1_048_577]), "at most 1048576"),
        (trainer(numProcPerNode="auto"), "valid integer"),
        (trainer(env=[*ENV, *ENV]), 'two items have name "A"'),
        (patched(terminationGracePeriodSeconds=-1), "greater than or equal to 0"),
        (patched(image="x"), "Extra inputs"),
        (patched(containers=[{"name": "node", "resources": {}}]), "Extra inputs"),
        (trainjob(podTemplateOverrides=[]), "Extra inputs"),
        (trainjob(labels={}), "Extra inputs"),
    ],
)
def test_bounds_of_the_schema(manifest: dict[str, Any], reason: str) -> None:
    """Removed fields of older releases are among what is refused."""
    with pytest.raises(ValidationError, match=reason):
        TrainJob.parse(manifest)


def test_quantities_become_canonical() -> None:
    read = TrainJob.parse(trainer(resourcesPerNode={"limits": {"cpu": "12000m", "nvidia.com/gpu": 8}}))
    assert read.manifest()["spec"]["trainer"]["resourcesPerNode"] == {"limits": {"cpu": "12", "nvidia.com/gpu": "8"}}


def test_name_budget_needs_the_runtime() -> None:
    """48 characters for `node` up to 10 nodes, 33 beside a dataset initializer; the API server takes 63."""
    ten = TrainJob.parse(trainjob("a" * 48, trainer={"numNodes": 10}))
    assert list(ten.name_rules()) == []
    assert list(TrainJob.parse(trainjob("a" * 33)).name_rules(("dataset-initializer", "node"))) == []
    assert [
        str(broken) for broken in TrainJob.parse(trainjob("a" * 34)).name_rules(("dataset-initializer", "node"))
    ] == [
        f'metadata.name: its pod "{"a" * 34}-dataset-initializer-0-0-abcde" has 64 characters, '
        "1 more than the 63 allowed; shorten it"
    ]
    unsaid = TrainJob.parse(trainjob("a" * 48))
    assert list(unsaid.name_rules()) == []
    assert len(list(unsaid.name_rules(num_nodes=11))) == 1
