"""One rank of a run: from the command line to the exit code."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from trainer import config_load, exits, outcome, topology
from trainer.config import Config
from trainer.exits import Stop
from trainer.outcome import Outcome
from trainer.preempt import PreemptedNow, Preemption
from trainer.startup import uncollected

if TYPE_CHECKING:
    from trainer.loop import Loop
    from trainer.metrics import Goodput, Journal
    from trainer.watch import Watch


class Parser(argparse.ArgumentParser):
    """argparse with our code for a wrong command line."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        found = re.search(r"invalid choice: '(\S+)' \(choose from (.*)\)", message)
        near = get_close_matches(found[1], re.findall(r"[\w-]+", found[2]), n=1) if found else []
        message += f"; did you mean {near[0]}?" if near else ""
        raise Stop(exits.USAGE, message)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a rank; few, so that none is an abbreviation of a torchrun option."""
    parser.add_argument("--config", metavar="FILE", help="TOML file (see `trainer config schema`)")
    parser.add_argument("--set", metavar="SECTION.KEY=VALUE", action="append", default=[], help="override one value")


def main(arguments: Sequence[str]) -> int:
    """Train; returns the exit code. With peers the process ends here, since a lost peer can block a clean shutdown."""
    preemption = Preemption()
    preemption.install()
    world = topology.World()
    run = Rank(preemption)
    try:
        parser = Parser(prog="trainer train", allow_abbrev=False)
        add_arguments(parser)
        options = parser.parse_args(list(arguments))
        config = config_load.load(options.config, options.set)
        world = run.world = topology.read_world()
        result = run.train(config)
    except Stop as stop:
        result = Outcome(stop.code, stop.reason)
    except PreemptedNow:
        result = run.preempted_early()
    except Exception as error:
        result = run.classify(error)
    preemption.ignore()
    return run.leave(result, world)


class Rank:
    """What is needed to end well, whatever happens in between."""

    def __init__(self, preemption: Preemption) -> None:
        self.preemption = preemption
        self.world = topology.World()
        self.loop: Loop | None = None
        self.journal: Journal | None = None
        preemption.on_deadline = self._on_deadline
        preemption.on_swallowed = lambda: self._end_at_once(self.preempted_early())

    def train(self, config: Config) -> Outcome:
        """The run itself. Raises `Stop` for every way to end but success and preemption."""
        with uncollected():
            loop, goodput, watch = self._set_up(config)
        from trainer.loop import Preempted

        try:
            loop.run()
        except Preempted as preempted:
            return self._save_for_preemption(preempted.rng)
        finally:
            watch.stop()
            loop.batches.close()
        loop.journal.say("end", step=loop.progress.step, phases=goodput.snapshot())
        return Outcome(exits.FINISHED, "all steps are done and saved")

    def _set_up(self, config: Config) -> tuple[Loop, Goodput, Watch]:
        """All that comes before the first step."""
        import torch

        from trainer.build import build, set_up_process
        from trainer.comm import Comm
        from trainer.metrics import Goodput, Journal
        from trainer.watch import Watch

        goodput = Goodput()
        folder = Path(config.run.dir)
        gpus = torch.cuda.device_count()
        kind = topology.choose_device(config, gpus)
        topology.check(config, self.world, kind, gpus)
        device = torch.device(kind, self.world.local_rank) if kind == "cuda" else torch.device("cpu")
        set_up_process(config, self.world, device)
        with goodput.during("setup"):
            comm = Comm(self.world, device, save_timeout=config.checkpoint.deadline_seconds)
            bar = config.log.progress == "bar" or (config.log.progress == "auto" and sys.stdout.isatty())
            self.journal = comm.together(
                lambda: _open_journal(config, bar) if self.world.is_main else Journal(None, bar=False)
            )
            watch = Watch(config.log.hang_seconds, folder / "dumps", self.world.rank, self._on_hang)
            self.loop = build(config, comm, self.journal, goodput, self.preemption, watch)
        return self.loop, goodput, watch

    def _save_for_preemption(self, state: dict[str, object]) -> Outcome:
        loop = self.loop
        assert loop is not None
        step = loop.progress.step
        if step == 0:
            return Outcome(exits.PREEMPTED_UNSAVED, "preempted before the first step was complete")
        try:
            loop.note_saves(loop.saver.join())
            if loop.saver.last_step != step:
                loop.save(state)
                loop.note_saves(loop.saver.join())
        except Stop as stop:
            if stop.code == exits.DIVERGED:
                raise
            return Outcome(exits.PREEMPTED_UNSAVED, f"preempted at step {step}; {stop.reason}")
        seconds = round(self.preemption.seconds_since(), 3)
        loop.journal.say("preempted", step=step, seconds=seconds)
        return Outcome(exits.PREEMPTED, f"preempted; step {step} is saved ({seconds} s after the signal)")

    def preempted_early(self) -> Outcome:
        """A signal where nothing could be lost: the state is as the checkpoint has it, or there is none yet."""
        saved = self.loop.saver.last_step if self.loop else None
        if saved is not None:
            return Outcome(exits.PREEMPTED, f"preempted before a new step was complete; step {saved} is saved")
        return Outcome(exits.PREEMPTED_UNSAVED, "preempted during set-up; nothing was trained yet")

    def classify(self, error: Exception) -> Outcome:
        """The outcome for an exception that is no `Stop`."""
        import torch

        from trainer.comm import is_peer_loss, peer_loss

        text = f"{type(error).__name__}: {error}"
        if self.world.size > 1 and is_peer_loss(error):
            if self.preemption.requested:
                return Outcome(exits.PREEMPTED_UNSAVED, f"preempted, and a peer was gone before all could save: {text}")
            stop = peer_loss(error)
            return Outcome(stop.code, stop.reason)
        traceback.print_exception(error)
        accelerator = getattr(torch, "AcceleratorError", None)
        if accelerator is not None and isinstance(error, accelerator):
            return Outcome(exits.UNHEALTHY, text)
        return Outcome(exits.BUG, text)

    def leave(self, result: Outcome, world: topology.World) -> int:
        """Tell the launcher and the journal, then end the process; alone, return the code instead."""
        step = self.loop.progress.step if self.loop else None
        final = Outcome(result.code, result.reason, world.rank, step)
        outcome.write(final, world.local_rank)
        print(f"trainer rank {world.rank}: {final.line()}", file=sys.stderr, flush=True)
        if final.code == exits.BUG and self.loop is not None:
            self.loop.saver.wait_briefly()
        if self.journal is not None:
            self.journal.say("exit", code=final.code, name=exits.name_of(final.code), reason=final.reason, step=step)
            self.journal.close()
        if world.size == 1:
            return final.code
        if final.code == exits.COLLATERAL and world.nodes > 1 and not self.preemption.requested:
            time.sleep(exits.COLLATERAL_DELAY_SECONDS)
        if final.code == exits.FINISHED:
            _part_from_peers()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(final.code)

    def _on_deadline(self) -> None:
        step = self.loop.progress.step if self.loop else None
        self._end_at_once(
            Outcome(exits.PREEMPTED_UNSAVED, "the save did not end within the shutdown timeout", step=step)
        )

    def _on_hang(self, text: str) -> None:
        self._end_at_once(Outcome(exits.UNHEALTHY, text, step=self.loop.progress.step if self.loop else None))

    def _end_at_once(self, result: Outcome) -> None:
        final = Outcome(result.code, result.reason, self.world.rank, result.step)
        outcome.write(final, self.world.local_rank)
        print(f"trainer rank {self.world.rank}: {final.line()}", file=sys.stderr, flush=True)
        os._exit(final.code)


def _open_journal(config: Config, bar: bool) -> Journal:
    from trainer import status
    from trainer.metrics import Journal

    folder = Path(config.run.dir)
    try:
        journal = Journal(folder, bar=bar)
        if config.log.tensorboard:
            from trainer.tensorboard import TensorBoard

            journal.listeners.append(TensorBoard(folder / "tensorboard"))
        if (told := status.from_environment()) is not None:
            journal.listeners.append(told)
        return journal
    except OSError as error:
        raise Stop(exits.UNHEALTHY, f"{folder}: cannot write the journal: {error.strerror}") from None


def _part_from_peers() -> None:
    import torch.distributed as dist

    try:
        dist.barrier()
        dist.destroy_process_group()
    except Exception as error:
        print(f"trainer: the shutdown of the process group failed after the run: {error}", file=sys.stderr)
