"""Makes a folder hold exactly a set of generated files, or says in what it differs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Final

from trainshed.faults import Fault, Faults, Place
from trainshed.gitops.lock import locked
from trainshed.gitops.tree_swap import STAGING, Swap
from trainshed.gitops.yaml_text import GENERATED

_MARK: Final = GENERATED.encode()
_PATH: Final = re.compile(r"[^/\\\x00-\x1f\x7f]+(?:/[^/\\\x00-\x1f\x7f]+)*")
# Operating systems strew these; they are neither ours nor anybody's work.
_LITTER: Final = frozenset((".DS_Store", "Thumbs.db", "desktop.ini"))


@dataclass(frozen=True)
class Changes:
    """Paths below the root, sorted. `foreign` are files there that Trainshed has not generated and will not remove."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether the folder differs from what it should be."""
        return bool(self.added or self.changed or self.removed or self.foreign)


def write_tree(root: Path, files: Mapping[str, str]) -> Changes:
    """Makes `root` hold exactly `files` (POSIX path below `root` → text) and says what changed.

    Equal files keep their inode and mtime; stale files and empty folders go; a missing or half-deleted `root` is made
    again. Raises Faults, with `root` as it was, when a path leaves `root` or differs from another only in case, when a
    stale file does not begin as generated ones do, and when the system refuses a step. Raises ValueError for a text
    without that beginning (`yaml_text.GENERATED`), since no later run could remove it.
    """
    contents = _contents(files)
    with _told(root, "written"), locked(root):
        found = _scan(root)
        changes = _compare(root, found, contents)
        if changes.foreign:
            raise Faults(_foreign(root, path) for path in changes.foreign)
        folders = _folders(contents)
        unwanted = [folder for folder in found.folders if folder not in folders]
        if changes or unwanted:
            _swap(root, found, contents, changes, unwanted)
        elif found.leftover:
            shutil.rmtree(root / STAGING, ignore_errors=True)
    return changes


def compare_tree(root: Path, files: Mapping[str, str]) -> Changes:
    """What `write_tree` would change; only reads. Raises Faults for wrong paths and for what cannot be read."""
    contents = _contents(files)
    with _told(root, "read"), locked(root, shared=True):
        return _compare(root, _scan(root), contents)


@dataclass
class _Found:
    """What lies below the root: files, folders (parents first), anything else; and a staging folder left by a crash."""

    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    leftover: bool = False


def _contents(files: Mapping[str, str]) -> dict[str, bytes]:
    if faults := list(_path_faults(files)):
        raise Faults(faults)
    for path, text in files.items():
        if not text.startswith(GENERATED):
            raise ValueError(f'the text of "{path}" does not begin with "{GENERATED}"')
    return {path: text.encode() for path, text in files.items()}


def _path_faults(files: Iterable[str]) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    folders: set[str] = set()
    for path in files:
        parts = path.split("/")
        if not _PATH.fullmatch(path) or "." in parts or ".." in parts or parts[0] == STAGING:
            yield Fault(f'"{path}" is not a path below the output folder')
            continue
        folder = path.rpartition("/")[0]
        new = [path]
        if folder and folder not in folders:
            above = [name for name in _ancestors(folder) if name not in folders]
            folders.update(above)
            new = [*above, path]
        for name in new:
            if (other := seen.setdefault(name.casefold(), name)) is not name:
                told = "both a file and a folder" if other == name else f'"{other}" where letter case does not count'
                yield Fault(f'"{name}" is {told}', fix="give one of the two another name")


def _ancestors(folder: str) -> Iterator[str]:
    """`a/b` → `a`, `a/b`."""
    return accumulate(folder.split("/"), "{}/{}".format)


def _folders(paths: Iterable[str]) -> set[str]:
    return {name for folder in {path.rpartition("/")[0] for path in paths} if folder for name in _ancestors(folder)}


def _scan(root: Path) -> _Found:
    found = _Found()
    if os.path.lexists(root):
        _scan_folder(os.fspath(root), "", found)
    return found


def _scan_folder(folder: str, prefix: str, found: _Found) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            path = prefix + entry.name
            if entry.is_file(follow_symlinks=False):
                if entry.name not in _LITTER:
                    found.files.append(path)
            elif path == STAGING:
                found.leftover = True
            elif entry.is_dir(follow_symlinks=False):
                found.folders.append(path)
                _scan_folder(entry.path, path + "/", found)
            else:
                found.others.append(path)


def _compare(root: Path, found: _Found, contents: Mapping[str, bytes]) -> Changes:
    base = f"{root}/"
    changes = Changes()
    present = set(found.files)
    present.update(found.others)
    for path in found.files:
        wanted = contents.get(path)
        if wanted is not None:
            same = _read(base + path, len(wanted) + 1) == wanted
            (changes.unchanged if same else changes.changed).append(path)
        else:
            begin = _read(base + path, len(_MARK))
            (changes.removed if begin in (_MARK, b"") else changes.foreign).append(path)
    for path in found.others:
        (changes.changed if path in contents else changes.foreign).append(path)
    changes.added.extend(path for path in contents if path not in present)
    for paths in (changes.added, changes.changed, changes.removed, changes.unchanged, changes.foreign):
        paths.sort()
    return changes


def _read(path: str, limit: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, limit)
    finally:
        os.close(descriptor)


def _swap(root: Path, found: _Found, contents: Mapping[str, bytes], changes: Changes, unwanted: Iterable[str]) -> None:
    """Whole folders leave at once; what else is stale leaves file by file, then the new files come."""
    gone: set[str] = set()
    for folder in unwanted:  # parents first
        if gone.isdisjoint(_ancestors(folder)):
            gone.add(folder)
    stale = [path for path in changes.removed if gone.isdisjoint(_ancestors(path))]
    fresh = sorted(_folders(contents) - set(found.folders))
    with Swap(os.fspath(root)) as swap:
        written = {path: swap.stage(contents[path]) for path in (*changes.added, *changes.changed)}
        for path in (*sorted(gone), *stale, *changes.changed):
            swap.park(path)
        for folder in fresh:
            swap.make_folder(folder)
        for path, staged in written.items():
            swap.place(staged, path)


def _foreign(root: Path, path: str) -> Fault:
    return Fault(
        "is not generated by trainshed", fix=f"move it out of {root.name or root}/", place=Place(str(root / path))
    )


@contextmanager
def _told(root: Path, done: str) -> Iterator[None]:
    """Turns what the system refuses into a Fault at the file it refused."""
    try:
        yield
    except OSError as error:
        if root.is_file():
            fix = "move it away, or name another output in cdk8s.yaml"
            raise Faults([Fault("is a file, and a folder is wanted", fix=fix, place=Place(str(root)))]) from None
        named = error.filename if isinstance(error.filename, str) and STAGING not in error.filename else str(root)
        fault = Fault(f"cannot be {done}: {error.strerror or error}", fix="nothing was changed", place=Place(named))
        raise Faults([fault]) from error
