"""Python's garbage collector, kept from walking what lives until the end anyway."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No search for garbage inside; afterwards the collector is as it was, whatever happened. May be nested."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():  # what was made counts as old: the next search would walk through all of it
                gc.freeze()
                gc.unfreeze()
            gc.enable()
