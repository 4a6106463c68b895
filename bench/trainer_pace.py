"""Sides that take turns step by step, so that a busy machine is equally busy for each of them.

Each side is a process (or a launcher's ranks) that stops before a step and waits for its turn. A round is one step of
each side, and what counts is the median over rounds of the ratio of two sides' steps in the same round. The time of a
step is the CPU seconds of its process, of the rank with more of them where there are two: other programs hardly touch
it. Wall-clock ratios are told beside it. Started as a script, this file is a rank of the trainer that keeps the pace.
"""

from __future__ import annotations

import os
import socket
import statistics
import struct
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

VARIABLE = "BENCH_PACE"
"""Path of the socket; a side without it does not wait."""
TIMES = struct.Struct("dd")


class Pace:
    """In a side: `turn` before each step."""

    def __init__(self, path: str | None) -> None:
        self.line: socket.socket | None = None
        self.cpu, self.wall = time.process_time(), 0.0
        if path:
            self.line = socket.socket(socket.AF_UNIX)
            self.line.connect(path)

    def turn(self) -> None:
        """Tell the seconds since the last turn and wait for the next; ends the process when there is none.

        What threads do while the process waits is counted as CPU time too.
        """
        if self.line is None:
            return
        cpu = time.process_time()
        self.line.sendall(TIMES.pack(cpu - self.cpu, time.perf_counter() - self.wall))
        self.cpu = cpu
        if not self.line.recv(1):
            os._exit(0)
        self.wall = time.perf_counter()


@dataclass
class Side:
    """The bench's end of a side's lines."""

    lines: list[socket.socket]
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def step(self) -> None:
        """Let the side make one step."""
        for line in self.lines:
            line.sendall(b"!")
        found = [TIMES.unpack(_exactly(line)) for line in self.lines]
        self.cpu.append(max(cpu for cpu, _ in found))
        self.wall.append(max(wall for _, wall in found))


def _exactly(line: socket.socket) -> bytes:
    data = line.recv(TIMES.size, socket.MSG_WAITALL)
    if len(data) < TIMES.size:
        sys.exit("a side ended before its time")
    return data


class Race:
    """Accepts sides one after the other and lets them step in turn."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(self.path)
        self.door.listen()
        self.door.settimeout(300)
        self.sides: dict[str, Side] = {}

    def admit(self, name: str, ranks: int) -> None:
        """Wait until a side that was started stands before its first step."""
        lines = [self.door.accept()[0] for _ in range(ranks)]
        for line in lines:
            line.settimeout(300)
            _exactly(line)
        self.sides[name] = Side(lines)

    def run(self, rounds: int, uncounted: int) -> None:
        """Rounds in which each side is first, second ... equally often; then the sides end."""
        names = list(self.sides)
        for number in range(uncounted + rounds):
            for place in range(len(names)):
                self.sides[names[(place + number) % len(names)]].step()
        for side in self.sides.values():
            side.cpu, side.wall = side.cpu[uncounted:], side.wall[uncounted:]
            for line in side.lines:
                line.close()
        self.door.close()


@dataclass(frozen=True)
class Ratio:
    """Median and quartiles of the ratios of paired steps."""

    low: float
    median: float
    high: float

    @staticmethod
    def of(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
        """Of the steps of two sides, round by round."""
        return Ratio(*statistics.quantiles([a / b for a, b in zip(ours, theirs, strict=True)], n=4))


def main() -> int:
    """The trainer's rank, which waits before each step."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from trainer import loop, train

    pace, step = Pace(os.environ.get(VARIABLE)), loop.Loop._step

    def paced(self: loop.Loop) -> None:
        pace.turn()
        step(self)

    loop.Loop._step = paced  # type: ignore[method-assign]
    return train.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
