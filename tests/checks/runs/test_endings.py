"""Containers of Jobs that never end, models spread over the pods of a group, and chips that are no GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.runs.worlds import Manifest, codes, findings

NODE = {"name": "node", "image": "trainer", "command": ["python", "train.py"]}


def job(*containers: Manifest, **spec: Any) -> Manifest:
    pod = {"restartPolicy": "Never", "containers": list(containers), **spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sft", "namespace": "team-a"},
        "spec": {"template": {"spec": pod}},
    }


def shell(script: str) -> Manifest:
    return {"name": "log", "image": "busybox:1.36", "command": ["sh", "-c", script]}


@pytest.mark.parametrize("script", ["tail -F /logs/x", "set -e; exec tail -n+1 -f /logs/x\n", "sleep 5 && tail -f /a"])
def test_a_container_that_follows_a_file_for_ever(script: str) -> None:
    assert codes(job(NODE, shell(script))) == ["job-sidecar-never-ends"]


@pytest.mark.parametrize("script", ["tail -n 9 /logs/x", "tail -F /logs/x & wait", "tail --pid=1 -f /a", "cat /a"])
def test_a_container_that_ends_is_left_alone(script: str) -> None:
    assert codes(job(NODE, shell(script))) == []


def test_a_proxy_that_the_work_ends_is_left_alone() -> None:
    proxy = {"name": "proxy", "image": "cloud-sql-proxy:2", "args": ["--quitquitquit", "p:r:i"]}
    assert codes(job(NODE, proxy)) == []
    del proxy["args"]
    assert codes(job(NODE, proxy)) == ["job-sidecar-never-ends"]
    assert codes(job(NODE, proxy, shareProcessNamespace=True)) == []


def test_a_job_of_one_server_is_left_alone() -> None:
    assert codes(job({"name": "proxy", "image": "cloud-sql-proxy:2"})) == []


def test_tpu_chips_need_no_shared_memory() -> None:
    chips = {**NODE, "resources": {"limits": {"google.com/tpu": "4"}}}
    cards = {**NODE, "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    assert codes(job(chips)) == []
    assert codes(job(cards)) == ["resources-shm-missing"]


def group(*options: str) -> Manifest:
    def template(*command: str) -> Manifest:
        mount = {"name": "shm", "mountPath": "/dev/shm"}
        resources = {"limits": {"nvidia.com/gpu": "4"}}
        item = {"name": "a", "image": "vllm", "resources": resources, "volumeMounts": [mount]}
        shm = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}
        return {"spec": {"containers": [{**item, **({"command": [*command]} if command else {})}], "volumes": [shm]}}

    both = {"leaderTemplate": template("vllm", "serve", "m", *options), "workerTemplate": template()}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": "team-a"},
        "spec": {"replicas": 3, "leaderWorkerTemplate": {"size": 2, **both}},
    }


@pytest.mark.parametrize(
    ("options", "severity"),
    [("-tp 8 -pp 2", "error"), ("--tensor_parallel_size=16", "error"), ("--tensor-parallel-size 4", "warning")],
)
def test_a_model_of_other_devices_than_the_group_has(options: str, severity: str) -> None:
    (found,) = findings(group(*options.split()))
    assert (found.code, found.severity) == ("lws-parallel-size", severity)
    assert "= 8" in found.message


@pytest.mark.parametrize("options", ["-tp 8", "-tp 4 --pipeline_parallel_size 2", "-tp 2 --data-parallel-size 4", ""])
def test_a_model_of_the_devices_of_the_group(options: str) -> None:
    assert findings(group(*options.split())) == []
