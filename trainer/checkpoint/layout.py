"""What lies where in a checkpoint folder, and how to tell a good checkpoint from a bad one.

checkpoints/
  latest                 name of the newest committed checkpoint, for people and tools
  step-00000020/
    manifest.json        every other file with size and SHA-256, and what the state is
    rng-00000.pt         random state of each rank
    state/               torch.distributed.checkpoint: model and optimizer, each rank wrote a share
  step-00000030.tmp/     a save in progress, or one that was killed; never read
  step-00000025.corrupt/ was skipped at a resume and moved out of the way
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from trainer.data.manifest import FileRecord, sha256_of

FOLDER = "checkpoints"
MANIFEST = "manifest.json"
STATE = "state"
LATEST = "latest"
TEMPORARY = ".tmp"
CORRUPT = ".corrupt"
_NAME = re.compile(r"step-(\d{8,})")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Meta(_Strict):
    """What the state is and where it came from. `cursor` counts rows taken from the order, `step` completed steps.

    `transformers` is the config.json of a model that came from a folder (`model.hf`).
    """

    step: int
    cursor: int
    tokens: int
    seed: int
    world: int
    model: dict[str, bool | int | float | str]
    model_digest: str
    transformers: dict[str, object] | None = None
    data_digest: str
    seq_len: int
    config: dict[str, object]
    config_digest: str
    tokenizer_sha256: str
    torch: str
    trainer: str
    image_digest: str | None = None
    git_revision: str | None = None


class CheckpointManifest(_Strict):
    """The manifest file."""

    format: Literal["trainer-checkpoint-1"] = "trainer-checkpoint-1"
    meta: Meta
    files: list[FileRecord]


class BadCheckpoint(Exception):  # noqa: N818
    """Why a checkpoint cannot be used."""


def name_of(step: int) -> str:
    """Folder name of a step; sorts by step."""
    return f"step-{step:08d}"


def checkpoints_of(folder: Path) -> Path:
    """The folder with the checkpoints, where a run's folder is named in its place; else `folder` itself."""
    inner = folder / FOLDER
    return inner if inner.is_dir() else folder


def committed(folder: Path) -> list[tuple[int, Path]]:
    """(step, folder) of everything under a final name, newest first."""
    if not folder.is_dir():
        return []
    found = [(int(match[1]), entry) for entry in folder.iterdir() if (match := _NAME.fullmatch(entry.name))]
    return sorted(found, reverse=True)


def read_manifest(checkpoint: Path) -> CheckpointManifest:
    """The manifest. Raises `BadCheckpoint`."""
    file = checkpoint / MANIFEST
    try:
        return CheckpointManifest.model_validate(json.loads(file.read_text()))
    except OSError as error:
        raise BadCheckpoint(f"{file.name}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise BadCheckpoint(f"{file.name}: not JSON") from None
    except ValidationError as error:
        raise BadCheckpoint(f"{file.name}: {error.error_count()} fields are wrong") from None


def verify(checkpoint: Path) -> CheckpointManifest:
    """Check every file's size and hash. Raises `BadCheckpoint` with the first file that differs."""
    manifest = read_manifest(checkpoint)
    if name_of(manifest.meta.step) != checkpoint.name:
        raise BadCheckpoint(f"{MANIFEST}: belongs to step {manifest.meta.step}")
    for record in manifest.files:
        file = checkpoint / record.name
        try:
            size = file.stat().st_size
            if size != record.bytes:
                raise BadCheckpoint(f"{record.name}: {size} bytes instead of {record.bytes}")
            if sha256_of(file) != record.sha256:
                raise BadCheckpoint(f"{record.name}: SHA-256 differs from the manifest")
        except OSError as error:
            raise BadCheckpoint(f"{record.name}: {error.strerror}") from None
    return manifest


def remove(checkpoint: Path) -> None:
    """Remove a checkpoint so that no half of it is ever seen under its name; what a kill leaves is swept at a start."""
    doomed = checkpoint.with_name(f"{checkpoint.name}.old{TEMPORARY}")
    shutil.rmtree(doomed, ignore_errors=True)
    checkpoint.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def sync(path: Path) -> None:
    """fsync a file or a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_synced(file: Path, text: str) -> None:
    """Write a small file by temporary name and rename, durable when this returns."""
    temporary = file.with_name(file.name + ".new")
    with temporary.open("w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)
    sync(file.parent)
