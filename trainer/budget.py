"""What a preemption may cost: save + one step + margin must fit in the launcher's shutdown timeout."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from trainer import exits
from trainer.exits import Stop

PROBE_BYTES = 16 << 20


@dataclass(frozen=True)
class Budget:
    """Seconds, bytes and megabytes per second; `shutdown_seconds` None means that no launcher set a limit."""

    state_bytes: int
    bytes_per_rank: int
    write_mb_per_second: float
    save_seconds: float
    step_seconds: float
    margin_seconds: float
    shutdown_seconds: float | None

    @property
    def needed(self) -> float:
        """Seconds from SIGTERM to the end."""
        return self.save_seconds + self.step_seconds + self.margin_seconds

    @property
    def holds(self) -> bool:
        """Whether the rule holds (always, without a limit)."""
        return self.shutdown_seconds is None or self.needed <= self.shutdown_seconds

    def fields(self) -> dict[str, object]:
        """For the journal."""
        return {**asdict(self), "needed_seconds": self.needed, "holds": self.holds}

    def refuse(self) -> None:
        """Raise `Stop` 78 when the rule cannot hold."""
        if self.holds or self.shutdown_seconds is None:
            return
        raise Stop(
            exits.CONFIG,
            f"a preemption needs {self.needed:.1f} s (save {self.state_bytes / 1e6:.0f} MB at "
            f"{self.write_mb_per_second:.3g} MB/s per rank: {self.save_seconds:.1f}, step {self.step_seconds:.1f}, "
            f"margin {self.margin_seconds:.1f}) but only {self.shutdown_seconds:.0f} s are left after SIGTERM; raise "
            "terminationGracePeriodSeconds, or set preempt.enforce = false and accept unsaved preemptions",
        )


def write_speed(folder: Path, rank: int, size: int = PROBE_BYTES) -> float:
    """MB per second of hashing, writing and syncing a probe in `folder`. Raises `Stop` 69 when it cannot write."""
    probe = folder / f".probe-{rank}-{os.getpid()}"
    data = os.urandom(1 << 20) * (size >> 20)
    begin = time.perf_counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with probe.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        hashlib.sha256(data)
    except OSError as error:
        raise Stop(exits.UNHEALTHY, f"{folder}: cannot write checkpoints: {error.strerror}") from None
    finally:
        with suppress(OSError):  # a volume that is gone must not hide why
            probe.unlink()
    return len(data) / 1e6 / max(1e-6, time.perf_counter() - begin)
