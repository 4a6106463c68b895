"""The launcher as a process: codes kept, signals, names, ports, ranks. Scripts of the ranks are a few lines here."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import exits, launch, outcome
from trainer.exits import Stop
from trainer.outcome import Outcome

ROOT = Path(__file__).resolve().parents[2]

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    def make(body: str) -> str:
        file = tmp_path / "ranks.py"
        file.write_text("import os, signal, sys, time\nrank = int(os.environ['RANK'])\n" + body)
        return str(file)

    return make


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pair(port: int, rank: int, **more: str) -> dict[str, str]:
    """The environment that TrainJob, JobSet and Indexed Job give to a node of two (workloads: PET_* only)."""
    base = {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": str(rank),
        "PET_MASTER_ADDR": "localhost",
        "PET_MASTER_PORT": str(port),
    }
    return base | more


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("sys.exit(0)", 0),
        ("sys.exit(75)", 75),
        ("time.sleep(60 * rank); sys.exit(78)", 78),
        ("os.kill(os.getpid(), signal.SIGKILL) if rank else time.sleep(60)", 137),
    ],
)
def test_the_ranks_codes_are_kept(body: str, code: int, launch: Any, write: Write) -> None:
    run = launch("--nproc-per-node", "2", write(body))
    returned, output = run.end()
    assert returned == code, output
    assert run.told()["code"] == code
    assert "enable traceback" not in str(run.told()["reason"]), "torch's hint is no reason"


def test_the_nodes_cpus_are_shared_out_among_its_ranks(write: Write, tmp_path: Path) -> None:
    """torchrun alone makes it 1 thread a rank (pytorch#22260), and says so in five lines."""
    script = write("open(f'threads{rank}', 'w').write(os.environ['OMP_NUM_THREADS'])")
    twelve = "import sys; from trainer import launch, topology; topology.usable_cpus = lambda root: 12"
    code = f"{twelve}; sys.exit(launch.main(['--nproc-per-node', '2', {script!r}]))"
    env = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    env |= {"PYTHONPATH": str(ROOT), "TRAINSHED_TERMINATION_LOG": str(tmp_path / "told")}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert [(tmp_path / f"threads{rank}").read_text() for rank in (0, 1)] == ["6", "6"]
    assert "OMP_NUM_THREADS" not in run.stderr


def test_a_signal_to_ranks_without_a_handler_is_143(launch: Any, write: Write, wait_for: Any, tmp_path: Path) -> None:
    run = launch("--nproc-per-node", "2", write("open(f'up{rank}', 'w'); time.sleep(60)"))
    wait_for(lambda: (tmp_path / "up0").exists() and (tmp_path / "up1").exists())
    run.process.send_signal(signal.SIGTERM)
    returned, output = run.end()
    assert returned == exits.TERMINATED, output


def test_ranks_that_leave_with_0_on_a_signal_do_not_make_it_success(
    launch: Any, write: Write, wait_for: Any, tmp_path: Path
) -> None:
    body = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); open(f'up{rank}', 'w'); time.sleep(60)"
    run = launch(write(body))
    wait_for(lambda: (tmp_path / "up0").exists())
    run.process.send_signal(signal.SIGTERM)
    returned, output = run.end()
    assert returned == exits.TERMINATED, output


def test_ranks_that_ignore_the_signal_are_killed_within_the_grace_period(
    launch: Any, write: Write, wait_for: Any, tmp_path: Path
) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN); open(f'up{rank}', 'w'); time.sleep(60)"
    run = launch(write(body), TRAINSHED_GRACE_PERIOD="8")
    wait_for(lambda: (tmp_path / "up0").exists())
    begin = time.monotonic()
    run.process.send_signal(signal.SIGTERM)
    returned, output = run.end()
    assert returned == exits.TERMINATED, output
    assert 2.5 < time.monotonic() - begin < 8


def test_a_signal_before_the_ranks_exist_is_a_preemption(launch: Any, write: Write, wait_for: Any) -> None:
    env = pair(free_port(), 1, TRAINSHED_MASTER_TIMEOUT_SECONDS="60")
    run = launch(write("pass"), **env)
    status = Path(f"/proc/{run.process.pid}/status")

    def catches_sigterm() -> bool:
        caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt"))
        return bool(int(caught.split()[1], 16) & (1 << (signal.SIGTERM - 1)))

    wait_for(catches_sigterm)
    time.sleep(0.5)
    run.process.send_signal(signal.SIGTERM)
    returned, output = run.end()
    assert returned == exits.PREEMPTED_UNSAVED, output


def test_an_unreachable_master_is_69_within_the_deadline(launch: Any, write: Write) -> None:
    begin = time.monotonic()
    run = launch(write("pass"), **pair(free_port(), 1, TRAINSHED_MASTER_TIMEOUT_SECONDS="2"))
    returned, output = run.end()
    assert returned == exits.UNHEALTHY, output
    assert "cannot be reached" in str(run.told()["reason"])
    assert time.monotonic() - begin < 20


def test_a_name_that_does_not_resolve_is_69_and_named(launch: Any, write: Write) -> None:
    env = pair(free_port(), 1, PET_MASTER_ADDR="run-node-0-0.run.invalid", TRAINSHED_MASTER_TIMEOUT_SECONDS="2")
    run = launch(write("pass"), **env)
    returned, output = run.end()
    assert returned == exits.UNHEALTHY, output
    assert "run-node-0-0.run.invalid does not resolve" in str(run.told()["reason"])


def test_a_peer_that_never_comes_is_69(launch: Any, write: Write) -> None:
    run = launch(write("pass"), **pair(free_port(), 0, TRAINSHED_MASTER_TIMEOUT_SECONDS="3"))
    returned, output = run.end()
    assert returned == exits.UNHEALTHY, output


def test_two_nodes_meet_by_environment_alone_in_either_order(launch: Any, write: Write) -> None:
    port = free_port()
    body = "open(f'saw{rank}', 'w').write(os.environ['WORLD_SIZE'])"
    late = launch(write(body), **pair(port, 1))
    time.sleep(1)
    first = launch(write(body), **pair(port, 0))
    assert (late.end()[0], first.end()[0]) == (0, 0)


def test_two_hosts_with_one_node_rank_are_refused(launch: Any, write: Write) -> None:
    port = free_port()
    ranks = write("time.sleep(30)")
    first = launch(
        ranks, **pair(port, 0, PET_NNODES="3", TRAINSHED_NODE_NAME="host-a", TRAINSHED_MASTER_TIMEOUT_SECONDS="20")
    )
    twins = [
        launch(ranks, **pair(port, 1, PET_NNODES="3", TRAINSHED_NODE_NAME=name, TRAINSHED_MASTER_TIMEOUT_SECONDS="20"))
        for name in ("host-b", "host-c")
    ]
    deadline = time.monotonic() + 40
    while all(twin.process.poll() is None for twin in twins) and time.monotonic() < deadline:
        time.sleep(0.05)
    refused = next(twin for twin in twins if twin.process.poll() is not None)
    assert refused.end()[0] == exits.CONFIG
    assert "two nodes claim node rank 1" in str(refused.told()["reason"])
    for run in (first, *twins):
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)


def test_a_second_master_on_one_host_is_told_the_port_is_taken(launch: Any, write: Write) -> None:
    with socket.socket() as holder:
        holder.bind(("", 0))
        holder.listen()
        run = launch(write("pass"), **pair(int(holder.getsockname()[1]), 0))
        returned, output = run.end()
    assert returned == exits.UNHEALTHY, output
    assert "is taken here" in str(run.told()["reason"])


@pytest.mark.parametrize(
    ("arguments", "env", "code", "fragment"),
    [
        (["--no-such-option", "x.py"], {}, 64, "variables: unrecognized arguments: --no-such-option"),
        (["nowhere.py"], {}, 64, "nowhere.py: no such script"),
        (["x.py"], {"PET_NPROC_PER_NODE": "$(GPUS)"}, 78, "Unsupported nproc_per_node"),
        (["x.py"], {"PET_NPROC_PER_NODE": "gpu"}, 78, "Cuda is not available"),
        (["x.py"], {"PET_NNODES": "two"}, 78, "PET_NNODES=two"),
        (
            ["x.py"],
            {"TRAINSHED_GRACE_PERIOD": "30", "PET_SHUTDOWN_TIMEOUT": "30"},
            78,
            "does not fit in the grace period",
        ),
        (["x.py"], {"TRAINSHED_GRACE_PERIOD": "soon"}, 78, "TRAINSHED_GRACE_PERIOD='soon'"),
    ],
)
def test_what_the_launcher_refuses(
    arguments: list[str], env: dict[str, str], code: int, fragment: str, launch: Any
) -> None:
    import torch

    if fragment == "Cuda is not available" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    run = launch(*arguments, **env)
    returned, output = run.end()
    assert returned == code, output
    assert fragment in str(run.told()["reason"])


def test_options_of_the_script_are_left_alone(launch: Any, write: Write) -> None:
    body = "sys.exit(0 if sys.argv[1:] == ['--no', '--max', '3', '--r'] else 1)"
    run = launch(write(body), "--no", "--max", "3", "--r")
    assert run.end()[0] == 0


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a GPU")
@pytest.mark.parametrize("given", [{}, {"GLIBC_TUNABLES": "glibc.malloc.check=0"}])
def test_ranks_on_cpus_may_have_huge_pages_unless_the_pod_says_otherwise(
    given: dict[str, str], launch: Any, write: Write
) -> None:
    wanted = given.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    run = launch(write(f"sys.exit(os.environ.get('GLIBC_TUNABLES') != {wanted!r})"), **given)
    assert run.end()[0] == 0


def test_the_shutdown_timeout_follows_the_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch.shutdown_seconds() == 25
    monkeypatch.setenv("TRAINSHED_GRACE_PERIOD", "120")
    assert launch.shutdown_seconds() == 115
    monkeypatch.setenv("PET_SHUTDOWN_TIMEOUT", "60")
    assert launch.shutdown_seconds() == 60
    monkeypatch.setenv("PET_SHUTDOWN_TIMEOUT", "118")
    with pytest.raises(Stop, match="does not fit"):
        launch.shutdown_seconds()


def test_after_a_signal_the_ranks_words_decide() -> None:
    def words(*codes: int) -> dict[int, Outcome]:
        return {rank: Outcome(code, "r", rank) for rank, code in enumerate(codes)}

    def code(*codes: int, ranks: int = 2) -> int:
        return launch.after_signal(15, words(*codes), ranks).code

    assert code(75, 75) == 75
    assert code(76, 75) == 75
    assert code(76, 71) == 76
    assert code(0, 0) == 0
    assert code(0, ranks=2) == 143, "one rank finished, the other left no word"
    assert code() == 143


def test_a_long_reason_fits_in_the_termination_message() -> None:
    line = Outcome(70, "x" * 10_000 + "é" * 100).line()
    assert len(line.encode()) <= outcome.MESSAGE_LIMIT
    assert line.startswith('{"code": 70')
