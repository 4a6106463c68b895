"""Real runs: two gloo ranks under the launcher, interrupted in every way, compared by the hash of all their state."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import exits, train  # noqa: E402

STEPS = 60


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    """Hashes of uninterrupted runs, by name; filled by the first test that needs one."""
    return {}


@pytest.fixture
def two(launch: Any, script: str, settings: Any) -> Callable[..., Any]:
    """Start two ranks of a toy run."""

    def start(name: str = "run", *, env: dict[str, str] | None = None, **overrides: object) -> Any:
        arguments = settings(name, **{"run__steps": STEPS, **overrides})
        return launch("--nproc-per-node", "2", script, *arguments, **(env or {}))

    return start


@pytest.fixture
def reference(two: Any, state_hash: Any, expected: dict[str, str]) -> Callable[..., str]:
    """Hash of the uninterrupted run with these overrides."""

    def compute(**overrides: object) -> str:
        key = repr(sorted(overrides.items()))
        if key not in expected:
            code, output = two("reference", **overrides).end()
            assert code == 0, output
            expected[key] = state_hash("reference", STEPS)
        return expected[key]

    return compute


def ranks_of(run: Any) -> list[int]:
    children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"ddp.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def kill_everything(run: Any) -> None:
    """SIGKILL to the ranks first: they ask the kernel for a SIGTERM when the launcher dies."""
    for pid in [*ranks_of(run), run.process.pid]:
        os.kill(pid, signal.SIGKILL)
    run.end()


def step_reached(events: Any, name: str, step: int) -> Callable[[], bool]:
    return lambda: any(int(event["step"]) >= step for event in events(name, "step"))


def test_the_loss_falls(settings: Any, events: Any) -> None:
    assert train.main(settings(run__steps=80, model__dropout=0, optim__lr=0.01)) == exits.FINISHED
    losses = [event["loss"] for event in events(kind="step")]
    assert losses[0] == pytest.approx(5.77, abs=0.1), "log of the padded vocabulary"
    assert losses[-1] < 3.4


def test_two_equal_runs_are_equal_and_the_hash_has_teeth(two: Any, reference: Any, state_hash: Any) -> None:
    assert two("again").end()[0] == 0
    assert state_hash("again", STEPS) == reference()
    assert two("other", run__seed=2).end()[0] == 0
    assert state_hash("other", STEPS) != reference()


def test_sigterm_twice_in_a_row_then_the_same_weights(
    two: Any, reference: Any, state_hash: Any, events: Any, wait_for: Any
) -> None:
    for step in (10, 25):
        run = two()
        wait_for(step_reached(events, "run", step))
        begin = time.monotonic()
        run.process.send_signal(signal.SIGTERM)
        code, output = run.end()
        assert code == exits.PREEMPTED, output
        assert time.monotonic() - begin < 5
        assert run.told()["name"] == "preempted"
    assert two().end()[0] == exits.FINISHED
    assert [event["event"] for event in events()].count("resume") == 2
    assert state_hash("run", STEPS) == reference()


def test_sigkill_of_everything_then_the_same_weights(
    two: Any, reference: Any, state_hash: Any, events: Any, wait_for: Any
) -> None:
    run = two(checkpoint__every=7)
    wait_for(step_reached(events, "run", 30))
    kill_everything(run)
    code, output = two(checkpoint__every=7).end()
    assert code == exits.FINISHED, output
    resumed = events(kind="resume")[0]["step"]
    assert 14 <= resumed <= 35
    assert resumed % 7 == 0
    assert state_hash("run", STEPS) == reference()


def test_sigkill_in_the_middle_of_a_save_leaves_the_last_one(
    two: Any, reference: Any, state_hash: Any, events: Any, wait_for: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "run/checkpoints"
    run = two(checkpoint__every=1)
    wait_for(step_reached(events, "run", 12))
    wait_for(lambda: any(entry.name.endswith(".tmp") for entry in os.scandir(folder)))
    kill_everything(run)
    assert two().end()[0] == exits.FINISHED
    assert not list(folder.glob("*.tmp"))
    assert not events(kind="skipped"), "what has its final name is complete"
    assert state_hash("run", STEPS) == reference()


def test_sigterm_to_one_rank_stops_both_with_the_same_step(
    two: Any, reference: Any, state_hash: Any, events: Any, wait_for: Any
) -> None:
    run = two()
    wait_for(step_reached(events, "run", 5))
    ranks = ranks_of(run)
    assert len(ranks) == 2
    os.kill(ranks[1], signal.SIGTERM)
    code, output = run.end()
    assert code == exits.PREEMPTED, output
    assert two().end()[0] == exits.FINISHED
    assert state_hash("run", STEPS) == reference()


def test_sigterm_twice_to_the_launcher_is_harmless(two: Any, events: Any, wait_for: Any) -> None:
    run = two()
    wait_for(step_reached(events, "run", 5))
    run.process.send_signal(signal.SIGTERM)
    time.sleep(0.02)
    run.process.send_signal(signal.SIGTERM)
    code, output = run.end()
    assert code in (exits.PREEMPTED, exits.TERMINATED), output
    assert events(kind="checkpoint"), "the save went through"


def test_sigterm_during_set_up_saves_nothing_and_says_so(two: Any, wait_for: Any, tmp_path: Path) -> None:
    run = two(run__steps=100_000)

    def ranks_handle_sigterm() -> bool:
        lines = [Path(f"/proc/{pid}/status").read_text() for pid in ranks_of(run)]
        caught = [int(next(x for x in t.splitlines() if x.startswith("SigCgt")).split()[1], 16) for t in lines]
        return len(caught) == 2 and all(mask & (1 << (signal.SIGTERM - 1)) for mask in caught)

    wait_for(ranks_handle_sigterm)
    run.process.send_signal(signal.SIGTERM)
    code, output = run.end()
    assert code == exits.PREEMPTED_UNSAVED, output


def test_a_killed_rank_is_137_and_not_its_peers_71(two: Any, events: Any, wait_for: Any) -> None:
    run = two(run__steps=100_000)
    wait_for(step_reached(events, "run", 5))
    ranks = ranks_of(run)
    os.kill(ranks[1], signal.SIGKILL)
    code, output = run.end()
    assert code == exits.KILLED, output


def test_a_killed_launcher_leaves_no_orphans_and_its_ranks_save(two: Any, events: Any, wait_for: Any) -> None:
    run = two(run__steps=100_000)
    wait_for(step_reached(events, "run", 5))
    ranks = ranks_of(run)
    run.process.kill()
    run.process.wait()

    def alive(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
        except OSError:
            return False

    wait_for(lambda: not any(alive(pid) for pid in ranks))
    assert events(kind="preempted")


def test_the_loss_is_the_same_at_another_world_size(two: Any, settings: Any, events: Any) -> None:
    assert train.main(settings("one", run__steps=STEPS, model__dropout=0)) == 0
    assert two("two", model__dropout=0).end()[0] == 0
    one = [event["loss"] for event in events("one", "step")]
    both = [event["loss"] for event in events("two", "step")]
    assert both == pytest.approx(one, rel=2e-4)
    assert both[:5] == pytest.approx(one[:5], rel=1e-6)


def test_a_run_goes_on_at_another_world_size(two: Any, settings: Any, events: Any) -> None:
    assert train.main(settings("whole", run__steps=40, optim__schedule="constant", model__dropout=0)) == 0
    first = {"run__steps": 20, "optim__schedule": "constant", "model__dropout": 0}
    assert two("split", **first).end()[0] == 0
    assert train.main(settings("split", **{**first, "run__steps": 40})) == 0
    assert "world 2 -> 1" in str(events("split", "notice"))
    ends = [events(name, "step")[-1]["loss"] for name in ("whole", "split")]
    assert ends[0] == pytest.approx(ends[1], rel=1e-3)


def test_zero1_trains_as_plain_adamw_and_loads_into_it(two: Any, settings: Any, events: Any, state_hash: Any) -> None:
    for zero1 in ("false", "true"):
        assert two(zero1, run__steps=20, optim__zero1=zero1).end()[0] == 0
    assert state_hash("true", 20) == state_hash("false", 20)
    assert train.main(settings("true", run__steps=22)) == 0


def test_an_unsaved_preemption_when_the_volume_is_too_slow(
    two: Any, events: Any, wait_for: Any, tmp_path: Path
) -> None:
    """A save that blocks for longer than the budget: 76 from the rank itself, before the launcher's SIGKILL."""
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow/sitecustomize.py").write_text(
        "import os, sys, time\nreal = os.fsync\n"
        "def fsync(handle):\n    time.sleep(30 if os.path.exists('slow.now') else 0)\n    return real(handle)\n"
        "os.fsync = fsync\n"
    )
    root = Path(__file__).resolve().parents[2]
    env = {"PYTHONPATH": f"{tmp_path / 'slow'}:{root}", "TRAINSHED_GRACE_PERIOD": "10"}
    run = two(run__steps=100_000, env=env)
    wait_for(step_reached(events, "run", 3))
    (tmp_path / "slow.now").touch()
    run.process.send_signal(signal.SIGTERM)
    code, output = run.end()
    assert code == exits.PREEMPTED_UNSAVED, output
    assert "did not end within the shutdown timeout" in str(run.told()["reason"])


def test_a_budget_that_cannot_hold_is_refused_before_the_first_step(two: Any) -> None:
    run = two(preempt__step_seconds=60)
    code, output = run.end()
    assert code == exits.CONFIG, output
    assert "a preemption needs" in str(run.told()["reason"])


def test_plain_torchrun_can_start_the_script(settings: Any, script: str, tmp_path: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]
    done = subprocess.run([*command, *settings(run__steps=3)], cwd=tmp_path, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr


def test_sigterm_during_compilation_does_not_wait_for_it(two: Any, events: Any, wait_for: Any, tmp_path: Path) -> None:
    if shutil.which("gcc") is None and shutil.which("g++") is None:
        pytest.skip("no C++ compiler, which torch.compile needs on a CPU")
    env = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TRAINSHED_GRACE_PERIOD": "60"}
    run = two(speed__compile="model", env=env)
    wait_for(lambda: bool(events(kind="start")))
    time.sleep(2)
    assert not events(kind="step"), "the first step compiles for longer than this"
    begin = time.monotonic()
    run.process.send_signal(signal.SIGTERM)
    code, output = run.end()
    assert code == exits.PREEMPTED_UNSAVED, output
    assert not events(kind="step"), "the compilation was waited for"
    assert time.monotonic() - begin < 20
