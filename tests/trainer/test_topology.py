"""Every refusal of a world says what was read. Needs no torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer import config_load, exits, topology
from trainer.exits import Stop
from trainer.topology import World


def refusal(world: World, device: str, gpus: int, *overrides: str) -> str:
    with pytest.raises(Stop) as caught:
        topology.check(config_load.load(None, overrides), world, device, gpus)
    assert caught.value.code == exits.CONFIG
    return caught.value.reason


def test_a_world_without_a_launcher_is_alone() -> None:
    assert topology.read_world({}) == World(0, 0, 1, 1)


def test_the_world_of_a_launcher() -> None:
    env = {"RANK": "9", "LOCAL_RANK": "1", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}
    world = topology.read_world(env)
    assert world.nodes == 2
    assert not world.is_main


@pytest.mark.parametrize(
    ("env", "fragment"),
    [
        ({"RANK": "0", "WORLD_SIZE": "2"}, "LOCAL_RANK, LOCAL_WORLD_SIZE are not"),
        ({"RANK": "x", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}, "RANK='x'"),
        ({"RANK": "4", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}, "rank 4 of 2"),
        ({"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "2"}, "not a multiple"),
    ],
)
def test_impossible_variables(env: dict[str, str], fragment: str) -> None:
    with pytest.raises(Stop, match=fragment) as caught:
        topology.read_world(env)
    assert caught.value.code == exits.CONFIG


def test_more_processes_than_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PET_NPROC_PER_NODE", "8")
    text = refusal(World(0, 0, 8, 8), "cuda", 4)
    assert "4 GPUs but runs 8 processes" in text
    assert "set PET_NPROC_PER_NODE=4 (it is 8)" in text


def test_another_number_of_nodes_than_the_config_expects() -> None:
    assert "world.nodes is 4" in refusal(World(0, 0, 16, 8), "cpu", 0, "world.nodes=4")


def test_another_number_of_processes_than_the_config_expects() -> None:
    assert "this node runs 2 processes" in refusal(World(0, 0, 2, 2), "cpu", 0, "world.processes_per_node=8")


def test_a_batch_that_does_not_divide() -> None:
    assert "8 processes x batch.micro_rows 3 = 24" in refusal(World(0, 0, 8, 8), "cpu", 0, "batch.micro_rows=3")


def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(Stop, match="no GPU is visible"):
        topology.choose_device(config_load.load(None, ["run.device=cuda"]), 0)


def test_accumulation_follows_from_the_global_batch() -> None:
    config = config_load.load(None, ["batch.rows=64", "batch.micro_rows=4"])
    assert [topology.accumulation(config, World(0, 0, n, n)) for n in (1, 2, 16)] == [16, 8, 1]


@pytest.mark.parametrize(("content", "cpus"), [("max 100000", None), ("250000 100000", 2.5), ("nonsense", None)])
def test_cgroup_v2(content: str, cpus: float | None, tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text(content)
    assert topology.cgroup_cpus(tmp_path) == cpus


def test_cgroup_v1(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("400000")
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000")
    assert topology.cgroup_cpus(tmp_path) == 4


def test_processes_share_the_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(64)))
    (tmp_path / "cpu.max").write_text("3200000 100000")
    assert topology.threads_per_process(8, tmp_path) == 4
    assert topology.threads_per_process(100, tmp_path) == 1
