"""The trainer beside a plain loop, nanoGPT's architecture, torchrun and torch.save: ratios from one run, with bars.

Runs in an environment with PyTorch (`make bench-trainer`), one thread a rank. Steps are compared as
`bench.trainer_pace` says: in turn, by CPU time, medians of paired ratios. Starts, ends and saves are wall-clock times,
the best of some rounds, since whatever else the machine does only ever adds time; on a busy machine they are too long.
The text is CPython's help topics, packed by bytes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.trainer_pace import VARIABLE, Race, Ratio

ROOT: Final = Path(__file__).resolve().parents[1]
SCRIPT: Final = str(ROOT / "trainer" / "ddp.py")
PACED: Final = str(ROOT / "bench" / "trainer_pace.py")
SKIPPED: Final = 5
"""Steps at the start that are not counted."""
FOR_EVER: Final = 10**6
HUGE_PAGES: Final = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""What our launcher sets for its ranks; only one plain loop has it too."""


@dataclass(frozen=True)
class Bar:
    """A measure, its bar (None: only told), and how it is written."""

    what: str
    measured: float
    bar: float | None
    unit: str
    told: str

    @property
    def verdict(self) -> str:
        """PASS, over, or nothing where there is no bar."""
        return "" if self.bar is None else "PASS" if self.measured <= self.bar else "over"


def topics() -> str:
    """CPython's help topics (PSF-2.0), the same in every run."""
    from pydoc_data.topics import topics as found

    return "\n\n".join(found[name] for name in sorted(found))


def environment() -> dict[str, str]:
    """One thread a rank, the repository on the path, nothing of a launcher around us."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PET_", "TRAINSHED_", "GLIBC_"))}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "TRAINSHED_TERMINATION_LOG": os.devnull}


def call(*arguments: str) -> str:
    """Output of a Python process; ends the benchmark with its errors when it fails."""
    done = subprocess.run([sys.executable, *arguments], env=environment(), capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} left with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


class Bench:
    """All measures; `folder` holds the data and the runs."""

    def __init__(self, folder: Path, rounds: int, steps: int) -> None:
        self.folder, self.rounds, self.steps = folder, rounds, steps
        self.data = folder / "train"
        self.runs = 0
        text = folder / "topics.txt"
        text.write_text(topics())
        call("-m", "trainer", "data", "pack", str(text), "--output", str(self.data))

    def settings(self, **overrides: object) -> tuple[Path, list[str]]:
        """Folder and `--set` arguments of a new run; `section__key=value` overrides."""
        self.runs += 1
        folder = self.folder / f"run-{self.runs}"
        values: dict[str, object] = {
            "run__dir": folder,
            "run__steps": self.steps,
            "run__device": "cpu",
            "model__preset": "3m",
            "data__train": self.data,
            "data__seq_len": 128,
            "batch__rows": 8,
            "batch__micro_rows": 8,
            "optim__lr": 0.001,
            "speed__dtype": "float32",
            "log__every": 1,
            "checkpoint__every": 100_000,
            "preempt__enforce": "false",
            **overrides,
        }
        return folder, [word for key, v in values.items() for word in ("--set", f"{key.replace('__', '.')}={v}")]

    def plain(self, side: str, **options: object) -> dict[str, Any]:
        """What a side of `bench.trainer_plain` printed."""
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        found: dict[str, Any] = json.loads(call("-m", "bench.trainer_plain", side, *words))
        return found

    def launched(self, ranks: int, **overrides: object) -> list[dict[str, Any]]:
        """Events of a run under the launcher."""
        folder, words = self.settings(**overrides)
        call("-m", "trainer", "launch", "--nproc-per-node", str(ranks), SCRIPT, *words)
        return events(folder)

    def step_ratios(self) -> list[Bar]:
        """Launcher, two ranks and our architecture against loops, step by step in turn."""
        plain = ["-m", "bench.trainer_plain"]
        told = ["--data", str(self.data), "--steps", str(FOR_EVER)]
        launch = ["-m", "trainer", "launch", "--nproc-per-node"]
        paced: dict[str, object] = {"run__steps": FOR_EVER}
        sides: dict[str, tuple[int, list[str]]] = {
            "loop": (1, [*plain, "loop", *told]),
            "one": (1, [*launch, "1", PACED, *self.settings(**paced)[1]]),
            "nano": (1, [*plain, "nano", *told]),
            "kept": (1, [*plain, "nano", *told, "--kept"]),
            "two": (2, [*launch, "2", PACED, *self.settings(**paced, batch__rows=16)[1]]),
        }
        race = Race(self.folder / "pace")
        env = {**environment(), VARIABLE: race.path}
        with contextlib.ExitStack() as running:
            for name, (ranks, arguments) in sides.items():
                command, quiet = [sys.executable, *arguments], subprocess.DEVNULL
                own = {**env, **HUGE_PAGES} if name == "kept" else env
                running.enter_context(subprocess.Popen(command, env=own, stdout=quiet, stderr=quiet))
                race.admit(name, ranks)
            race.run(self.steps, SKIPPED)

        def ratio(what: str, ours: str, theirs: str, bar: float | None) -> Bar:
            mine, other = race.sides[ours], race.sides[theirs]
            cpu, wall = Ratio.of(mine.cpu, other.cpu), Ratio.of(mine.wall, other.wall)
            ms = [f"{1000 * statistics.median(side.cpu):.0f}" for side in (mine, other)]
            spread = f"{ms[0]} / {ms[1]} ms CPU, half within {cpu.low:.2f}-{cpu.high:.2f}; wall clock {wall.median:.2f}"
            return Bar(what, cpu.median, bar, "x", spread)

        return [
            ratio("launcher with 1 process / plain loop", "one", "loop", 1.05),
            ratio("2 gloo ranks / plain loop, batch per rank equal", "two", "loop", 1.15),
            ratio("our step / nanoGPT's architecture, plain loop", "one", "nano", 1.05),
            ratio("the same with our memory settings in the plain loop", "one", "kept", None),
        ]

    def cold_start(self) -> list[Bar]:
        """From nothing to five steps, saved and gone, and torchrun with a plain DDP script beside it."""
        ours, theirs = [], []
        tiny = {"model__preset": "tiny", "data__seq_len": 32, "batch__micro_rows": 4, "run__steps": 5}
        plain = ["-m", "bench.trainer_plain", "ddp", "--data", str(self.folder), "--preset", "tiny", "--steps", "5"]
        for _ in range(max(3, self.rounds)):
            ours.append(timed(lambda: self.launched(2, **tiny)))
            theirs.append(timed(lambda: call("-m", "torch.distributed.run", "--nproc-per-node", "2", *plain)))
        (wall, cpu), (other_wall, other_cpu) = (
            [min(column) for column in zip(*side, strict=True)] for side in (ours, theirs)
        )
        name = "the same / torchrun with a plain DDP script"
        told = f"{cpu:.1f} / {other_cpu:.1f} s CPU; wall clock {wall / other_wall:.2f}"
        return [
            Bar("cold start of 2 ranks, 5 steps, saved", wall, 6.0, "s", f"whole process; {cpu:.1f} s CPU in all"),
            Bar(name, cpu / other_cpu, None, "x", told),
        ]

    def preemption(self) -> Bar:
        """From SIGTERM at the launcher to its end, 2 ranks, with the step saved and 75."""
        found = []
        for _ in range(max(3, self.rounds)):
            folder, words = self.settings(model__preset="tiny", data__seq_len=32, batch__micro_rows=4, run__steps=10**6)
            command = [sys.executable, "-m", "trainer", "launch", "--nproc-per-node", "2", SCRIPT, *words]
            with subprocess.Popen(
                command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as run:
                while not any(event["event"] == "step" and event["step"] >= 20 for event in events(folder)):
                    if run.poll() is not None:
                        sys.exit(f"the run to be preempted left with {run.returncode}")
                    time.sleep(0.05)
                begin = time.perf_counter()
                run.send_signal(signal.SIGTERM)
                code = run.wait(60)
                found.append(time.perf_counter() - begin)
                if code != 75:
                    sys.exit(f"the preempted run left with {code} instead of 75")
        return Bar("preemption to exit, toy size, 2 ranks", max(found), 2.0, "s", f"slowest of {len(found)}")

    def blocking(self) -> Bar:
        """How long a save holds up training, against torch.save of the same state."""
        plain = [self.plain("save", data=self.folder, preset="20m", steps=4)["seconds"] for _ in range(2)]
        blocked = [
            [
                event["blocked_seconds"]
                for event in self.launched(
                    1, model__preset="20m", data__seq_len=32, batch__rows=1, batch__micro_rows=1, run__steps=5,
                    checkpoint__every=1,
                )
                if event["event"] == "checkpoint"
            ]
            for _ in range(2)
        ]  # fmt: skip
        ours, theirs = min(min(kept[1:-1]) for kept in blocked), min(min(kept[1:]) for kept in plain)
        first = min(kept[0] for kept in blocked)
        told = f"{1000 * ours:.0f} / {1000 * theirs:.0f} ms (the first save {1000 * first:.0f} ms)"
        return Bar("a save holds up training / torch.save", ours / theirs, 0.5, "x", told)


def timed(call_it: Callable[[], object]) -> tuple[float, float]:
    """Seconds of a call by the clock, and CPU seconds of the processes that it started and that ended."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    call_it()
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def events(folder: Path) -> list[dict[str, Any]]:
    """Events of a run's journal so far."""
    file = folder / "metrics.jsonl"
    return [json.loads(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []


def table(bars: Sequence[Bar]) -> str:
    """The table as text."""
    lines = [f"{'measure':52} {'is':>8} {'bar':>8}  {'':4}  from"]
    for bar in bars:
        limit = "" if bar.bar is None else f"{bar.bar:.2f} {bar.unit}"
        lines.append(f"{bar.what:52} {bar.measured:6.2f} {bar.unit} {limit:>8}  {bar.verdict:4}  {bar.told}")
    return "\n".join(lines)


def main() -> int:
    """Measure, print; 1 when a bar is not kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.trainer", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-trainer-") as folder:
        bench = Bench(Path(folder), options.rounds, options.steps)
        bars = [*bench.step_ratios(), *bench.cold_start(), bench.preemption(), bench.blocking()]
    print(table(bars))
    return int(any(bar.verdict == "over" for bar in bars))


if __name__ == "__main__":
    sys.exit(main())
