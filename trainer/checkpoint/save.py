"""Saving: copy the state, let every rank write its share in a thread, commit once all of it is durable."""

from __future__ import annotations

import faulthandler
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from trainer import exits
from trainer.checkpoint import dcp, layout
from trainer.checkpoint.layout import CheckpointManifest, Meta
from trainer.comm import Comm
from trainer.data.manifest import FileRecord, sha256_of
from trainer.exits import Stop
from trainer.rng import RngState

T = TypeVar("T")


@dataclass
class Saved:
    """A committed checkpoint: seconds the loop was blocked, seconds in all, bytes of all ranks."""

    step: int
    path: Path
    bytes: int
    blocked_seconds: float
    seconds: float


class Saver:
    """Collective: every rank makes the same calls in the same order. At most one save is under way."""

    def __init__(self, folder: Path, comm: Comm, *, keep: int, asynchronous: bool, deadline: float) -> None:
        self.folder, self.comm, self.keep = folder, comm, keep
        self.asynchronous, self.deadline = asynchronous, deadline
        self.last_step: int | None = None
        self._thread: threading.Thread | None = None
        self._problem: BaseException | None = None
        self._pending: Saved | None = None
        self._buffers: dict[str, Tensor] = {}

    def begin(self, state: dict[str, Tensor], rng: RngState, meta: Meta) -> list[Saved]:
        """Start saving this rank's share `state`; what it holds may change as soon as this returns.

        Returns the saves that were committed meanwhile: the one before this, and this one when not asynchronous.
        Raises `Stop` 69 when a save failed, with the older checkpoints untouched.
        """
        done = self.join()
        begin = time.perf_counter()
        staged = self._stage(state)
        pending = Saved(meta.step, self.folder / layout.name_of(meta.step), 0, 0.0, 0.0)
        self._pending, self._problem = pending, None
        self._thread = threading.Thread(
            target=self._run, args=(staged, rng, meta, pending), name="trainer-save", daemon=True
        )
        self._thread.start()
        if not self.asynchronous:
            done += self.join()
        pending.blocked_seconds = time.perf_counter() - begin
        return done

    def _stage(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Copies on the CPU; buffers are kept between saves and pinned for a GPU."""
        for name, tensor in state.items():
            if name not in self._buffers:
                self._buffers[name] = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
            self._buffers[name].copy_(tensor.detach(), non_blocking=tensor.is_cuda)
        if torch.cuda.is_available() and any(tensor.is_cuda for tensor in state.values()):
            torch.cuda.synchronize()
        return {name: self._buffers[name] for name in state}

    def _run(self, state: dict[str, Tensor], rng: RngState, meta: Meta, pending: Saved) -> None:
        begin = time.perf_counter()
        if self.comm.device.type == "cuda":
            torch.cuda.set_device(self.comm.device)  # a thread starts on GPU 0, whatever the rank
        try:
            pending.bytes = self._write(state, rng, meta)
            pending.seconds = time.perf_counter() - begin
        except BaseException as error:
            self._problem = error

    def _write(self, state: dict[str, Tensor], rng: RngState, meta: Meta) -> int:
        """After each phase all ranks know whether it went well on every rank, so that none waits for a lost one."""
        comm, main = self.comm, self.comm.world.is_main
        final = self.folder / layout.name_of(meta.step)
        work = final.with_name(final.name + layout.TEMPORARY)
        try:
            self._phase(lambda: _prepare(work) if main else None)
            self._phase(lambda: _write_rng(work, comm.world.rank, rng))
            self._phase(lambda: self._write_share(work, state))
            mine = self._phase(lambda: _records(work, comm.world.rank))
            files = sorted((r for part in comm.everyone(mine, comm.saver) for r in part), key=lambda r: r.name)
            manifest = CheckpointManifest(meta=meta, files=files)
            self._phase(lambda: _commit(work, final, manifest, self.keep) if main else None)
        except Stop:
            if main:
                shutil.rmtree(work, ignore_errors=True)
            raise
        return sum(record.bytes for record in files)

    def _phase(self, action: Callable[[], T]) -> T:
        def guarded() -> T:
            try:
                return action()
            except OSError as error:
                raise Stop(exits.UNHEALTHY, f"the save failed: {_say(error)}") from None

        return self.comm.together(guarded, self.comm.saver)

    def _write_share(self, work: Path, state: dict[str, Tensor]) -> None:
        writer = dcp.FileSystemWriter(work / layout.STATE, single_file_per_rank=True, sync_files=True)
        try:
            dcp.save(dict(state), storage_writer=writer, process_group=self.comm.saver, no_dist=self.comm.alone)
        except dcp.CheckpointException as error:
            first = next(iter(error.failures.values()))[0] if error.failures else error
            free = shutil.disk_usage(work).free / 1e6
            raise Stop(exits.UNHEALTHY, f"the save failed: {_say(first)} ({free:.0f} MB free on the volume)") from None

    def collect(self) -> list[Saved]:
        """The save under way if it has ended by now; does not wait."""
        return [] if self._thread is None or self._thread.is_alive() else self.join()

    def wait_briefly(self, seconds: float = 30) -> None:
        """Give a save under way the chance to end before the process does; whatever its result."""
        if self._thread is not None:
            self._thread.join(seconds)

    def join(self) -> list[Saved]:
        """Wait for the save under way, if any; raises its `Stop`, or 69 with all stacks when the deadline passes."""
        thread, pending = self._thread, self._pending
        if thread is None or pending is None:
            return []
        thread.join(self.deadline)
        if thread.is_alive():
            faulthandler.dump_traceback(sys.stderr, all_threads=True)
            raise Stop(exits.UNHEALTHY, f"the save of step {pending.step} did not end within {self.deadline:.0f} s")
        self._thread = self._pending = None
        if self._problem is not None:
            raise self._problem
        self.last_step = pending.step
        return [pending]


def _write_rng(work: Path, rank: int, rng: RngState) -> None:
    content = BytesIO()
    torch.save(rng, content)
    with (work / f"rng-{rank:05d}.pt").open("wb") as stream:
        stream.write(content.getvalue())
        stream.flush()
        os.fsync(stream.fileno())


def _records(work: Path, rank: int) -> list[FileRecord]:
    """Sizes and hashes of the files that this rank wrote, read back."""
    mine = [work / f"rng-{rank:05d}.pt", *sorted((work / layout.STATE).glob(f"__{rank}_*"))]
    if rank == 0:
        mine.append(work / layout.STATE / ".metadata")
    return [
        FileRecord(name=str(file.relative_to(work)), bytes=file.stat().st_size, sha256=sha256_of(file)) for file in mine
    ]


def _say(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f' ({error.filename})' if error.filename else ''}"
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[-1] if text else ''}"


def _prepare(work: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    (work / layout.STATE).mkdir(parents=True)


def _commit(work: Path, final: Path, manifest: CheckpointManifest, keep: int) -> None:
    layout.write_synced(work / layout.MANIFEST, manifest.model_dump_json(indent=1) + "\n")
    layout.sync(work / layout.STATE)
    if final.exists():
        layout.remove(final)
    work.rename(final)
    layout.sync(final.parent)
    layout.write_synced(final.parent / layout.LATEST, final.name + "\n")
    for _, old in layout.committed(final.parent)[keep:]:
        layout.remove(old)
