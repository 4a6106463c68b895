"""One writer at a time: two runs of synth in one repository take turns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def locked(root: Path, *, shared: bool = False) -> Iterator[None]:
    """Waits until no other process writes to `root`, or, unless `shared`, reads it. Leaves no file behind.

    Without effect where the system has no such locks (Windows, some network file systems).
    """
    descriptor = _folder_of(root)
    try:
        if descriptor is not None:
            _lock(descriptor, shared)
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)  # and with it the lock


def _folder_of(root: Path) -> int | None:
    """The folder that `root` stands in, opened: it is there before `root` is, and stays the same."""
    folder = root.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    with suppress(OSError):
        return os.open(folder, os.O_RDONLY)
    return None


def _lock(descriptor: int, shared: bool) -> None:
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
