"""The trainer beside a plain loop, nanoGPT's architecture, torchrun and torch.save: ratios from one run, with bars.

Runs in an environment with PyTorch (`make bench-trainer`). Every side is a fresh process with one thread a rank; the
sides take turns, and the best round of each counts, since whatever else the machine does only ever adds time. A step's
time is what a fifth of its round's steps stay under, without the first steps. The text is CPython's help topics, packed
by bytes. Two ranks need two idle cores: on a machine that is busy elsewhere the ratios say little.
"""

from __future__ import annotations

import argparse
import json
import os
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

ROOT: Final = Path(__file__).resolve().parents[1]
SCRIPT: Final = str(ROOT / "trainer" / "ddp.py")
SKIPPED: Final = 5
"""Steps at the start of a round that are not counted."""


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
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PET_", "TRAINSHED_"))}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "TRAINSHED_TERMINATION_LOG": os.devnull}


def call(*arguments: str) -> str:
    """Output of a Python process; ends the benchmark with its errors when it fails."""
    done = subprocess.run([sys.executable, *arguments], env=environment(), capture_output=True, text=True, check=False)
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
        """Launcher, two ranks and our architecture against loops."""
        sides: dict[str, Callable[[], list[float]]] = {
            "loop": lambda: self.plain("loop", data=self.data, steps=self.steps)["seconds"],
            "one": lambda: step_seconds(self.launched(1)),
            "nano": lambda: self.plain("nano", data=self.data, steps=self.steps)["seconds"],
            "two": lambda: step_seconds(self.launched(2, batch__rows=16)),
        }
        best = dict.fromkeys(sides, float("inf"))
        for _ in range(self.rounds):
            for name, measure in sides.items():
                best[name] = min(best[name], statistics.quantiles(measure()[SKIPPED:], n=5)[0])
        ms = {name: f"{1000 * value:.0f} ms" for name, value in best.items()}

        def ratio(what: str, ours: str, theirs: str, bar: float) -> Bar:
            return Bar(what, best[ours] / best[theirs], bar, "x", f"{ms[ours]} / {ms[theirs]}")

        return [
            ratio("launcher with 1 process / plain loop", "one", "loop", 1.05),
            ratio("2 gloo ranks / plain loop, batch per rank equal", "two", "loop", 1.15),
            ratio("our step / nanoGPT's architecture, plain loop", "one", "nano", 1.05),
        ]

    def cold_start(self) -> list[Bar]:
        """From nothing to five steps, saved and gone, and torchrun with a plain DDP script beside it."""
        ours, theirs = [], []
        tiny = {"model__preset": "tiny", "data__seq_len": 32, "batch__micro_rows": 4, "run__steps": 5}
        plain = ["-m", "bench.trainer_plain", "ddp", "--data", str(self.folder), "--preset", "tiny", "--steps", "5"]
        for _ in range(max(3, self.rounds)):
            ours.append(timed(lambda: self.launched(2, **tiny)))
            theirs.append(timed(lambda: call("-m", "torch.distributed.run", "--nproc-per-node", "2", *plain)))
        return [
            Bar("cold start of 2 ranks, 5 steps, saved", min(ours), 6.0, "s", "whole process"),
            Bar(
                "the same / torchrun with a plain DDP script",
                min(ours) / min(theirs),
                None,
                "x",
                f"{min(theirs):.1f} s",
            ),
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


def timed(call_it: Callable[[], object]) -> float:
    """Seconds of a call."""
    begin = time.perf_counter()
    call_it()
    return time.perf_counter() - begin


def events(folder: Path) -> list[dict[str, Any]]:
    """Events of a run's journal so far."""
    file = folder / "metrics.jsonl"
    return [json.loads(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []


def step_seconds(found: Sequence[dict[str, Any]]) -> list[float]:
    """Seconds per step of a run, from what it says of itself."""
    steps = [event for event in found if event["event"] == "step"]
    tokens = [now["tokens"] - before["tokens"] for before, now in zip([{"tokens": 0}, *steps], steps, strict=False)]
    return [count / event["tokens_per_second"] for count, event in zip(tokens, steps, strict=True)]


def table(bars: Sequence[Bar]) -> str:
    """The table as text."""
    lines = [f"{'measure':50} {'is':>8} {'bar':>8}  {'':4}  from"]
    for bar in bars:
        limit = "" if bar.bar is None else f"{bar.bar:.2f} {bar.unit}"
        lines.append(f"{bar.what:50} {bar.measured:6.2f} {bar.unit} {limit:>8}  {bar.verdict:4}  {bar.told}")
    return "\n".join(lines)


def main() -> int:
    """Measure, print; 1 when a bar is not kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.trainer", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-trainer-") as folder:
        bench = Bench(Path(folder), options.rounds, options.steps)
        bars = [*bench.step_ratios(), *bench.cold_start(), bench.preemption(), bench.blocking()]
    print(table(bars))
    return int(any(bar.verdict == "over" for bar in bars))


if __name__ == "__main__":
    sys.exit(main())
