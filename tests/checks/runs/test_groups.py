"""JobSets with several jobs, LeaderWorkerSets, Volcano Jobs with tasks, plain Jobs: ranks, order, names."""

from __future__ import annotations

import copy

import pytest

from tests.checks.runs.worlds import Manifest, codes, container, findings, run, torchrun

INDEX = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}


def static(host: str, nodes: str = "2") -> list[Manifest]:
    """torchrun's static rendezvous by variables."""
    return [
        {"name": "PET_NNODES", "value": nodes},
        {"name": "PET_NPROC_PER_NODE", "value": "8"},
        {"name": "PET_NODE_RANK", "valueFrom": INDEX},
        {"name": "PET_MASTER_ADDR", "value": host},
        {"name": "PET_MASTER_PORT", "value": "29500"},
    ]


@pytest.mark.parametrize(("kind", "host"), [("JobSet", "sft-node-0-0.sft"), ("Job", "sft-0.sft")])
def test_the_static_rendezvous_by_variables(kind: str, host: str) -> None:
    assert codes(*run(kind, container(["torchrun", "train.py"], static(host)))) == []


def test_a_leaderworkerset_by_its_own_variables() -> None:
    env = [
        {"name": "PET_NNODES", "value": "$(LWS_GROUP_SIZE)"},
        {"name": "PET_NODE_RANK", "value": "$(LWS_WORKER_INDEX)"},
        {"name": "PET_MASTER_ADDR", "value": "$(LWS_LEADER_ADDRESS)"},
        {"name": "PET_NPROC_PER_NODE", "value": "8"},
    ]
    assert codes(*run("LeaderWorkerSet", container(["torchrun", "serve.py"], env))) == []


def test_volcanos_pytorch_plugin() -> None:
    command = ["torchrun", "--nnodes=$(WORLD_SIZE)", "--node_rank=$(RANK)", "--nproc_per_node=8"]
    command += ["--master_addr=$(MASTER_ADDR)", "--master_port=$(MASTER_PORT)", "train.py"]
    (volcano,) = run("VolcanoJob", container(command), pods=1)
    tasks = volcano["spec"]["tasks"]
    tasks[0]["name"] = "master"
    tasks.append(copy.deepcopy(tasks[0]) | {"name": "worker", "replicas": 3})
    volcano["spec"]["plugins"] = {"pytorch": ["--master=master", "--worker=worker", "--port=29500"]}
    assert codes(volcano) == []
    tasks[1]["template"]["spec"]["containers"][0]["command"][1] = "--nnodes=8"
    assert codes(volcano) == ["torchrun-nodes"]


def test_task_indexes_begin_at_0_in_each_task() -> None:
    command = ["torchrun", "--nnodes=4", "--nproc-per-node=8", "--master-addr=sft-master-0.sft"]
    command += ["--node-rank=$(VC_TASK_INDEX)", "train.py"]
    (volcano,) = run("VolcanoJob", container(command), pods=1)
    tasks = volcano["spec"]["tasks"]
    tasks[0]["name"] = "master"
    tasks.append(copy.deepcopy(tasks[0]) | {"name": "worker", "replicas": 3})
    assert codes(volcano) == ["rendezvous-rank-repeated"]


def test_completion_indexes_begin_at_0_in_each_job() -> None:
    (jobset,) = run("JobSet", container(["torchrun", "train.py"], static("sft-node-0-0.sft", "4")))
    jobset["spec"]["replicatedJobs"][0]["replicas"] = 2
    assert codes(jobset) == ["rendezvous-rank-repeated"]


def test_each_replica_may_be_a_world_of_its_own() -> None:
    command = torchrun("JobSet", endpoint="$(MASTER):29500")
    env = [{"name": "MASTER", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['example.com/master']"}}}]
    (jobset,) = run("JobSet", container(command, env))
    jobset["spec"]["replicatedJobs"][0]["replicas"] = 3
    assert codes(jobset) == []


def test_ranks_from_indexes_that_a_job_does_not_have() -> None:
    service, job = run("Job", container(["torchrun", "train.py"], static("sft-0.sft")))
    del job["spec"]["completionMode"]
    assert "rendezvous-rank-without-index" in codes(service, job)


def test_completions_are_the_pods_of_the_world() -> None:
    service, job = run("Job", container(torchrun("Job")))
    job["spec"]["completions"] = 4
    assert codes(service, job) == ["job-completions"]


def test_world_size_of_a_plain_program() -> None:
    env = [{"name": "MASTER_ADDR", "value": "sft-node-0-0.sft"}, {"name": "WORLD_SIZE", "value": "2"}]
    (jobset,) = run("JobSet", container(["python", "train.py"], env))
    assert codes(jobset) == []
    for size, bad in (("16", False), ("5", True)):
        env[1]["value"] = size
        assert codes(*run("JobSet", container(["python", "train.py"], env))) == (["torchrun-world-size"] if bad else [])


def test_exit_codes_that_torchrun_does_not_pass_on() -> None:
    service, job = run("Job", container(torchrun("Job")))
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    job["spec"]["podFailurePolicy"] = {"rules": [rule]}
    assert codes(service, job) == ["torchrun-exit-code-lost"]
    rule["onExitCodes"] = {"operator": "In", "values": [1, 42]}
    assert codes(service, job) == []
    (volcano,) = run("VolcanoJob", container(torchrun("VolcanoJob")))
    volcano["spec"]["policies"] = [{"exitCode": 42, "action": "RestartJob"}]
    assert codes(volcano) == ["torchrun-exit-code-lost"]


def test_two_jobsets_with_one_subdomain() -> None:
    (first,) = run("JobSet", container(torchrun("JobSet", endpoint="sft-node-0-0.net:29500")))
    first["spec"]["network"] = {"subdomain": "net"}
    second = copy.deepcopy(first)
    second["metadata"]["name"] = "dpo"
    words = second["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["command"]
    words[5] = "--rdzv-endpoint=dpo-node-0-0.net:29500"
    (found,) = findings(first, second)
    assert found.code == "jobset-subdomain-shared"
    second["metadata"]["namespace"] = "team-b"
    assert codes(first, second) == []


def test_waiting_for_the_end_of_a_server() -> None:
    (jobset,) = run("JobSet", container(["/usr/sbin/sshd", "-De"]))
    launcher = copy.deepcopy(jobset["spec"]["replicatedJobs"][0]) | {"name": "launcher"}
    launcher["dependsOn"] = [{"name": "node", "status": "Complete"}]
    launcher["template"]["spec"]["template"]["spec"]["containers"][0]["command"] = ["mpirun", "a"]
    jobset["spec"]["replicatedJobs"].append(launcher)
    assert codes(jobset) == ["jobset-waits-for-server"]
    launcher["dependsOn"][0]["status"] = "Ready"
    assert codes(jobset) == []


@pytest.mark.parametrize(("length", "groups", "bad"), [(50, 1, False), (51, 1, True), (49, 11, False), (50, 11, True)])
def test_the_longest_leaderworkerset(length: int, groups: int, bad: bool) -> None:
    (lws,) = run("LeaderWorkerSet", container(["python", "serve.py"]))
    lws["metadata"]["name"] = "a" * length
    lws["spec"]["replicas"] = groups
    assert codes(lws) == (["lws-name-too-long"] if bad else [])


@pytest.mark.parametrize(
    ("size", "part", "kind", "bad"),
    [
        (8, 4, "", False),
        (9, 4, "", False),
        (8, 3, "", True),
        (8, 4, "LeaderExcluded", True),
        (9, 4, "LeaderExcluded", False),
    ],
)
def test_subgroups_divide_the_group(size: int, part: int, kind: str, bad: bool) -> None:
    (lws,) = run("LeaderWorkerSet", container(["python", "serve.py"]), pods=size)
    policy: Manifest = {"subGroupSize": part} | ({"subGroupPolicyType": kind} if kind else {})
    lws["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] = policy
    assert codes(lws) == (["lws-sizes"] if bad else [])


def test_a_script_from_a_configmap_is_followed() -> None:
    script = (
        "#!/bin/bash\nset -euo pipefail\nexec torchrun --nnodes=4 --rdzv-backend=c10d --rdzv-endpoint=localhost a.py\n"
    )
    metadata = {"name": "launcher", "namespace": "team-a"}
    mounted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"run.sh": script}}
    box = container(["/scripts/run.sh"])
    box["volumeMounts"].append({"name": "scripts", "mountPath": "/scripts"})
    volumes = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "scripts", "configMap": {"name": "launcher", "defaultMode": 493}},
    ]
    found = codes(mounted, *run("JobSet", box, volumes=volumes))
    assert found == ["rendezvous-address-local", "torchrun-nodes", "torchrun-processes"]


def test_variables_from_a_configmap_are_followed() -> None:
    metadata = {"name": "world", "namespace": "team-a"}
    world = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"PET_NNODES": "4"}}
    box = container(torchrun("JobSet")[:1] + torchrun("JobSet")[2:], envFrom=[{"configMapRef": {"name": "world"}}])
    objects = run("JobSet", box)
    assert codes(world, *objects) == ["torchrun-nodes"]
    assert codes(*objects) == []
