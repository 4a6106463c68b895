"""Loss and throughput of runs as one picture, from the JSON lines that they wrote. matplotlib is an extra."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from trainer import exits
from trainer.exits import Stop

COLOURS = ("#0b6e99", "#d9730d", "#6940a5", "#0f7b6c", "#ad1a72", "#64473a")
"""Told apart by people who see no red or no green, and in grey."""


@dataclass
class Curves:
    """What a run says of itself: losses and tokens per second by step, evaluations, and where it went on after a stop.

    Steps that were trained twice, after a kill without a save, count as they were the second time.
    """

    label: str
    loss: dict[int, float] = field(default_factory=dict)
    speed: dict[int, float] = field(default_factory=dict)
    evals: dict[int, float] = field(default_factory=dict)
    resumed: list[int] = field(default_factory=list)


def read(path: Path, label: str) -> Curves:
    """The curves of a run folder or a `metrics.jsonl`. Raises `Stop` 65 when there is nothing to draw."""
    file = path / "metrics.jsonl" if path.is_dir() else path
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Stop(exits.DATA, f"{file}: cannot be read: {error}") from None
    found = Curves(label)
    for number, line in enumerate(lines, 1):
        try:
            _add(found, json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            if number == len(lines):
                break  # a killed run leaves half a line
            raise Stop(exits.DATA, f"{file}:{number}: not a line of a journal") from None
    if not found.loss:
        raise Stop(exits.DATA, f"{file}: no steps to draw")
    return found


def _add(found: Curves, event: dict[str, object]) -> None:
    kind = event["event"]
    if kind not in ("step", "eval", "resume"):
        return
    step = int(str(event["step"]))
    if kind == "resume":
        found.resumed.append(step)
        return
    target = found.loss if kind == "step" else found.evals
    target[step] = float(str(event["loss"]))
    if kind == "step":
        found.speed[step] = float(str(event["tokens_per_second"]))


def read_all(arguments: Iterable[str]) -> list[Curves]:
    """Curves of `PATH` or `LABEL=PATH` arguments."""
    found = []
    for argument in arguments:
        label, equals, path = argument.partition("=")
        if not equals or Path(argument).exists():
            label, path = Path(argument).name, argument
        found.append(read(Path(path), label))
    return found


def plot(curves: list[Curves], output: Path) -> None:
    """Write the picture. Raises `Stop` 69 without matplotlib or where the file cannot be written."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise Stop(exits.UNHEALTHY, "plot needs matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=(9, 6), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        steps = sorted(curve.loss)
        above.plot(steps, [curve.loss[step] for step in steps], color=colour, label=curve.label, linewidth=1.2)
        if curve.evals:
            at = sorted(curve.evals)
            above.plot(at, [curve.evals[step] for step in at], "o", color=colour, label=f"{curve.label}, evaluation")
        below.plot(steps, [curve.speed[step] for step in steps], color=colour, linewidth=1.2)
        for at_step in curve.resumed:
            above.axvline(at_step, color=colour, linestyle=":", linewidth=1)
            above.annotate(
                f"resumed at {at_step}", (at_step, 0.97), xycoords=("data", "axes fraction"), rotation=90, va="top",
                ha="right", fontsize=8, color=colour,
            )  # fmt: skip
    above.set_ylabel("loss (nats per token)")
    below.set_ylabel("tokens per second")
    below.set_xlabel("optimizer step")
    below.set_ylim(bottom=0)
    for axes in (above, below):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    above.legend(frameon=False)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(output, dpi=120, format="png", metadata={"Software": None})
    except OSError as error:
        raise Stop(exits.UNHEALTHY, f"{output}: cannot be written: {error.strerror}") from None
