"""Two nodes as a cluster makes them: two launchers that know of each other by PET_* variables alone."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import exits


@pytest.fixture
def nodes(launch: Any, script: str, settings: Any) -> Callable[..., list[Any]]:
    """Start both nodes of one run, each with one rank."""

    def start(name: str = "run", **overrides: object) -> list[Any]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        env = {
            "PET_NNODES": "2",
            "PET_NPROC_PER_NODE": "1",
            "PET_MASTER_ADDR": "localhost",
            "PET_MASTER_PORT": port,
            "TRAINSHED_GRACE_PERIOD": "30",
        }
        arguments = settings(name, **{"run__steps": 60, **overrides})
        return [launch(script, *arguments, **env, PET_NODE_RANK=str(rank)) for rank in (1, 0)][::-1]

    return start


def reached(events: Any, step: int) -> Callable[[], bool]:
    return lambda: any(int(event["step"]) >= step for event in events(kind="step"))


@pytest.mark.parametrize("evicted", [0, 1])
def test_one_evicted_node_stops_both_and_the_run_goes_on_exactly(
    evicted: int, nodes: Any, events: Any, wait_for: Any, state_hash: Any
) -> None:
    both = nodes()
    wait_for(reached(events, 10))
    begin = time.monotonic()
    both[evicted].process.send_signal(signal.SIGTERM)
    codes = [node.end()[0] for node in both]
    assert codes == [exits.PREEMPTED, exits.PREEMPTED]
    assert time.monotonic() - begin < 5
    saved = [node.told()["step"] for node in both]
    assert saved[0] == saved[1]
    assert [node.end()[0] for node in nodes()] == [0, 0]
    assert events(kind="resume")[0]["step"] == saved[0]
    assert [node.end()[0] for node in nodes("whole")] == [0, 0]
    assert state_hash("run", 60) == state_hash("whole", 60)


def test_a_diverged_run_ends_alike_on_both_nodes(nodes: Any) -> None:
    assert [node.end()[0] for node in nodes(optim__lr=1e30)] == [exits.DIVERGED, exits.DIVERGED]


def test_a_killed_rank_is_137_on_its_node_and_71_later_on_the_other(nodes: Any, events: Any, wait_for: Any) -> None:
    from pathlib import Path

    both = nodes(run__steps=100_000)
    wait_for(reached(events, 5))
    launcher = both[1].process.pid
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    rank = next(int(pid) for pid in children if b"ddp.py" in Path(f"/proc/{pid}/cmdline").read_bytes())
    import os

    begin = time.monotonic()
    os.kill(rank, signal.SIGKILL)
    assert both[1].end()[0] == exits.KILLED
    code, output = both[0].end()
    assert code == exits.COLLATERAL, output
    assert time.monotonic() - begin > exits.COLLATERAL_DELAY_SECONDS


def test_a_world_the_config_does_not_expect_is_refused_on_both_nodes(nodes: Any) -> None:
    both = nodes(world__nodes=4)
    codes = [node.end()[0] for node in both]
    assert codes == [exits.CONFIG, exits.CONFIG]
    assert "world.nodes is 4" in str(both[0].told()["reason"])
