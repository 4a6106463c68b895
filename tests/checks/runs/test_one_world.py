"""What all pods of one run must agree on: how many they are, their ranks, their image, who starts them."""

from __future__ import annotations

import copy

import pytest

from tests.checks.runs.worlds import Manifest, codes, container, findings, run, torchrun

FIRST = "sft-leader-0-0.sft"


def static(nodes: int, rank: str) -> list[str]:
    command = ["torchrun", f"--nnodes={nodes}", "--nproc-per-node=8", f"--node-rank={rank}"]
    return [*command, f"--master-addr={FIRST}", "--master-port=29500", "train.py"]


def leader_and_workers(rank: str) -> Manifest:
    """A JobSet of one leader, which is rank 0, and three workers."""
    (job_set,) = run("JobSet", container(static(4, "0")), pods=1)
    jobs = job_set["spec"]["replicatedJobs"]
    jobs.append(copy.deepcopy(jobs[0]) | {"name": "worker"})
    jobs[0]["name"] = "leader"
    jobs[1]["template"]["spec"] |= {"completions": 3, "parallelism": 3}
    jobs[1]["template"]["spec"]["template"]["spec"]["containers"] = [container(static(4, rank))]
    return job_set


def test_workers_that_begin_at_the_leaders_rank_repeat_it() -> None:
    (found,) = findings(leader_and_workers("$(JOB_COMPLETION_INDEX)"))
    assert found.code == "rendezvous-rank-repeated"
    assert "leader" in found.message


def test_workers_that_begin_one_above_the_leaders_rank_are_right() -> None:
    command = "exec torchrun --nnodes=4 --nproc-per-node=8 --node-rank=$((JOB_COMPLETION_INDEX + 1))"
    command += f" --master-addr={FIRST} --master-port=29500 train.py"
    job_set = leader_and_workers("0")
    workers = job_set["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    workers["containers"] = [container(["bash", "-c", command])]
    assert codes(job_set) == []


@pytest.mark.parametrize(("nodes", "bad"), [("4", False), ("2", True), ("8", True)])
def test_a_group_is_one_world_however_many_groups_there_are(nodes: str, bad: bool) -> None:
    (group,) = run("LeaderWorkerSet", container(torchrun("LeaderWorkerSet", nodes=nodes)), pods=4)
    group["spec"]["replicas"] = 2
    group["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["command"][5] = (
        "--rdzv-endpoint=$(LWS_LEADER_ADDRESS):29500"
    )
    assert codes(group) == (["torchrun-nodes"] if bad else [])


def test_a_subgroup_may_be_a_world() -> None:
    (group,) = run("LeaderWorkerSet", container(torchrun("LeaderWorkerSet", nodes="2")), pods=4)
    group["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] = {"subGroupSize": 2}
    assert "torchrun-nodes" not in codes(group)


def accelerate(address: str) -> list[str]:
    command = ["accelerate", "launch", "--num_machines=2", "--num_processes=16", f"--main_process_ip={address}"]
    return [*command, "--machine_rank=$(JOB_COMPLETION_INDEX)", "--main_process_port=29500", "train.py"]


def test_accelerate_meets_at_an_address_of_the_run() -> None:
    assert codes(*run("JobSet", container(accelerate("127.0.0.1")))) == ["rendezvous-address-local"]
    assert codes(*run("JobSet", container(accelerate("sft-node-0-0.sft")))) == []


@pytest.mark.parametrize(
    ("image", "bad"),
    [
        ("registry.example.com/llm/trainer:latest", True),
        ("registry.example.com:5000/llm/trainer", True),
        ("registry.example.com:5000/llm/trainer:1.4", False),
        ("registry.example.com/llm/trainer@sha256:0", False),
        ("registry.example.com/llm/trainer:$(TAG)", False),
        ("trainer", False),
    ],
)
def test_an_image_by_a_tag_that_moves(image: str, bad: bool) -> None:
    found = codes(*run("JobSet", container(torchrun("JobSet"), image=image)))
    assert ("torchrun-image-moves" in found) is bad


def test_one_pod_may_pull_latest() -> None:
    box = container(["torchrun", "--standalone", "--nproc-per-node=8", "train.py"], image="r.example.com/t:latest")
    assert codes(*run("JobSet", box, pods=1)) == []


@pytest.mark.parametrize("kind", ["JobSet", "Job"])
@pytest.mark.parametrize(
    ("image", "bad"),
    [("eval:latest", True), ("eval", True), ("r.example.com/eval", True), ("eval:2", False), ("$(IMAGE)", False)],
)
def test_one_pod_of_a_run_that_is_named_after_its_image_may_not(kind: str, image: str, bad: bool) -> None:
    box = container(["torchrun", "--standalone", "--nproc-per-node=8", "train.py"], image=image)
    made = run(kind, box, pods=1)
    made[-1]["metadata"]["labels"] = {"trainshed.dev/run": "eval"}
    assert codes(*made) == (["torchrun-image-moves"] if bad else [])


def test_a_trainjob_without_trainer_on_one_node_gets_one_process() -> None:
    runtime, job = run("TrainJob", container(["torchrun", "train.py"]), pods=1)
    assert codes(runtime, job) == []
    del job["spec"]["trainer"]
    (found,) = [item for item in findings(runtime, job) if item.code == "trainer-without-trainer"]
    assert "8 GPUs" in found.message


def test_a_trainjob_names_a_runtime_that_its_namespace_lacks() -> None:
    runtime, job = run("TrainJob", container(["torchrun", "train.py"]))
    job["spec"]["runtimeRef"]["name"] = "deepspeed"
    (found,) = [item for item in findings(runtime, job) if item.code == "trainer-runtime-missing"]
    assert found.severity == "error"


def test_an_mpi_runtime_needs_a_launcher() -> None:
    runtime, _ = run("TrainJob", container(["mpirun", "python", "train.py"]))
    runtime["spec"]["mlPolicy"] = {"numNodes": 2, "mpi": {"mpiImplementation": "OpenMPI", "numProcPerNode": 8}}
    assert "trainer-mpi-node" in codes(runtime)


@pytest.mark.parametrize(("policy", "bad"), [("TerminatingOrFailed", True), ("Failed", False), (None, True)])
def test_the_replacement_of_an_evicted_pod(policy: str | None, bad: bool) -> None:
    (job_set,) = run("JobSet", container(torchrun("JobSet")))
    job_set["spec"]["failurePolicy"] = {"maxRestarts": 3}
    spec = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]
    del spec["podReplacementPolicy"]
    if policy:
        spec["podReplacementPolicy"] = policy
    assert ("jobset-replacement-hangs" in codes(job_set)) is bad


@pytest.mark.parametrize(
    ("order", "command", "bad"),
    [
        ("LeaderReady", ["--nnodes", "2", "--dist-init-addr", "$(LWS_LEADER_ADDRESS):20000"], True),
        ("LeaderCreated", ["--nnodes", "2", "--dist-init-addr", "$(LWS_LEADER_ADDRESS):20000"], False),
        ("LeaderReady", ["--tp", "8"], False),
    ],
)
def test_a_server_of_several_nodes_is_ready_when_its_workers_have_joined(
    order: str, command: list[str], bad: bool
) -> None:
    probe = {"httpGet": {"path": "/health", "port": 30000}}
    box = container(["python", "-m", "sglang.launch_server", *command], readinessProbe=probe)
    (group,) = run("LeaderWorkerSet", box)
    group["spec"]["startupPolicy"] = order
    assert ("lws-leader-waits-for-workers" in codes(group)) is bad


def two_jobs(second: str) -> Manifest:
    """A JobSet whose two jobs of two pods each train for themselves, where the second meets at its own address."""
    (job_set,) = run("JobSet", container(torchrun("JobSet", endpoint="sft-a-0-0.sft:29500")))
    jobs = job_set["spec"]["replicatedJobs"]
    jobs.append(copy.deepcopy(jobs[0]) | {"name": "b"})
    jobs[0]["name"] = "a"
    boxes = [container(torchrun("JobSet", endpoint=second))]
    jobs[1]["template"]["spec"]["template"]["spec"]["containers"] = boxes
    return job_set


def test_jobs_that_meet_at_addresses_of_their_own_are_worlds_of_their_own() -> None:
    assert codes(two_jobs("sft-b-0-0.sft:29500")) == []
    assert codes(two_jobs("sft-a-0-0.sft:29500")) == ["torchrun-nodes"]


@pytest.mark.parametrize(("address", "bad"), [("localhost", True), ("sft-node-0-0.sft", False)])
def test_deepspeed_without_ssh_meets_at_an_address_of_the_run(address: str, bad: bool) -> None:
    command = ["deepspeed", "--no_ssh", "--num_nodes=2", "--num_gpus=8", "--node_rank=$(JOB_COMPLETION_INDEX)"]
    found = codes(*run("JobSet", container([*command, f"--master_addr={address}", "--master_port=29500", "train.py"])))
    assert ("rendezvous-address-local" in found) is bad
