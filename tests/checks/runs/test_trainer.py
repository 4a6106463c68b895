"""TrainJobs and runtimes: what Trainer ignores, refuses or counts wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.runs.worlds import Manifest, codes, container, findings, run

COMMAND = ["torchrun", "train.py"]


def world(**fields: Any) -> tuple[Manifest, Manifest]:
    runtime, job = run("TrainJob", container(COMMAND, **fields))
    return runtime, job


def node(runtime: Manifest) -> Manifest:
    found: Manifest = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]
    return found


def test_a_good_pair_is_left_alone() -> None:
    assert findings(*world()) == []


@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
def test_a_runtime_without_its_label(kind: str) -> None:
    runtime, job = world()
    del node(runtime)["template"]["metadata"]
    if kind == "ClusterTrainingRuntime":
        del runtime["metadata"]["namespace"]
    runtime["kind"] = job["spec"]["runtimeRef"]["kind"] = kind
    assert codes(runtime, job) == ["trainer-ancestor-label"]
    assert codes(runtime) == ["trainer-ancestor-label"]


def test_the_label_on_the_pod_template() -> None:
    runtime, job = world()
    item = node(runtime)["template"]
    item["spec"]["template"]["metadata"] = item.pop("metadata")
    (found,) = findings(runtime, job)
    assert "the pod template" in found.message


def test_a_misspelt_step() -> None:
    runtime, job = world()
    node(runtime)["template"]["metadata"]["labels"] = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainers"}
    assert codes(runtime, job) == ["trainer-ancestor-label"]


def test_a_runtime_reference_of_the_default_kind() -> None:
    runtime, job = world()
    del job["spec"]["runtimeRef"]["kind"]
    (found,) = findings(runtime, job)
    assert (found.code, found.severity) == ("trainer-runtime-missing", "error")
    assert "kind: TrainingRuntime" in found.fix


def test_a_misspelt_runtime_and_one_of_another_namespace() -> None:
    runtime, job = world()
    runtime["metadata"]["name"] = job["spec"]["runtimeRef"]["name"] = "torch-h100"
    job["spec"]["runtimeRef"]["name"] = "torhc-h100"
    (found,) = findings(runtime, job)
    assert 'did you mean "torch-h100"?' in found.fix
    job["spec"]["runtimeRef"]["name"] = "torch-h100"
    runtime["metadata"]["namespace"] = "team-b"
    (found,) = findings(runtime, job)
    assert (found.code, found.severity) == ("trainer-runtime-missing", "error")


def test_a_reference_of_the_default_kind_to_a_runtime_of_another_namespace() -> None:
    runtime, job = world()
    del job["spec"]["runtimeRef"]["kind"]
    runtime["metadata"]["namespace"] = "team-b"
    (found,) = findings(runtime, job)
    assert (found.code, found.severity) == ("trainer-runtime-missing", "error")
    assert "namespace team-b" in found.message


def test_a_shipped_runtime_is_not_missing() -> None:
    _, job = world()
    job["spec"]["runtimeRef"] = {"name": "torch-distributed"}
    assert codes(job) == []


@pytest.mark.parametrize(
    ("policy", "name", "bad"),
    [
        ("torch", "PET_NPROC_PER_NODE", True),
        ("torch", "PET_MAX_RESTARTS", False),
        ("mpi", "OMPI_MCA_plm_rsh_args", True),
        ("mpi", "PET_NNODES", False),
        ("xgboost", "DMLC_NUM_WORKER", True),
    ],
)
def test_reserved_variables_by_policy(policy: str, name: str, bad: bool) -> None:
    runtime, job = world()
    runtime["spec"]["mlPolicy"] = {"numNodes": 1, policy: {}}
    job["spec"]["trainer"]["env"] = [{"name": name, "value": "1"}]
    assert ("trainer-reserved-variable" in codes(runtime, job)) is bad


def test_a_job_of_another_name_is_not_found_by_the_address() -> None:
    runtime, job = world()
    node(runtime)["name"] = "workers"
    assert codes(runtime, job) == ["trainer-address"]


@pytest.mark.parametrize("network", [{"subdomain": "net"}, {"enableDNSHostnames": False}])
def test_a_network_that_the_address_does_not_know(network: Manifest) -> None:
    runtime, job = world()
    runtime["spec"]["template"]["spec"]["network"] = network
    assert "trainer-address" in codes(runtime, job)


def test_numbers_that_a_runtime_without_policy_drops() -> None:
    runtime, job = world()
    del runtime["spec"]["mlPolicy"]
    assert "trainer-no-ml-policy" in codes(runtime, job)


def test_no_trainer_at_all() -> None:
    runtime, job = world()
    runtime["spec"]["mlPolicy"]["numNodes"] = 2
    del job["spec"]["trainer"]
    assert "trainer-without-trainer" in codes(runtime, job)


def test_no_nodes() -> None:
    runtime, job = world()
    job["spec"]["trainer"]["numNodes"] = 0
    assert "trainer-no-nodes" in codes(runtime, job)


@pytest.mark.parametrize(
    ("length", "nodes", "bad"), [(48, 10, False), (49, 10, True), (47, 100, False), (48, 100, True)]
)
def test_the_longest_name(length: int, nodes: int, bad: bool) -> None:
    runtime, job = world()
    job["metadata"]["name"] = "a" * length
    job["spec"]["trainer"]["numNodes"] = nodes
    assert codes(runtime, job) == (["trainer-name-too-long"] if bad else [])
    assert codes(job) == (["trainer-name-too-long"] if bad else [])


def test_processes_that_follow_the_cpus() -> None:
    runtime, job = world()
    del job["spec"]["trainer"]["numProcPerNode"]
    assert codes(runtime, job) == []
    job["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"memory": "256Gi"}, "requests": {"memory": "256Gi"}}
    (found,) = findings(runtime, job)
    assert (found.code, found.severity) == ("trainer-processes", "warning")
    job["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"cpu": "96"}, "requests": {"cpu": "96"}}
    (found,) = findings(runtime, job)
    assert (found.code, found.severity) == ("trainer-processes", "error")


def test_slices_do_not_count_as_gpus() -> None:
    amounts = {"nvidia.com/mig-1g.10gb": "4", "cpu": "16"}
    runtime, job = world(resources={"limits": amounts})
    del job["spec"]["trainer"]["numProcPerNode"]
    assert "trainer-processes" in codes(runtime, job)


def test_a_number_of_ones_own() -> None:
    runtime, job = world()
    job["spec"]["trainer"]["numProcPerNode"] = 4
    (found,) = findings(runtime, job)
    assert (found.code, found.severity) == ("torchrun-processes", "warning")


def test_flags_against_trainers_numbers() -> None:
    runtime, job = world()
    job["spec"]["trainer"] |= {"command": ["torchrun", "--nnodes=4", "train.py"]}
    assert codes(runtime, job) == ["torchrun-nodes"]


def test_a_variable_that_trainer_does_not_set() -> None:
    runtime, job = world()
    job["spec"]["trainer"] |= {"command": ["torchrun", "--nproc-per-node=$(PET_PET_NPROC_PER_NODE)", "train.py"]}
    assert codes(runtime, job) == ["rendezvous-variable-unknown"]
    job["spec"]["trainer"]["command"] = ["torchrun", "--nnodes=$(PET_NNODES)", "train.py"]
    assert codes(runtime, job) == []
    job["spec"]["trainer"]["env"] = [{"name": "NODES", "value": "$(PET_NNODES)"}]
    assert codes(runtime, job) == ["rendezvous-variable-order"]


def test_a_jobset_that_deletes_itself() -> None:
    runtime, job = world()
    runtime["spec"]["template"]["spec"]["ttlSecondsAfterFinished"] = 60
    assert codes(runtime, job) == ["trainer-runtime-ttl"]


def test_ports_that_trainer_overwrites() -> None:
    runtime, job = world(ports=[{"containerPort": 9090}])
    assert codes(runtime, job) == ["trainer-port"]
    runtime, job = world(ports=[{"containerPort": 9090, "name": "metrics"}])
    assert codes(runtime, job) == []


def test_data_without_an_initializer() -> None:
    runtime, job = world()
    job["spec"]["initializer"] = {"model": {"storageUri": "hf://org/model"}}
    assert codes(runtime, job) == ["trainer-initializer"]


def test_patches_of_what_is_not_there() -> None:
    runtime, job = world()
    inner = {"containers": [{"name": "trainer"}]}
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": inner}}}}]
    patch = {"manager": "example.com/a", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    job["spec"]["runtimePatches"] = [patch]
    assert codes(runtime, job) == ["trainer-patch-target"]
    inner["containers"][0]["name"] = "node"
    assert codes(runtime, job) == []


def test_requests_and_limits_after_the_merge() -> None:
    runtime, job = world()
    job["spec"]["trainer"] |= {"numProcPerNode": 4, "resourcesPerNode": {"limits": {"nvidia.com/gpu": "4"}}}
    assert "resources-extended-limit" in codes(runtime, job)
