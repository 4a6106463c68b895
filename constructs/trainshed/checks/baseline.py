"""The state before a change: a folder, a file, or a revision of the Git repository that the input lies in."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainshed.checks.fleets import WorldOf, world_of
from trainshed.checks.options import CannotCheck
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_v1beta1 import as_v1beta2
from trainshed.fleet.reading import read
from trainshed.fleet.sources import SUFFIXES


@dataclass
class Baseline:
    """The documents before the change, and which of them describe one cluster."""

    documents: list[Document]
    world: WorldOf


def read_baseline(baseline: str, paths: Sequence[str], documents: Sequence[Document] = ()) -> Baseline:
    """What `baseline` names. A path that exists is read; anything else has to be a revision of the Git repository that
    `paths` lie in, of which `paths` are read. `documents` are the objects now: a path that the revision lacks may hold
    some that have moved there. Raises CannotCheck when it is neither, or when the past cannot be read."""
    if os.path.lexists(baseline):
        reading = read([baseline])
        if reading.unreadable:
            message = next(one.message for one in reading.findings if one.code == "unreadable")
            raise CannotCheck(f"--baseline {baseline} cannot be read: {message}")
        if broken := next((one for one in reading.findings if one.severity == "error" and not reading.documents), None):
            raise CannotCheck(f"--baseline {baseline} holds no object; {broken.place}: {broken.message}")
        found = [as_v1beta2(document) for document in reading.documents]
        return Baseline(found, world_of(found))
    return _revision(baseline, paths, documents)


def _revision(revision: str, paths: Sequence[str], now: Sequence[Document]) -> Baseline:
    top, wanted = _repository(revision, paths)
    commit = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise CannotCheck(_not_found(revision, top))
    if "-" in paths:
        raise CannotCheck("--baseline with a Git revision needs files or folders; standard input has no history")
    name = commit.decode().strip()
    known = {path: given for path, given in wanted.items() if _git(top, "cat-file", "-e", f"{name}:./{path}") == b""}
    documents = _archived(top, name, known)
    absent = [path for path in wanted if path not in known]
    if absent:
        _refuse_ignored(revision, top, absent)
        documents += _moved(top, name, now, documents)
    world = world_of(documents)
    worlds = {id(document.source): world(document) for document in documents}
    inside = {given: path for path, given in known.items()}
    for source in {id(document.source): document.source for document in documents}.values():
        root = inside.get(source.root, source.root)
        file = root if source.explicit else os.path.normpath(_below(root, source.file, source.root))
        source.file = f"{revision}:{file}"
    return Baseline(documents, lambda document: worlds[id(document.source)])


def _repository(revision: str, paths: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The top folder of the repository that all paths lie in; by each path from there, the path as it was given."""
    tops: dict[str, str] = {}
    wanted: dict[str, str] = {}
    for path in paths:
        folder, name = (path, "") if os.path.isdir(path) else os.path.split("" if path == "-" else path)  # noqa: PTH112
        folder = os.path.realpath(folder or os.curdir)
        top = _git(folder, "rev-parse", "--show-toplevel") if os.path.isdir(folder) else None  # noqa: PTH112
        if top is None:
            raise CannotCheck(f"{_neither(revision)}: {path} lies in no Git repository")
        tops.setdefault(os.fsdecode(top).rstrip("\n"), path)
        wanted[os.path.relpath(os.path.join(folder, name), next(iter(tops)))] = path  # noqa: PTH118
    if len(tops) > 1:
        first, second, *_ = tops.values()
        raise CannotCheck(f"--baseline {revision}: {first} and {second} lie in different Git repositories")
    return next(iter(tops)), wanted


def _archived(top: str, commit: str, known: Mapping[str, str]) -> list[Document]:
    """The documents that the commit holds at the paths, named as `known` says."""
    import tarfile
    from tempfile import TemporaryDirectory

    if not known:
        return []
    archive = _git(top, "archive", "--format=tar", commit, "--", *(f":(literal){path}" for path in known))
    if archive is None:
        raise CannotCheck(f"--baseline {commit}: git archive failed")
    with TemporaryDirectory() as folder:
        given = {str(Path(folder, path)): shown for path, shown in known.items()}
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        reading = read(list(given))
    documents = [as_v1beta2(document) for document in reading.documents]
    for source in {id(document.source): document.source for document in documents}.values():
        root = given[source.root]
        source.file = root if source.explicit else _below(root, source.file, source.root)
        source.root = root
    return documents


def _below(root: str, file: str, old: str) -> str:
    return os.path.join(root, os.path.relpath(file, old))  # noqa: PTH118


def _moved(top: str, commit: str, now: Sequence[Document], before: Sequence[Document]) -> list[Document]:
    """What the files held that are gone since and in which objects of now stood: they were renamed, or merged."""
    names = _git(top, "diff", "--name-only", "--no-renames", "--diff-filter=D", "-z", commit, "--")
    gone = [name for name in os.fsdecode(names or b"").split("\0") if name.endswith(SUFFIXES)]
    here = {document.identity for document in now} - {document.identity for document in before}
    known = {document.file for document in before}
    found = _archived(top, commit, {name: name for name in gone if name not in known})
    files = {document.file for document in found if document.identity in here}
    return [document for document in found if document.file in files]


def _refuse_ignored(revision: str, top: str, paths: Sequence[str]) -> None:
    for path in paths:
        if _git(top, "check-ignore", "--quiet", "--", path) is not None:
            raise CannotCheck(
                f"{revision} has no {path}, which Git ignores: render it from {revision} as well, and pass that folder"
            )


def _neither(revision: str) -> str:
    return f"--baseline {revision or repr(revision)} is neither a file or folder nor a revision"


def _not_found(revision: str, top: str) -> str:
    shown = _neither(revision)
    if (_git(top, "rev-parse", "--is-shallow-repository") or b"").strip() == b"true":
        return f"{shown} that this shallow clone has; fetch it first (`git fetch --unshallow`, or fetch-depth: 0 in CI)"
    return f"{shown} of this Git repository"


def _git(folder: str, *arguments: str) -> bytes | None:
    """The output of git in a folder, None where it fails or is not installed."""
    import subprocess

    try:
        return subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
