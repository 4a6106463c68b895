"""The loss on CPython's help topics beside a plain loop's and nanoGPT's architecture: one picture.

`python -m bench.trainer_loss docs/images/loss.png`, some four minutes on two cores. Our run has two ranks under the
launcher and is preempted in the middle: SIGTERM, exit 75, started again. All sides see as many tokens a step, with the
same rate and warm-up; the plain loops draw random windows, ours goes through the text in its own order.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.trainer import SCRIPT, Bench, environment, events

ROWS, LENGTH, RATE, WARMUP = 8, 128, 0.001, 20
TAIL = 20
"""Steps at the end whose mean is compared: single steps are noisy."""


def plain(bench: Bench, side: str, steps: int, preset: str) -> Path:
    """Journal of a plain loop, in the trainer's format as far as `plot` reads it."""
    told = bench.plain(
        side, data=bench.data, steps=steps, preset=preset, rows=ROWS, length=LENGTH, rate=RATE, warmup=WARMUP
    )
    file = bench.folder / f"{side}.jsonl"
    with file.open("w") as stream:
        for step, (loss, seconds) in enumerate(zip(told["losses"], told["seconds"], strict=True), 1):
            line = {"event": "step", "step": step, "loss": loss, "tokens_per_second": ROWS * LENGTH / seconds}
            stream.write(json.dumps(line) + "\n")
    return file


def ours(bench: Bench, steps: int, preset: str) -> Path:
    """Folder of our run, which was stopped by SIGTERM half-way and started again."""
    folder, words = bench.settings(
        model__preset=preset, run__steps=steps, batch__rows=ROWS, batch__micro_rows=ROWS // 2, data__seq_len=LENGTH,
        optim__lr=RATE, optim__warmup_steps=WARMUP,
    )  # fmt: skip
    command = [sys.executable, "-m", "trainer", "launch", "--nproc-per-node", "2", SCRIPT, *words]
    for expected in (75, 0):
        with subprocess.Popen(
            command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as run:
            while expected and run.poll() is None:
                if any(event["event"] == "step" and event["step"] >= steps // 2 for event in events(folder)):
                    run.send_signal(signal.SIGTERM)
                    break
                time.sleep(0.05)
            _, told = run.communicate(timeout=600)
        if run.returncode != expected:
            sys.exit(f"the run left with {run.returncode} instead of {expected}:\n{told[-2000:]}")
    return folder


def final(file: Path) -> float:
    """Mean loss of the last steps."""
    found = {event["step"]: event["loss"] for event in map(json.loads, file.open()) if event["event"] == "step"}
    last = sorted(found)[-TAIL:]
    return float(sum(found[step] for step in last) / len(last))


def main() -> int:
    """Run all sides, draw, print the losses at the end; 1 when ours is more than 3 % above the plain loop's."""
    parser = argparse.ArgumentParser(prog="python -m bench.trainer_loss")
    parser.add_argument("output", type=Path)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--preset", default="3m")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-loss-") as name:
        bench = Bench(Path(name), rounds=1, steps=options.steps)
        loop = plain(bench, "loop", options.steps, options.preset)
        nano = plain(bench, "nano", options.steps, options.preset)
        run = ours(bench, options.steps, options.preset)
        from trainer import plot

        named = {"Trainshed's trainer, 2 ranks, preempted once": run, "same model, plain loop": loop}
        named["nanoGPT's architecture, plain loop"] = nano
        plot.plot([plot.read(path, label) for label, path in named.items()], options.output)
        losses = {"ours": final(run / "metrics.jsonl"), "loop": final(loop), "nano": final(nano)}
    print(json.dumps({key: round(value, 4) for key, value in losses.items()}))
    return int(losses["ours"] > 1.03 * losses["loop"])


if __name__ == "__main__":
    sys.exit(main())
