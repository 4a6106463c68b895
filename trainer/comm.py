"""Process groups and the few collectives outside DDP.

Three groups on purpose: the default one (NCCL or gloo) for gradients, `control` (gloo, CPU) for flags and objects, and
`saver` (gloo) for the checkpoint thread, whose collectives must not interleave with the main thread's.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from trainer import exits
from trainer.exits import Stop
from trainer.topology import World

T = TypeVar("T")
PEER_SIGNS = ("closed by peer", "connection reset", "connection refused", "broken pipe", "timed out", "nccl", "socket")


class Comm:
    """Collectives of one world; a world of one needs no process group and every call is immediate."""

    def __init__(self, world: World, device: torch.device, *, save_timeout: float) -> None:
        self.world, self.device = world, device
        self.control: dist.ProcessGroup | None = None
        self.saver: dist.ProcessGroup | None = None
        if world.size == 1:
            return
        if device.type == "cuda":
            dist.init_process_group("nccl", device_id=device)
        else:
            dist.init_process_group("gloo")
        self.control = dist.new_group(backend="gloo")
        self.saver = dist.new_group(backend="gloo", timeout=timedelta(seconds=save_timeout))

    @property
    def alone(self) -> bool:
        """Whether there are no peers."""
        return self.world.size == 1

    def total(self, *values: int) -> list[int]:
        """Sum of each value over all ranks."""
        if self.alone:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.int64)
        dist.all_reduce(tensor, group=self.control)
        return [int(value) for value in tensor.tolist()]

    def smallest(self, value: float) -> float:
        """Minimum over all ranks."""
        if self.alone:
            return value
        tensor = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(tensor, op=dist.ReduceOp.MIN, group=self.control)
        return float(tensor.item())

    def total_on_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """Sum of a tensor over all ranks, in place, on the training device."""
        if not self.alone:
            dist.all_reduce(tensor)
        return tensor

    def from_main(self, make: Callable[[], T]) -> T:
        """Rank 0 calls `make`, everybody gets its value or its `Stop`."""
        box: list[Any] = [None, None]
        if self.world.is_main:
            try:
                box[0] = make()
            except Stop as stop:
                box[1] = (stop.code, stop.reason)
        if not self.alone:
            dist.broadcast_object_list(box, src=0, group=self.control)
        if box[1] is not None:
            raise Stop(*box[1])
        value: T = box[0]
        return value

    def together(self, make: Callable[[], T], group: dist.ProcessGroup | None = None) -> T:
        """Every rank calls `make`; if any raises `Stop`, all raise the lowest rank's, so that all leave alike."""
        problem: tuple[int, str] | None = None
        value: Any = None
        try:
            value = make()
        except Stop as stop:
            problem = (stop.code, stop.reason)
        for found in self.everyone(problem, group):
            if found is not None:
                raise Stop(*found)
        made: T = value
        return made

    def everyone(self, value: T, group: dist.ProcessGroup | None = None) -> list[T]:
        """Each rank's value, by rank."""
        if self.alone:
            return [value]
        gathered: list[Any] = [None] * self.world.size
        dist.all_gather_object(gathered, value, group=group or self.control)
        return gathered


def is_peer_loss(error: BaseException) -> bool:
    """Whether an error of a collective means that a peer went away rather than a bug here."""
    if isinstance(error, dist.DistError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(sign in text for sign in PEER_SIGNS)


def peer_loss(error: BaseException) -> Stop:
    """The `Stop` for a lost peer."""
    return Stop(
        exits.COLLATERAL, f"a peer died first: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    )
