"""The address of a run is that of rank 0, and the launcher's options agree with each other and with the GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.runs.worlds import FIRST, Manifest, codes, container, findings, run, service, torchrun

GANGS = ("Job", "JobSet", "LeaderWorkerSet", "VolcanoJob", "StatefulSet", "AppWrapper")
POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
RANK = "--node-rank=$(JOB_COMPLETION_INDEX)"


def of(kind: str, command: list[str], env: list[Manifest] | None = None, **fields: Any) -> list[str]:
    return codes(*run(kind, container(command, env, **fields)))


@pytest.mark.parametrize("kind", GANGS)
def test_a_pods_own_ip_is_no_place_to_meet(kind: str) -> None:
    assert "rendezvous-address-own" in of(kind, torchrun(kind, endpoint="$(POD_IP):29500"), [POD_IP])


@pytest.mark.parametrize("kind", ["JobSet", "LeaderWorkerSet", "AppWrapper"])
def test_a_headless_service_of_all_pods_is_no_place_to_meet(kind: str) -> None:
    assert "rendezvous-address-any" in of(kind, torchrun(kind, endpoint="sft:29500"))


def test_a_service_of_one_pod_is_a_place_to_meet() -> None:
    chosen = {"batch.kubernetes.io/job-name": "sft", "batch.kubernetes.io/job-completion-index": "0"}
    command = ["torchrun", "--nnodes=2", "--nproc-per-node=8", RANK, "--master-addr=first", "train.py"]
    first = service("first", chosen)
    assert codes(*run("Job", container(command)), first) == []
    every = service("first", {"batch.kubernetes.io/job-name": "sft"})
    assert codes(*run("Job", container(command)), every) == ["rendezvous-address-any"]


@pytest.mark.parametrize("kind", ["Job", "JobSet"])
def test_static_meets_at_index_0_and_c10d_at_any_pod(kind: str) -> None:
    other = FIRST[kind].replace("0.sft", "1.sft")
    static = ["torchrun", "--nnodes=2", "--nproc-per-node=8", RANK, f"--master-addr={other}", "train.py"]
    assert of(kind, static) == ["rendezvous-address-not-first"]
    assert of(kind, torchrun(kind, endpoint=f"{other}:29500")) == []


@pytest.mark.parametrize("kind", ["Job", "JobSet", "LeaderWorkerSet", "AppWrapper"])
@pytest.mark.parametrize("end", [".team-b.svc.cluster.local", ".team-b.svc", ".team-b"])
def test_another_namespace_is_another_run(kind: str, end: str) -> None:
    assert of(kind, torchrun(kind, endpoint=f"{FIRST[kind]}{end}:29500")) == ["rendezvous-address-unresolved"]
    assert of(kind, torchrun(kind, endpoint=f"{FIRST[kind]}{end.replace('team-b', 'team-a')}:29500")) == []


@pytest.mark.parametrize("kind", [*GANGS, "TrainJob"])
def test_standing_alone_with_several_nodes_is_a_contradiction(kind: str) -> None:
    assert "torchrun-standalone" in of(kind, ["torchrun", "--standalone", "--nnodes=2", "--nproc-per-node=8", "a.py"])


def test_pods_that_each_stand_alone_are_fine() -> None:
    assert of("Job", ["torchrun", "--standalone", "--nproc-per-node=8", "a.py"]) == []


@pytest.mark.parametrize("backend", ["nccl", "gloo", "c10", "C10D"])
def test_a_backend_of_another_kind_is_named(backend: str) -> None:
    command = [word.replace("c10d", backend) for word in torchrun("JobSet")]
    assert "torchrun-backend" in of("JobSet", command)


def test_a_range_needs_a_dynamic_backend() -> None:
    command = ["torchrun", "--nnodes=1:2", "--nproc-per-node=8", RANK, "--master-addr=sft-node-0-0.sft", "a.py"]
    assert of("JobSet", command) == ["torchrun-backend"]
    assert of("JobSet", torchrun("JobSet", nodes="1:2")) == []


@pytest.mark.parametrize(("total", "severity"), [("8", "warning"), ("32", "error"), ("16", None)])
def test_accelerate_counts_the_processes_of_all_machines(total: str, severity: str | None) -> None:
    command = ["accelerate", "launch", "--num_machines=2", f"--num_processes={total}"]
    command += ["--machine_rank=$(JOB_COMPLETION_INDEX)", "--main_process_ip=sft-node-0-0.sft", "a.py"]
    made = findings(*run("JobSet", container(command)))
    assert [(item.code, item.severity) for item in made] == (
        [("torchrun-accelerate-processes", severity)] if severity else []
    )


def test_ranks_from_the_index_of_the_one_job_are_all_0() -> None:
    path = "metadata.labels['jobset.sigs.k8s.io/job-index']"
    env = [{"name": "PET_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": path}}}]
    command = ["torchrun", "--nnodes=2", "--nproc-per-node=8", "--master-addr=sft-node-0-0.sft", "a.py"]
    (item,) = findings(*run("JobSet", container(command, env)))
    assert item.code == "rendezvous-rank-repeated"
    assert path in item.message


def test_two_jobs_may_make_one_world() -> None:
    def part(name: str, pods: int, nodes: str) -> Manifest:
        (_, job) = run("Job", container(torchrun("Job", nodes=nodes, endpoint="first-0.sft:29500")), pods=pods)
        job["metadata"]["name"] = name
        job["spec"]["template"]["metadata"] = {"labels": {"run": "sft"}}
        return job

    shared = service("sft", {"run": "sft"})
    assert codes(part("first", 1, "3"), part("others", 2, "3"), shared) == []
    assert codes(part("first", 1, "4"), part("others", 2, "4"), shared) == ["torchrun-nodes"]
