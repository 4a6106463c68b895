"""`trainer ckpt`: list, verify, prune, and compare checkpoints, without the run that made them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from trainer import exits
from trainer.checkpoint import layout
from trainer.checkpoint.layout import BadCheckpoint
from trainer.checkpoint.load import differences
from trainer.exits import Stop


def run(options: argparse.Namespace) -> int:
    """Run one action; `verify` returns 65 when something is wrong."""
    if options.action != "diff":
        options.folder = layout.checkpoints_of(options.folder)
    if options.action == "ls":
        print(json.dumps(listing(options.folder), indent=2))
    elif options.action == "verify":
        return _verify(options.folder)
    elif options.action == "prune":
        for name in prune(options.folder, options.keep):
            print(f"removed {name}")
    else:
        for line in diff(options.old, options.new):
            print(line)
    return exits.FINISHED


def listing(folder: Path) -> list[dict[str, object]]:
    """One entry per committed checkpoint, newest first; reads manifests only."""
    if not folder.is_dir():
        raise Stop(exits.USAGE, f"{folder}: no such folder")
    rows: list[dict[str, object]] = []
    for step, path in layout.committed(folder):
        try:
            manifest = layout.read_manifest(path)
            size = sum(record.bytes for record in manifest.files)
            meta = manifest.meta
            rows.append({"name": path.name, "step": step, "tokens": meta.tokens, "bytes": size, "world": meta.world})
        except BadCheckpoint as error:
            rows.append({"name": path.name, "step": step, "problem": str(error)})
    return rows


def _verify(folder: Path) -> int:
    single = (folder / layout.MANIFEST).exists()
    paths = [folder] if single else [path for _, path in layout.committed(folder)]
    if not paths:
        raise Stop(exits.USAGE, f"{folder}: no checkpoint here")
    bad = 0
    for path in paths:
        try:
            manifest = layout.verify(path)
            print(f"{path.name}: {len(manifest.files)} files match")
        except BadCheckpoint as error:
            bad += 1
            print(f"{path.name}: {error}")
    return exits.DATA if bad else exits.FINISHED


def prune(folder: Path, keep: int) -> list[str]:
    """Remove all but the newest `keep` *valid* checkpoints; invalid ones go as well once a valid one is kept."""
    if keep < 1:
        raise Stop(exits.USAGE, f"--keep {keep}: keep at least one")
    kept: list[Path] = []
    doomed: list[Path] = []
    for _, path in layout.committed(folder):
        try:
            layout.verify(path)
            (kept if len(kept) < keep else doomed).append(path)
        except BadCheckpoint:
            doomed.append(path)
    if not kept:
        raise Stop(exits.DATA, f"{folder}: no valid checkpoint; nothing was removed")
    for path in doomed:
        layout.remove(path)
    return [path.name for path in doomed]


def diff(old: Path, new: Path) -> list[str]:
    """What differs: the description (step, config, model, data) and the tensors, by name."""
    import torch

    from trainer.checkpoint import dcp

    try:
        metas = []
        for path in (old, new):
            metas.append(layout.read_manifest(path).meta.model_dump(mode="json"))
    except BadCheckpoint as error:
        raise Stop(exits.DATA, f"{path}: {error}") from None
    lines = differences(metas[0], metas[1])
    stored = [dcp.stored_tensors(path / layout.STATE) for path in (old, new)]
    for name in sorted({*stored[0], *stored[1]}):
        if name not in stored[0] or name not in stored[1]:
            lines.append(f"{name}: only in {'new' if name in stored[1] else 'old'}")
            continue
        values = [dcp.read_tensors(path / layout.STATE, [name])[name] for path in (old, new)]
        if values[0].shape != values[1].shape:
            lines.append(f"{name}: {list(values[0].shape)} -> {list(values[1].shape)}")
        elif not torch.equal(values[0], values[1]):
            lines.append(
                f"{name}: differs by at most {(values[0].double() - values[1].double()).abs().max().item():.3g}"
            )
    return lines
