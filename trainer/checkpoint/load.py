"""Resuming: the newest valid checkpoint, refused when it belongs to another model or other data."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from trainer import exits
from trainer.checkpoint import dcp, layout
from trainer.checkpoint.layout import BadCheckpoint, CheckpointManifest, Meta
from trainer.exits import Stop
from trainer.rng import RngState


@dataclass(frozen=True)
class Choice:
    """The checkpoint to resume from (None: none), and why newer ones were skipped."""

    path: Path | None
    manifest: CheckpointManifest | None
    skipped: list[str]


def choose(folder: Path, *, tidy: bool = False) -> Choice:
    """The newest checkpoint whose files all match its manifest.

    `tidy` (one rank only) removes unfinished saves and moves skipped checkpoints out of the way. Raises `Stop` 69 when
    there are checkpoints and none is valid: to start from nothing would hide a broken volume.
    """
    if tidy and folder.is_dir():
        for rest in folder.glob(f"step-*{layout.TEMPORARY}"):
            shutil.rmtree(rest, ignore_errors=True)
    skipped: list[str] = []
    found: Choice | None = None
    bad: list[Path] = []
    for _, path in layout.committed(folder):
        try:
            found = Choice(path, layout.verify(path), skipped)
            break
        except BadCheckpoint as error:
            skipped.append(f"{path.name}: {error}")
            bad.append(path)
    if found is None and bad:
        raise Stop(
            exits.UNHEALTHY,
            f'{folder}: no valid checkpoint ({"; ".join(skipped)}); checkpoint.resume = "never" starts from nothing',
        )
    if tidy:
        for path in bad:
            aside = path.with_name(path.name + layout.CORRUPT)
            shutil.rmtree(aside, ignore_errors=True)
            path.rename(aside)
    return found or Choice(None, None, [])


def refuse_changes(old: Meta, new: Meta, allowed: frozenset[str]) -> list[str]:
    """Raise `Stop` 78 when model or data differ and that is not allowed; returns what else differs."""
    notices: list[str] = []
    if old.model_digest != new.model_digest:
        changed = [
            f"{key} {old.model.get(key)} -> {value}" for key, value in new.model.items() if old.model.get(key) != value
        ]
        _refuse("model", f"the model differs from the checkpoint's: {', '.join(changed)}", allowed, notices)
    if old.data_digest != new.data_digest or old.seq_len != new.seq_len or old.tokenizer_sha256 != new.tokenizer_sha256:
        what = (
            "another tokenizer"
            if old.tokenizer_sha256 != new.tokenizer_sha256
            else f"digest {old.data_digest[:12]} -> {new.data_digest[:12]}, seq_len {old.seq_len} -> {new.seq_len}"
        )
        _refuse("data", f"the data differs from the checkpoint's: {what}", allowed, notices)
    notices += [f"config {entry}" for entry in differences(old.config, new.config)]
    return notices


def _refuse(kind: str, text: str, allowed: frozenset[str], notices: list[str]) -> None:
    if kind not in allowed:
        raise Stop(
            exits.CONFIG,
            f'{text}; set checkpoint.allow_changed = ["{kind}"] to resume all the same, or use another run.dir',
        )
    notices.append(text)


def differences(old: object, new: object, prefix: str = "") -> list[str]:
    """`path: old -> new` for each value that differs in two nested mappings."""
    if isinstance(old, dict) and isinstance(new, dict):
        found: list[str] = []
        for key in sorted({*old, *new}):
            found += differences(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else str(key))
        return found
    return [] if old == new else [f"{prefix}: {old} -> {new}"]


def load_state(path: Path, targets: dict[str, Tensor], *, partial: bool = False) -> list[str]:
    """Fill `targets` in place. `partial` leaves out what the checkpoint lacks or holds in another shape; returns those.

    Every rank reads for itself what it needs, so the world may differ from the one that saved.
    """
    reader = dcp.FileSystemReader(path / layout.STATE)
    left_out: list[str] = []
    if partial:
        stored = dcp.stored_tensors(path / layout.STATE)
        for name, tensor in list(targets.items()):
            if name not in stored or stored[name].size != tensor.shape:
                left_out.append(name)
        targets = {name: tensor for name, tensor in targets.items() if name not in left_out}
    try:
        dcp.load({name: tensor.detach() for name, tensor in targets.items()}, storage_reader=reader, no_dist=True)
    except (dcp.CheckpointException, OSError, RuntimeError) as error:
        raise Stop(exits.UNHEALTHY, f"{path}: cannot load the state: {error}") from None
    return left_out


def load_rng(path: Path, rank: int) -> RngState:
    """Random state of one rank."""
    state: RngState = torch.load(path / f"rng-{rank:05d}.pt", weights_only=True)
    return state
