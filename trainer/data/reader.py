"""Rows of a packed dataset through memory maps, and the batches of a step, made one step ahead in a thread."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainer import exits
from trainer.data.manifest import Manifest
from trainer.data.order import positions_to_rows
from trainer.data.rows import Plan, plan
from trainer.exits import Stop

IGNORE = -100


class Dataset:
    """Rows of `length` inputs and `length` targets. Text is cut into windows; chat documents are packed whole."""

    def __init__(self, folder: Path, manifest: Manifest, length: int) -> None:
        self.manifest, self.length = manifest, length
        dtype = np.dtype("<u2" if manifest.dtype == "uint16" else "<u4")
        self._tokens = [np.memmap(folder / s.data.name, dtype=dtype, mode="r") for s in manifest.shards]
        self._masks = [np.memmap(folder / s.mask.name, dtype=np.uint8, mode="r") for s in manifest.shards if s.mask]
        self._shard_starts = np.cumsum([0, *(s.tokens for s in manifest.shards)], dtype=np.int64)
        self.plan: Plan | None = None
        if manifest.kind == "chat":
            self._read_documents(folder)
            self.plan = plan(self._ends - self._starts, length + 1)
            self.rows = len(self.plan)
        else:
            self.rows = (manifest.tokens - 1) // length
        if self.rows < 1:
            raise Stop(exits.DATA, f"{folder}: {manifest.tokens} tokens are not enough for one row of {length} + 1")

    def _read_documents(self, folder: Path) -> None:
        ends = [np.fromfile(folder / s.index.name, dtype="<u8").astype(np.int64) for s in self.manifest.shards]
        self._ends = np.concatenate([e + o for e, o in zip(ends, self._shard_starts[:-1], strict=True)])
        self._starts = np.concatenate(
            [np.concatenate(([0], e[:-1])) + o for e, o in zip(ends, self._shard_starts[:-1], strict=True)]
        )

    def _range(self, maps: list[np.memmap], start: int, stop: int) -> NDArray[np.int64]:
        parts: list[NDArray[np.int64]] = []
        while start < stop:
            shard = int(np.searchsorted(self._shard_starts, start, side="right")) - 1
            offset = int(self._shard_starts[shard])
            end = min(stop, int(self._shard_starts[shard + 1]))
            parts.append(np.asarray(maps[shard][start - offset : end - offset], dtype=np.int64))
            start = end
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def row(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64] | None]:
        """Inputs, targets (-100: no loss), and for packed chat the document number of each position."""
        if self.plan is None:
            start = number * self.length
            tokens = self._range(self._tokens, start, start + self.length + 1)
            return tokens[:-1], tokens[1:], None
        return self._packed_row(self.plan, number)

    def _packed_row(
        self, packed: Plan, number: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64] | None]:
        room = self.length + 1
        tokens = np.full(room, self.manifest.tokenizer.end, dtype=np.int64)
        learned = np.zeros(room, dtype=bool)
        documents = packed.documents[packed.starts[number] : packed.starts[number + 1]]
        segments = np.full(room, len(documents), dtype=np.int64)  # padding is a document of its own
        at = 0
        for segment, document in enumerate(documents.tolist()):
            start = int(self._starts[document])
            stop = min(int(self._ends[document]), start + room - at)
            size = stop - start
            tokens[at : at + size] = self._range(self._tokens, start, stop)
            learned[at : at + size] = self._range(self._masks, start, stop).astype(bool)
            learned[at] = False  # the first token of a document would be predicted from another document
            segments[at : at + size] = segment
            at += size
        targets = np.where(learned, tokens, IGNORE)
        return tokens[:-1], targets[1:], segments[:-1]


@dataclass
class StepBatch:
    """One rank's part of a step: `micro` forward passes, `targets` learned tokens in all of them."""

    tokens: Tensor
    labels: Tensor
    segments: Tensor | None
    targets: int

    def micro(self, number: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
        """The tensors of one forward pass on `device`."""
        wait_free = device.type == "cuda"
        segments = None if self.segments is None else self.segments[number].to(device, non_blocking=wait_free)
        return (
            self.tokens[number].to(device, non_blocking=wait_free),
            self.labels[number].to(device, non_blocking=wait_free),
            segments,
        )


def gather(data: Dataset, rows: NDArray[np.int64], micro_rows: int, *, pinned: bool = False) -> StepBatch:
    """Rows as a batch of `len(rows) / micro_rows` forward passes. Row -1 is padding without targets."""
    tokens = np.zeros((len(rows), data.length), dtype=np.int64)
    labels = np.full((len(rows), data.length), IGNORE, dtype=np.int64)
    segments = np.zeros((len(rows), data.length), dtype=np.int64) if data.plan is not None else None
    for place, number in enumerate(rows.tolist()):
        if number < 0:
            continue
        tokens[place], labels[place], segment = data.row(number)
        if segments is not None and segment is not None:
            segments[place] = segment
    count = int((labels != IGNORE).sum())
    shape = (len(rows) // micro_rows, micro_rows, data.length)

    def tensor(values: NDArray[np.int64]) -> Tensor:
        made = torch.from_numpy(values).view(shape)
        return made.pin_memory() if pinned else made

    return StepBatch(tensor(tokens), tensor(labels), None if segments is None else tensor(segments), count)


def _use_device(device: int | None) -> None:
    """Threads start on GPU 0; pinning memory there would open a context of every rank on it."""
    if device is not None:
        torch.cuda.set_device(device)


class Batches:
    """The steps' batches of one rank. `at(cursor)` gives the batch whose first global row is the cursor-th."""

    def __init__(
        self, data: Dataset, *, seed: int, rows: int, micro_rows: int, rank: int, world: int, pinned: bool
    ) -> None:
        self.data, self.seed, self.rows, self.micro_rows = data, seed, rows, micro_rows
        self.share, self.rank, self.pinned = rows // world, rank, pinned
        device = torch.cuda.current_device() if pinned else None
        self._pool = ThreadPoolExecutor(1, "trainer-data", _use_device, (device,))
        self._next: tuple[int, Future[StepBatch]] | None = None

    def _make(self, cursor: int) -> StepBatch:
        chosen = positions_to_rows(self.seed, self.data.rows, cursor + self.rank * self.share, self.share)
        return gather(self.data, chosen, self.micro_rows, pinned=self.pinned)

    def at(self, cursor: int) -> StepBatch:
        """The batch at `cursor`; the one after it is begun in the background."""
        ready = self._next
        batch = ready[1].result() if ready and ready[0] == cursor else self._make(cursor)
        following = cursor + self.rows
        self._next = (following, self._pool.submit(self._make, following))
        return batch

    def close(self) -> None:
        """Stop the thread."""
        self._pool.shutdown(wait=False, cancel_futures=True)
