"""Renames below one folder that happen together or not at all.

New texts are first written to a staging folder inside the root, which is certain to be the same file system, needs no
rights outside and survives mounts and links. Only renames and new folders follow, and they are undone in reverse.
"""

# Paths are strings here: for thousands of files, making Path objects would cost as much as the renames.
# ruff: noqa: PTH102, PTH104, PTH112, PTH118, PTH120

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self

from trainshed.faults import Fault, Faults, Place

STAGING: Final = ".trainshed-staging"


class Swap:
    """A context: leaving it by an exception puts everything back, as far as the system allows.

    What it does not allow is told as a Fault. Paths are POSIX, below `root`.
    """

    def __init__(self, root: str) -> None:
        self._root = os.path.join(root, "")
        self._staging = os.path.join(root, STAGING)
        self._undo: list[tuple[Callable[..., None], tuple[str, ...]]] = []
        self._count = 0

    def __enter__(self) -> Self:
        try:
            self._make_folders(os.path.dirname(self._root))
            shutil.rmtree(self._staging, ignore_errors=True)
            self._make(self._staging)
            # Should a killed run leave the folder behind, it must not be committed.
            self._write(f"{self._staging}/.gitignore", b"*\n")
        except BaseException:
            self._roll_back()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            shutil.rmtree(self._staging, ignore_errors=True)
        else:
            self._roll_back()

    def stage(self, content: bytes) -> str:
        """Writes `content` where it waits for `place`."""
        path = self._next()
        self._write(path, content)
        return path

    def park(self, path: str) -> None:
        """Takes a file or folder away; it is deleted at the end."""
        self._rename(self._root + path, self._next())

    def place(self, staged: str, path: str) -> None:
        """Puts a staged file where nothing stands (any more)."""
        self._rename(staged, self._root + path)

    def make_folder(self, path: str) -> None:
        """Makes a folder in one that exists."""
        self._make(self._root + path)

    def _make_folders(self, folder: str) -> None:
        if folder and not os.path.isdir(folder):
            self._make_folders(os.path.dirname(folder))
            self._make(folder)

    @staticmethod
    def _write(path: str, content: bytes) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            while content:
                content = content[os.write(descriptor, content) :]
        finally:
            os.close(descriptor)

    # The way back is noted first, so that an interrupt between the two cannot lose it; undoing what was not done
    # finds nothing to undo.

    def _make(self, folder: str) -> None:
        self._undo.append((os.rmdir, (folder,)))
        os.mkdir(folder)

    def _rename(self, old: str, new: str) -> None:
        self._undo.append((os.rename, (new, old)))
        os.rename(old, new)

    def _next(self) -> str:
        self._count += 1
        return f"{self._staging}/{self._count}"

    def _roll_back(self) -> None:
        with _undisturbed():
            self._undo_all()

    def _undo_all(self) -> None:
        stuck: list[str] = []
        while self._undo:
            undo, paths = self._undo.pop()
            try:
                if paths != (self._staging,):
                    undo(*paths)
                elif not stuck:
                    shutil.rmtree(self._staging, ignore_errors=True)
            except FileNotFoundError:
                continue
            except OSError as error:
                stuck.append(f"{paths[-1]} ({error.strerror})")
        if stuck:
            told = f"what stood at {', '.join(stuck)} could not be put back"
            raise Faults([Fault(told, fix="render again, all of it is generated", place=Place(self._root[:-1]))])


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Until everything is back in its place, a further Ctrl-C changes nothing: the run is ending already."""
    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        with suppress(AttributeError, ValueError):  # Windows; other threads than the main one, which get no signals
            before[name] = signal.signal(getattr(signal, name), signal.SIG_IGN)
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
