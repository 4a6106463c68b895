"""How the stacks of a repository are imported: from this repository alone, and always from their source."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import ModuleType
from typing import Any

_OWN = Path(__file__).resolve().parents[1]


class _FromSource(SourceFileLoader):
    """Reads and writes no bytecode: a cache holds for source of the same second and the same size."""

    def path_stats(self, path: str) -> Any:
        """Refused, which is how importlib is told that there is no cache."""
        raise OSError("stacks are compiled anew")


class _Pinned:
    """Finds one top-level name in one folder only."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folders = [str(folder)]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of that name; None for all others."""
        if path is not None or fullname != self._name:
            return None
        found = PathFinder.find_spec(fullname, self._folders, target)
        if found is None:
            raise ModuleNotFoundError(f"No module named {fullname!r} in this folder", name=fullname)
        return found


def import_from_source(folder: Path) -> None:
    """From now on, what lies in `folder` is imported without bytecode caches. Installed packages there keep theirs."""
    root = folder.resolve()

    def hook(path: str) -> FileFinder:
        real = Path(os.path.realpath(path))
        if (
            not real.is_dir()
            or not real.is_relative_to(root)
            or real.is_relative_to(_OWN)
            or "site-packages" in real.parts
        ):
            raise ImportError
        return FileFinder(path, (ExtensionFileLoader, EXTENSION_SUFFIXES), (_FromSource, SOURCE_SUFFIXES))

    sys.path_hooks.insert(0, hook)
    for path in list(sys.path_importer_cache):
        if Path(os.path.realpath(path)).is_relative_to(root):
            del sys.path_importer_cache[path]


def pin(name: str, folder: Path) -> None:
    """From now on, the top-level package `name` is that of `folder`, and never an installed one."""
    sys.meta_path.insert(0, _Pinned(name, folder))
