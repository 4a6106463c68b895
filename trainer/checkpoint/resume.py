"""Putting a checkpoint's state into a loop that was just built."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trainer import exits, rng
from trainer.checkpoint import layout, load
from trainer.checkpoint.load import Choice
from trainer.config import Config
from trainer.exits import Stop

if TYPE_CHECKING:
    from trainer.loop import Loop

SET_ASIDE = ".set-aside"


def resume(config: Config, loop: Loop, folder: Path) -> None:
    """Load the newest valid checkpoint into `loop`, or leave it as built. Collective.

    Rank 0 looks and everybody uses its choice: on network file systems two nodes may see different folders. Raises
    `Stop` 78 for another model or other data, or when there must be a checkpoint and is none; 69 when none is valid.
    """
    comm, journal = loop.comm, loop.journal
    if config.checkpoint.resume == "never":
        comm.from_main(lambda: _set_aside(folder))
        return
    choice = comm.from_main(lambda: load.choose(folder, tidy=True))
    for text in choice.skipped:
        journal.say("skipped", text=text)
    if choice.path is None or choice.manifest is None:
        if config.checkpoint.resume == "must":
            raise Stop(exits.CONFIG, f"checkpoint.resume is must but {folder} has no checkpoint")
        return
    _load(config, loop, choice)


def _load(config: Config, loop: Loop, choice: Choice) -> None:
    assert choice.path is not None
    assert choice.manifest is not None
    comm, journal, meta, path = loop.comm, loop.journal, choice.manifest.meta, choice.path
    allowed = config.checkpoint.allow_changed
    for notice in load.refuse_changes(meta, loop.describe(loop.progress), allowed):
        journal.say("notice", text=notice)
    partial = "model" in allowed
    left_out = comm.together(lambda: load.load_state(path, loop.targets(), partial=partial))
    if left_out:
        journal.say("notice", text=f"not in the checkpoint, left as initialised: {', '.join(left_out)}")
    loop.progress.step, loop.progress.cursor, loop.progress.tokens = meta.step, meta.cursor, meta.tokens
    loop.saver.last_step = meta.step
    if meta.world == comm.world.size:
        rng.restore(load.load_rng(path, comm.world.rank), comm.device)
    else:
        rng.seed_all(config.run.seed, comm.world.rank, meta.step)
        journal.say("notice", text=f"world {meta.world} -> {comm.world.size}: random states seeded anew")
    journal.say("resume", step=meta.step, path=str(path), world=meta.world)


def _set_aside(folder: Path) -> None:
    for _, path in layout.committed(folder):
        target = path.with_name(path.name + SET_ASIDE)
        number = 1
        while target.exists():
            number += 1
            target = path.with_name(f"{path.name}{SET_ASIDE}-{number}")
        path.rename(target)
