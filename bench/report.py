"""The table, its verdicts, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench.measure import PLAIN_PYTHON, TRAINSHED, TYPESCRIPT, Measured, Side

#: Trainshed's seconds as a part of the other side's. At fewer tenants, start-up is most of what is measured.
BARS_AT: Final = 1000
BARS: Final = {TYPESCRIPT: 1.0, PLAIN_PYTHON: 0.4}
#: Seconds per added object from the middle to the largest size, as a part of those before: 1 is linear, and the room
#: above is for noise. Quadratic growth over these sizes would be about 10.
GROWTH_BAR: Final = 1.3


@dataclass(frozen=True)
class Verdict:
    """A bar and what was measured against it."""

    what: str
    measured: float
    bar: float

    @property
    def kept(self) -> bool:
        """Whether the measure is at or under the bar."""
        return self.measured <= self.bar


class Results:
    """All measures of one run of the benchmark."""

    def __init__(self, measures: Sequence[Measured]) -> None:
        self.measures = list(measures)
        self.sizes = sorted({measure.tenants for measure in measures})
        self._by_side = {(measure.side, measure.tenants): measure for measure in measures}

    def of(self, side: Side, tenants: int) -> Measured:
        """The measure of one side at one size."""
        return self._by_side[side, tenants]

    def growth(self, side: Side) -> float | None:
        """Seconds per added object between the two largest sizes, over those between the two before."""
        if len(self.sizes) < 3:
            return None
        small, middle, large = (self.of(side, size) for size in self.sizes[-3:])
        early, late = _per_added_object(small, middle), _per_added_object(middle, large)
        return late / early if early > 0 else None

    def verdicts(self) -> Iterator[Verdict]:
        """What is measured against the bars."""
        if BARS_AT in self.sizes:
            ours = self.of(TRAINSHED, BARS_AT)
            for side, bar in BARS.items():
                ratio = ours.best / self.of(side, BARS_AT).best
                yield Verdict(f"time at {BARS_AT:,} tenants / {side.name}", ratio, bar)
        if (growth := self.growth(TRAINSHED)) is not None:
            small, middle, large = (f"{size:,}" for size in self.sizes[-3:])
            yield Verdict(f"time per added object, {middle} to {large} / {small} to {middle}", growth, GROWTH_BAR)

    def as_json(self) -> str:
        """Measures, ratios and verdicts."""
        rows = [_row(measure, self.of(TRAINSHED, measure.tenants)) for measure in self.measures]
        verdicts = [
            {"what": verdict.what, "measured": round(verdict.measured, 3), "bar": verdict.bar, "kept": verdict.kept}
            for verdict in self.verdicts()
        ]
        return json.dumps({"measures": rows, "verdicts": verdicts}, indent=2)

    def show(self, console: Console) -> None:
        """Prints the table, then one line a bar."""
        table = Table(title="Synth, one file per object", title_justify="left", box=SIMPLE_HEAD, padding=(0, 0))
        for name in ("tenants", "objects", "", "seconds", "ratio", "ms/object", "MiB", "ratio"):
            table.add_column(name, justify="right" if name else "left", no_wrap=True)
        for size in self.sizes:
            ours = self.of(TRAINSHED, size)
            for measure in (measure for measure in self.measures if measure.tenants == size):
                table.add_row(*_cells(measure, ours), end_section=measure.side is TYPESCRIPT)
        console.print(table)
        console.print(
            "Ratios: trainshed's figure as a part of that side's. Best of ", len(ours.seconds), " runs.", sep=""
        )
        for verdict in self.verdicts():
            told = "[green]PASS[/]" if verdict.kept else "[red]over the bar[/]"
            console.print(f"{told}  {verdict.what}: {verdict.measured:.2f} (bar {verdict.bar})", highlight=False)


def _per_added_object(less: Measured, more: Measured) -> float:
    return (more.best - less.best) / (more.objects - less.objects)


def _cells(measure: Measured, ours: Measured) -> Iterator[str]:
    own = measure is ours
    yield f"{measure.tenants:,}" if own else ""
    yield f"{measure.objects:,}" if own else ""
    yield measure.side.name
    yield f"{measure.best:.2f}"
    yield "" if own else f"{ours.best / measure.best:.2f}"
    yield f"{measure.best / measure.objects * 1000:.2f}"
    yield f"{measure.peak / 2**20:.0f}" if measure.peak else "?"
    yield "" if own or not measure.peak else f"{ours.peak / measure.peak:.2f}"


def _row(measure: Measured, ours: Measured) -> dict[str, Any]:
    return {
        "side": measure.side.name,
        "tenants": measure.tenants,
        "objects": measure.objects,
        "seconds": [round(seconds, 4) for seconds in measure.seconds],
        "peak_bytes": measure.peak,
        "time_ratio": round(ours.best / measure.best, 3),
        "memory_ratio": round(ours.peak / measure.peak, 3) if measure.peak else None,
    }
