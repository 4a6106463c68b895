"""SIGTERM: a flag that the loop asks for, an immediate way out where nothing can be lost, and a deadline."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

SHUTDOWN_VARIABLE = "TRAINSHED_SHUTDOWN_SECONDS"
SIGNALS = (signal.SIGTERM, signal.SIGINT)
LAST_WORD_SECONDS = 1.0
SWALLOWED_SECONDS = 2.0
"""After this the exception of a signal counts as lost: Python drops what is raised inside destructors and callbacks."""


class PreemptedNow(BaseException):
    """Raised inside the interrupted code; a BaseException, so that no library swallows it."""


class Preemption:
    """State of this process's preemption. One per process; `install` must run in the main thread."""

    def __init__(self) -> None:
        self.requested = False
        self.at: float | None = None
        self.nothing_to_lose = True
        """While true (set-up, compilation, the first step after a start), a signal ends the process at once."""
        self.on_deadline: Callable[[], None] = lambda: None
        self.on_swallowed: Callable[[], None] = lambda: None
        self.decided = False
        self.shutdown_seconds = _read_shutdown()

    def install(self) -> None:
        """Take over SIGTERM and SIGINT."""
        for number in SIGNALS:
            signal.signal(number, self._handle)
        follow_launcher()

    def ignore(self) -> None:
        """From here on the outcome is decided; a further signal must not change it."""
        self.decided = True
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        first = not self.requested
        self.requested = True
        if first:
            self.at = time.monotonic()
            self._start_deadline()
        if first and self.nothing_to_lose:
            self._start(SWALLOWED_SECONDS, self._end_if_swallowed)
            raise PreemptedNow

    def _end_if_swallowed(self) -> None:
        if self.nothing_to_lose and not self.decided:
            self.on_swallowed()

    def _start_deadline(self) -> None:
        if self.shutdown_seconds is None:
            return
        self._start(max(0.1, self.shutdown_seconds - LAST_WORD_SECONDS), self.on_deadline)

    @staticmethod
    def _start(seconds: float, action: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        timer.start()

    def seconds_since(self) -> float:
        """Seconds since the signal; 0 without one."""
        return 0.0 if self.at is None else time.monotonic() - self.at


def _read_shutdown() -> float | None:
    text = os.environ.get(SHUTDOWN_VARIABLE)
    try:
        return float(text) if text else None
    except ValueError:
        return None


def follow_launcher() -> None:
    """Ask Linux for a SIGTERM when the launcher dies, so that a killed one leaves no orphans (as torchrun does)."""
    launcher = os.environ.get("TRAINSHED_LAUNCHER_PID")
    if not launcher or os.getppid() != int(launcher):
        return
    import ctypes

    try:
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    except (OSError, AttributeError):
        return
