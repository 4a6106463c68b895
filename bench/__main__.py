"""`python -m bench`: measures all sides and prints one table of ratios."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console

from bench.agreement import Disagreement, compare, objects_in
from bench.measure import NODE_MODULES, SIDES, Measured, peak_memory, timed
from bench.report import Results


@click.command()
@click.option("--tenants", multiple=True, type=click.IntRange(1), help="Number of tenants; repeatable. [10 100 1000]")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1), help="Timed runs; the best counts.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(tenants: tuple[int, ...], runs: int, as_json: bool) -> None:
    """Time and memory of synth, beside the same objects from cdk8s in Python and in TypeScript.

    Exits 1 when the sides do not make the same objects. A bar that is missed is printed, and no error.
    """
    if not (NODE_MODULES / "cdk8s").is_dir():
        raise click.ClickException(f"{NODE_MODULES} has no cdk8s; run `make bench`, which installs it")
    told = Console(stderr=True)
    measures: list[Measured] = []
    with TemporaryDirectory() as folder:
        for size in sorted(set(tenants or (10, 100, 1000))):
            with told.status(f"{size} tenants"):
                try:
                    measures.extend(measured(size, runs, Path(folder) / str(size)))
                except Disagreement as error:
                    raise click.ClickException(str(error)) from None
    results = Results(measures)
    if as_json:
        click.echo(results.as_json())
    else:
        results.show(Console())


def measured(tenants: int, runs: int, folder: Path) -> Iterator[Measured]:
    """Each side at one size; what they write stays below `folder`.

    Raises Disagreement when they do not make the same objects.
    """
    measures = [Measured(side, tenants) for side in SIDES]
    for run in range(runs):
        for measure in measures:  # in turns, so that a busy moment hits all
            measure.seconds.append(timed(measure.side, tenants, folder / f"{measure.side.name}-{run}"))
    reference = objects_in(folder / f"{SIDES[0].name}-0")
    for measure in measures:
        compare(SIDES[0].name, reference, measure.side.name, objects_in(folder / f"{measure.side.name}-0"))
        measure.objects = len(reference)
        measure.peak = peak_memory(measure.side, tenants, folder / f"{measure.side.name}-memory")
    yield from measures


if __name__ == "__main__":
    sys.exit(main())
