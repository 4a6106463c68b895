"""A hang ends with all stacks on record instead of a silent week: 69 when nothing moves for too long."""

from __future__ import annotations

import faulthandler
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path


class Watch:
    """Calls `on_hang` after dumping stacks when `beat` is not called for `seconds` (None: never)."""

    def __init__(self, seconds: float | None, folder: Path, rank: int, on_hang: Callable[[str], None]) -> None:
        self.seconds, self.folder, self.rank, self.on_hang = seconds, folder, rank, on_hang
        self._last = time.monotonic()
        self._stopped = threading.Event()
        if seconds is not None:
            threading.Thread(target=self._run, args=(seconds,), name="trainer-watch", daemon=True).start()

    def beat(self) -> None:
        """Something moved."""
        self._last = time.monotonic()

    def stop(self) -> None:
        """End the watch."""
        self._stopped.set()

    def _run(self, seconds: float) -> None:
        while not self._stopped.wait(min(1.0, seconds / 4)):
            idle = time.monotonic() - self._last
            if idle < seconds:
                continue
            self._dump()
            self.on_hang(f"nothing moved for {idle:.0f} s; the stacks are in {self.folder}")
            return

    def _dump(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / f"stacks-{self.rank:05d}.txt").open("w") as stream:
                faulthandler.dump_traceback(stream, all_threads=True)
        except OSError:
            faulthandler.dump_traceback(sys.stderr, all_threads=True)
