"""ZeRO-1: optimizer state split over the ranks, weights handed on by their owner after each step.

Gradients are still all-reduced by DDP; what shrinks is the AdamW state (8 bytes a parameter), to 1/world per rank.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn


def owners(named: dict[str, nn.Parameter], world: int) -> dict[str, int]:
    """Rank that owns each parameter: largest first to the least loaded, ties to the lower rank. Same on every rank."""
    load = [0] * world
    chosen: dict[str, int] = {}
    for name, parameter in sorted(named.items(), key=lambda item: (-item[1].numel(), item[0])):
        rank = min(range(world), key=lambda candidate: (load[candidate], candidate))
        load[rank] += parameter.numel()
        chosen[name] = rank
    return chosen


@torch.no_grad()
def broadcast(
    named: dict[str, nn.Parameter], owner: dict[str, int], world: int, group: dist.ProcessGroup | None
) -> None:
    """Give every rank the values its peers have just computed: one flat message per owner."""
    for source in range(world):
        mine: list[Tensor] = [named[name].data for name in named if owner[name] == source]
        if not mine:
            continue
        flat = torch.cat([tensor.reshape(-1) for tensor in mine])
        dist.broadcast(flat, source, group=group)
        offset = 0
        for tensor in mine:
            tensor.copy_(flat[offset : offset + tensor.numel()].view_as(tensor))
            offset += tensor.numel()
