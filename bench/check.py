"""`python -m bench.check`: `trainshed check` beside PyYAML's C loader on the same bytes, and its start-up.

The fleet is rendered by `sides/fleet_side.py`: 11 objects and one training run for each tenant.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
import yaml
from rich.console import Console
from rich.table import Table

from bench.measure import Side, timed
from trainshed.checks import all_rules
from trainshed.checks.engine import check
from trainshed.checks.options import Options

RATIO_BAR: Final = 2.0
START_BAR: Final = 0.4
#: With it every start compiles every module anew; whoever has installed the command has the caches.
_NO_CACHES: Final = "PYTHONDONTWRITEBYTECODE"
FLEET: Final = Side("fleet", (sys.executable, str(Path(__file__).parent / "sides" / "fleet_side.py")))


@click.command()
@click.option("--tenants", multiple=True, type=click.IntRange(1), help="Number of tenants; repeatable. [1 10 100 800]")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1), help="Timed runs; the best counts.")
def main(tenants: tuple[int, ...], runs: int) -> None:
    """Seconds of check and of PyYAML, their ratio, and the start-up of the command. Misses of a bar are no error."""
    console = Console()
    table = Table(box=None, pad_edge=False)
    for column in ("objects", "PyYAML s", "check s", "ratio", "µs an object", "errors, warnings"):
        table.add_column(column, justify="right")
    all_rules.load()
    with TemporaryDirectory() as name:
        for size in sorted(set(tenants or (1, 10, 100, 800))):
            folder = Path(name) / str(size)
            timed(FLEET, size, folder)
            texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.yaml"))]
            loaded = best(partial(load, texts), runs)
            report = check([str(folder)], Options())
            seconds = best(partial(check, [str(folder)], Options()), runs)
            table.add_row(
                f"{len(texts):,}",
                f"{loaded:.3f}",
                f"{seconds:.3f}",
                f"{seconds / loaded:.2f}",
                f"{seconds / len(texts) * 1e6:.0f}",
                f"{report.counts.errors}, {report.counts.warnings}",
            )
        console.print(table)
        console.print(f"bar: ratio ≤ {RATIO_BAR} at 10,000 objects, the same time an object at every size\n")
        show_start(console, Path(name), runs)


def load(texts: list[str]) -> list[object]:
    """What PyYAML makes of the same bytes."""
    return [yaml.load(text, yaml.CSafeLoader) for text in texts]


def show_start(console: Console, folder: Path, runs: int) -> None:
    """Seconds of the whole command on one small file."""
    table = Table(box=None, pad_edge=False)
    table.add_column("one file of")
    table.add_column("s", justify="right")
    environment = {name: value for name, value in os.environ.items() if name != _NO_CACHES}
    for name in ("ConfigMap", "ClusterQueue", "Job", "TrainJob"):
        file = folder / f"{name}.yaml"
        file.write_text(_small(name, folder), encoding="utf-8")
        command = [sys.executable, "-c", "from trainshed.cli import main; main()", "check", str(file)]
        started = partial(subprocess.run, command, stdout=subprocess.DEVNULL, check=False, env=environment)
        seconds = best(started, runs + 2)
        table.add_row(name, f"{seconds:.2f}")
    console.print(table)
    console.print(f"bar: ≤ {START_BAR} s from start to exit")


def _small(name: str, folder: Path) -> str:
    if name == "ConfigMap":
        return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"
    found = next(
        path for path in sorted(folder.rglob("*.yaml")) if f"kind: {name}\n" in path.read_text(encoding="utf-8")
    )
    return found.read_text(encoding="utf-8")


def best(work: Callable[[], object], runs: int) -> float:
    """The shortest of `runs` runs, in seconds."""
    seconds = []
    for _ in range(runs):
        gc.collect()
        begun = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begun)
        del result
    return min(seconds)


if __name__ == "__main__":
    main()
