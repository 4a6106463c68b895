"""What a process does before it trains: a quicker start, and what to keep for a hang."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, MutableMapping


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No search for garbage while modules are loaded and the run is set up: nearly all of it stays for good.

    A start takes a fifth less CPU time. What was made is left out of later searches too.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


def record_collectives(env: MutableMapping[str, str]) -> None:
    """Let NCCL's flight recorder keep the last 2,000 collectives. What is set stays, under the older name too."""
    if "TORCH_NCCL_TRACE_BUFFER_SIZE" not in env:
        env.setdefault("TORCH_FR_BUFFER_SIZE", "2000")
