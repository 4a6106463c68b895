"""The state before a change: a folder, a file, or a revision of the Git repository that the input lies in."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trainshed.checks.fleets import WorldOf, world_of
from trainshed.checks.options import CannotCheck
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_v1beta1 import as_v1beta2
from trainshed.fleet.reading import read


@dataclass
class Baseline:
    """The documents before the change, and which of them describe one cluster."""

    documents: list[Document]
    world: WorldOf


def read_baseline(baseline: str, paths: Sequence[str]) -> Baseline:
    """What `baseline` names. A path that exists is read; anything else has to be a Git revision, of which `paths` are
    read. Raises CannotCheck when it is neither, or when the files before the change cannot be read."""
    if os.path.lexists(baseline):
        reading = read([baseline])
        if reading.unreadable:
            message = next(one.message for one in reading.findings if one.code == "unreadable")
            raise CannotCheck(f"--baseline {baseline} cannot be read: {message}")
        if broken := next((one for one in reading.findings if one.severity == "error" and not reading.documents), None):
            raise CannotCheck(f"--baseline {baseline} holds no object; {broken.place}: {broken.message}")
        documents = [as_v1beta2(document) for document in reading.documents]
        return Baseline(documents, world_of(documents))
    return _revision(baseline, paths)


def _revision(revision: str, paths: Sequence[str]) -> Baseline:
    import tarfile
    from tempfile import TemporaryDirectory

    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise CannotCheck(_not_found(revision))
    if "-" in paths:
        raise CannotCheck("--baseline with a Git revision needs files or folders; standard input has no history")
    name = commit.decode().strip()
    wanted = [os.path.relpath(path) for path in paths]
    outside = [path for path in wanted if path.startswith(os.pardir)]
    if outside:
        raise CannotCheck(
            f"{outside[0]} lies outside the folder that trainshed runs in, so {revision} has no such path"
        )
    known = [path for path in wanted if _git("cat-file", "-e", f"{name}:./{path}") is not None]
    if not known:
        return Baseline([], lambda _: "")
    archive = _git("archive", "--format=tar", name, "--", *known)
    if archive is None:
        raise CannotCheck(f"--baseline {revision}: git archive failed")
    with TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        reading = read([str(Path(folder, path)) for path in known])
    documents = [as_v1beta2(document) for document in reading.documents]
    _rename(documents, folder)
    world = world_of(documents)
    worlds = {id(document.source): world(document) for document in documents}
    for source in {id(document.source): document.source for document in documents}.values():
        source.file = f"{revision}:{source.file}"
    return Baseline(documents, lambda document: worlds[id(document.source)])


def _not_found(revision: str) -> str:
    shown = f"--baseline {revision or repr(revision)} is neither a file or folder nor a revision"
    shallow = _git("rev-parse", "--is-shallow-repository")
    if shallow is None:
        return f"{shown}: this folder lies in no Git repository"
    if shallow.strip() == b"true":
        return f"{shown} that this shallow clone has; fetch it first (`git fetch --unshallow`, or fetch-depth: 0 in CI)"
    return f"{shown} of this Git repository"


def _rename(documents: list[Document], folder: str) -> None:
    """Paths as they are in the repository: the folder that they were unpacked into is gone."""
    for source in {id(document.source): document.source for document in documents}.values():
        root = os.path.relpath(source.root, folder)
        explicit = source.file == source.root
        source.file = root if explicit else str(os.path.join(root, os.path.relpath(source.file, source.root)))  # noqa: PTH118
        source.root = root


def _git(*arguments: str) -> bytes | None:
    """The output of git, None where it fails or is not installed."""
    import subprocess

    try:
        return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
