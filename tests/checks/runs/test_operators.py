"""Jobs of the training operators, of the MPI operator and of KubeRay: what is refused, and what idles."""

from __future__ import annotations

import io
from typing import Any

import pytest
import yaml

from tests.checks.runs.worlds import NAMESPACE, Manifest
from trainshed.checks import all_rules
from trainshed.checks.rule import RULES
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import read


def found(*objects: Manifest) -> list[tuple[str, str]]:
    all_rules.load()
    fleet = Fleet(read(["-"], io.BytesIO(yaml.safe_dump_all(objects, sort_keys=False).encode())).documents)
    rules = [rule for code, rule in RULES.items() if code.startswith(("kubeflow-", "ray-"))]
    return sorted((rule.code, issue.severity or rule.severity) for rule in rules for issue in rule.function(fleet))


def made(api_version: str, kind: str, **spec: Any) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "run", "namespace": NAMESPACE}, "spec": spec}


def replica(count: int = 1, name: str = "pytorch", gpus: int = 0, command: list[str] | None = None) -> Manifest:
    box: Manifest = {"name": name, "image": "trainer"}
    if gpus:
        box["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    if command:
        box["command"] = command
    return {"replicas": count, "template": {"spec": {"containers": [box]}}}


def pytorch(**replicas: Manifest) -> Manifest:
    return made("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs=replicas)


def mpi(words: list[str], slots: Any = 8, workers: int = 2, **spec: Any) -> Manifest:
    launcher = replica(name="launcher", command=["mpirun", *words, "python", "train.py"])
    both = {"Launcher": launcher, "Worker": replica(workers, "worker", 8)}
    return made("kubeflow.org/v2beta1", "MPIJob", slotsPerWorker=slots, mpiReplicaSpecs=both, **spec)


def test_right_jobs_are_left_alone() -> None:
    assert found(pytorch(Master=replica(), Worker=replica(3))) == []
    assert found(pytorch(worker=replica(3))) == []
    assert found(mpi(["-np", "16"]), mpi([]), mpi(["-N", "4", "-np", "8"])) == []
    assert found(mpi(["-np", "24"], runLauncherAsWorker=True)) == []


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (pytorch(Master=replica(2)), ("kubeflow-replicas", "error")),
        (pytorch(Workers=replica(2)), ("kubeflow-replicas", "error")),
        (pytorch(Worker=replica(2, "trainer")), ("kubeflow-container-name", "error")),
        (mpi(["-np", "32"]), ("kubeflow-mpi-slots", "error")),
        (mpi(["-np", "8"]), ("kubeflow-mpi-slots", "warning")),
        (mpi([], slots=1), ("kubeflow-mpi-slots", "warning")),
        (mpi([], slots=16), ("kubeflow-mpi-slots", "error")),
        (mpi([], mpiImplementation="openmpi"), ("kubeflow-field-type", "error")),
        (mpi([], runPolicy={"cleanPodPolicy": "running"}), ("kubeflow-field-type", "error")),
    ],
)
def test_a_wrong_job_has_one_finding(job: Manifest, expected: tuple[str, str]) -> None:
    assert found(job) == [expected]


def test_an_mpi_job_has_a_launcher() -> None:
    job = mpi([])
    del job["spec"]["mpiReplicaSpecs"]["Launcher"]
    assert found(job) == [("kubeflow-replicas", "error")]


def cluster(**group: Any) -> Manifest:
    template = {"spec": {"containers": [{"name": "ray", "image": "ray"}]}}
    head = {"rayStartParams": {"num-cpus": "0"}, "template": template}
    return {"headGroupSpec": head, "workerGroupSpecs": [{"groupName": "gpu", "template": template, **group}]}


def ray(**spec: Any) -> Manifest:
    given = {"entrypoint": "python a.py", "rayClusterSpec": cluster(), **spec}
    return made("ray.io/v1", "RayJob", **{key: value for key, value in given.items() if value is not None})


def test_right_ray_jobs_are_left_alone() -> None:
    assert found(ray(), ray(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=60)) == []
    assert found(ray(rayClusterSpec=None, clusterSelector={"ray.io/cluster": "a"})) == []
    assert found(ray(entrypoint=None, submissionMode="InteractiveMode")) == []
    assert found(made("ray.io/v1", "RayCluster", **cluster(replicas=1, minReplicas=0, maxReplicas=4))) == []


@pytest.mark.parametrize(
    ("job", "code"),
    [
        (ray(ttlSecondsAfterFinished=60), "ray-job-invalid"),
        (ray(clusterSelector={"ray.io/cluster": "a"}), "ray-job-invalid"),
        (ray(rayClusterSpec=None), "ray-job-invalid"),
        (ray(submissionMode="k8sJobMode"), "ray-job-invalid"),
        (ray(entrypoint=None), "ray-job-invalid"),
        (ray(rayClusterSpec=cluster(minReplicas=3, maxReplicas=2)), "ray-groups"),
        (ray(rayClusterSpec=cluster(rayStartParams={"num-gpus": 8})), "ray-groups"),
        (made("ray.io/v1", "RayCluster", **cluster(replicas=-1)), "ray-groups"),
    ],
)
def test_a_wrong_ray_job_has_one_finding(job: Manifest, code: str) -> None:
    assert found(job) == [(code, "error")]
