"""How torchrun learns who it is, exactly, for each way to run it (workload reference, section 4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.training.given import FORMS, environment, manifests, outermost, pod_templates, trained

INDEX = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
GIVEN: dict[str, Any] = {"nodes": 4, "args": ["--config", "124m.toml"]}
SCRIPT = ["/opt/train.py", "--config", "124m.toml"]


@pytest.mark.parametrize("form", FORMS)
def test_torchrun_is_pid_1(form: str) -> None:
    """A shell in between would not pass SIGTERM on, and nothing would be saved."""
    for holder in trained(form, manifests(form)):
        assert holder["command"] == ["torchrun"]


@pytest.mark.parametrize(("form", "host"), [("JobSet", "{0}-node-0-0.{0}"), ("IndexedJob", "{0}-0.{0}")])
def test_jobset_and_indexed_job_say_all_five(form: str, host: str) -> None:
    made = manifests(form, **GIVEN, port=29400)
    name = made[-1]["metadata"]["name"]
    (holder,) = trained(form, made)
    assert holder["args"] == SCRIPT
    assert environment(holder) == {
        "PET_NNODES": "4",
        "PET_NPROC_PER_NODE": "8",
        "PET_NODE_RANK": INDEX,
        "PET_MASTER_ADDR": host.format(name),
        "PET_MASTER_PORT": "29400",
        "PET_SHUTDOWN_TIMEOUT": "105",
        "TRAINSHED_RUN": name,
        "TRAINSHED_GRACE_PERIOD": "120",
        "HOME": "/tmp",
    }


def test_the_jobset_has_the_names_that_the_master_address_assumes() -> None:
    spec = outermost("JobSet", **GIVEN)["spec"]
    (job,) = spec["replicatedJobs"]
    assert spec["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    assert (job["name"], job["replicas"]) == ("node", 1)
    assert job["template"]["spec"]["completionMode"] == "Indexed"
    assert job["template"]["spec"]["parallelism"] == job["template"]["spec"]["completions"] == 4


def test_the_indexed_job_resolves_below_its_service() -> None:
    service, job = manifests("IndexedJob", **GIVEN)
    name = job["metadata"]["name"]
    assert service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"] == name
    assert service["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"batch.kubernetes.io/job-name": name},
    }
    spec = job["spec"]
    assert (spec["completionMode"], spec["parallelism"], spec["completions"]) == ("Indexed", 4, 4)


def test_trainer_injects_the_five_and_finds_what_it_looks_for() -> None:
    runtime, run = manifests("TrainJob", **GIVEN)
    trainer = run["spec"]["trainer"]
    # They are reserved: Trainer's webhook refuses them in the TrainJob.
    assert not [name for name in environment(trainer) if name.startswith("PET_") and name != "PET_SHUTDOWN_TIMEOUT"]
    assert (trainer["numNodes"], trainer["numProcPerNode"], trainer["args"]) == (4, 8, SCRIPT)
    assert run["spec"]["runtimeRef"] == {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "TrainingRuntime",
        "name": runtime["metadata"]["name"],
    }
    assert runtime["spec"]["mlPolicy"] == {"numNodes": 4, "torch": {}}
    template = runtime["spec"]["template"]["spec"]
    (job,) = template["replicatedJobs"]
    assert template["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    assert job["name"] == "node"
    # The label stands on the Job template; on the pod's it would change nothing, silently.
    assert job["template"]["metadata"]["labels"] == {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    assert "labels" not in job["template"]["spec"]["template"].get("metadata", {})
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "node"
    assert not {"command", "args", "env", "resources", "ports"} & set(container)


def test_volcano_counts_pods_and_torchrun_processes() -> None:
    made = manifests("VolcanoJob", **GIVEN, port=23456)
    for holder in trained("VolcanoJob", made):
        assert holder["args"] == [
            "--nnodes=$(WORLD_SIZE)",
            "--nproc-per-node=8",
            "--node-rank=$(RANK)",
            "--master-addr=$(MASTER_ADDR)",
            "--master-port=$(MASTER_PORT)",
            *SCRIPT,
        ]
        assert not {"WORLD_SIZE", "RANK", "MASTER_ADDR", "PET_NNODES"} & set(environment(holder))
    spec = made[-1]["spec"]
    assert spec["plugins"] == {
        "pytorch": ["--master=master", "--worker=worker", "--port=23456"],
        "svc": ["--publish-not-ready-addresses=true"],
    }
    assert [(task["name"], task["replicas"], task["minAvailable"]) for task in spec["tasks"]] == [
        ("master", 1, 1),
        ("worker", 3, 3),
    ]
    assert spec["minAvailable"] == 4
    master, worker = pod_templates("VolcanoJob", made)
    assert master == worker


def test_a_volcano_job_of_one_node_has_no_worker() -> None:
    spec = outermost("VolcanoJob", nodes=1)["spec"]
    assert [task["name"] for task in spec["tasks"]] == ["master"]
    assert spec["minAvailable"] == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("given", "processes"), [({"gpus_per_node": 4}, 4), ({"gpus_per_node": 0}, 1)])
def test_a_process_for_each_gpu(form: str, given: dict[str, Any], processes: int) -> None:
    for holder in trained(form, manifests(form, **given)):
        told = {
            "TrainJob": holder.get("numProcPerNode"),
            "VolcanoJob": next((arg for arg in holder["args"] if arg.startswith("--nproc")), None),
        }.get(form, environment(holder).get("PET_NPROC_PER_NODE"))
        assert str(told).removeprefix("--nproc-per-node=") == str(processes)


@pytest.mark.parametrize("form", ["JobSet", "TrainJob"])
def test_the_gang_restarts_whole(form: str) -> None:
    made = manifests(form, retries=5)
    jobset = made[0]["spec"]["template"]["spec"] if form == "TrainJob" else made[0]["spec"]
    assert jobset["failurePolicy"] == {
        "maxRestarts": 5,
        "restartStrategy": "BlockingRecreate",
        "rules": [
            {
                "name": "disruption",
                "action": "RestartJobSetAndIgnoreMaxRestarts",
                "onJobFailureReasons": ["PodFailurePolicy"],
            }
        ],
    }
    job = jobset["replicatedJobs"][0]["template"]["spec"]
    assert (job["backoffLimit"], job["podReplacementPolicy"]) == (0, "Failed")
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    assert job["podFailurePolicy"]["rules"] == [{"action": "FailJob", "onPodConditions": disrupted}]


def test_a_jobset_past_its_deadline_does_not_start_again() -> None:
    spec = outermost("JobSet", deadline=3600)["spec"]
    assert spec["replicatedJobs"][0]["template"]["spec"]["activeDeadlineSeconds"] == 3600
    assert spec["failurePolicy"]["rules"][-1] == {
        "name": "deadline",
        "action": "FailJobSet",
        "onJobFailureReasons": ["DeadlineExceeded"],
    }


def test_the_deadline_of_the_other_forms() -> None:
    assert outermost("IndexedJob", deadline=3600)["spec"]["activeDeadlineSeconds"] == 3600
    assert outermost("TrainJob", deadline=3600)["spec"]["activeDeadlineSeconds"] == 3600


def test_an_indexed_job_may_lose_every_pod_once_a_retry() -> None:
    spec = outermost("IndexedJob", nodes=4, retries=2)["spec"]
    assert (spec["backoffLimit"], spec["podReplacementPolicy"]) == (8, "Failed")
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    assert spec["podFailurePolicy"]["rules"] == [{"action": "Ignore", "onPodConditions": disrupted}]
    assert "backoffLimitPerIndex" not in spec


def test_volcano_counts_a_restart_before_it_judges() -> None:
    """`retryCount >= maxRetry` fails the job, after the count was raised; 0 would mean 3."""
    spec = outermost("VolcanoJob", retries=0)["spec"]
    assert (spec["maxRetry"], [task["maxRetry"] for task in spec["tasks"]]) == (1, [1, 1])
    assert outermost("VolcanoJob", retries=3)["spec"]["maxRetry"] == 4
    assert spec["policies"] == [
        {"event": "PodEvicted", "action": "RestartJob"},
        {"event": "PodFailed", "action": "RestartJob"},
    ]
    assert spec["tasks"][0]["policies"] == [{"event": "TaskCompleted", "action": "CompleteJob"}]
    assert (spec["schedulerName"], spec["tasks"][0]["template"]["spec"]["schedulerName"]) == ("volcano", "volcano")
