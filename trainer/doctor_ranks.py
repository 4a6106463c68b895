"""One rank of the doctor: all-reduces of several sizes, clocks, and with a launcher the checks of every node.

`python -m trainer launch -m trainer.doctor_ranks` in the run's world; options as of `trainer doctor`.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from trainer import doctor, doctor_checks, exits, outcome, topology
from trainer.doctor_checks import Finding
from trainer.exits import Stop
from trainer.outcome import Outcome
from trainer.train import Parser

GPU_SIZES = (1 << 20, 16 << 20, 256 << 20)
CPU_SIZES = (1 << 20, 16 << 20)


def measure(device: Any, sizes: Sequence[int], rounds: int = 5) -> list[dict[str, float]]:
    """Seconds of one all-reduce of each size in bytes, the best of `rounds` after a first one. Collective."""
    import torch
    import torch.distributed as dist

    rows: list[dict[str, float]] = []
    for size in sizes:
        tensor = torch.ones(size // 4, dtype=torch.float32, device=device)
        best = float("inf")
        for turn in range(rounds + 1):
            dist.barrier()
            begin = time.perf_counter()
            dist.all_reduce(tensor)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            best = best if turn == 0 else min(best, time.perf_counter() - begin)
        rows.append({"bytes": float(size), "seconds": best})
    return rows


def clocks(times: Sequence[tuple[str, float]]) -> Finding:
    """Hosts' clocks, read right after a barrier."""
    first, last = min(times, key=lambda one: one[1]), max(times, key=lambda one: one[1])
    found = doctor_checks.judge_clock("clock, nodes", last[1] - first[1])
    return replace(found, seen=f"{found.seen} ({first[0]}, {last[0]})")


def examine(world: topology.World, want: doctor.Wanted, *, network_only: bool) -> list[Finding]:
    """Everything; the same on all ranks. Collective."""
    import torch
    import torch.distributed as dist

    node = socket.gethostname()
    gpus = torch.cuda.device_count()
    cuda = gpus >= world.local_size
    device = torch.device("cuda", world.local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo", timeout=timedelta(seconds=max(10.0, want.deadline)))
    control = dist.new_group(backend="gloo") if cuda else None
    mine: list[Finding] = []
    if world.local_rank == 0 and not network_only:
        mine = doctor.node_findings(replace(want, processes=world.local_size), node)
    rows = measure(device, GPU_SIZES if cuda else CPU_SIZES)
    dist.barrier(group=control)
    stamp = (node, time.time())
    gathered: list[Any] = [None] * world.size
    dist.all_gather_object(gathered, (mine, stamp, rows), group=control)
    slowest = [
        {"bytes": row["bytes"], "seconds": max(one[2][index]["seconds"] for one in gathered)}
        for index, row in enumerate(rows)
    ]
    everywhere = "all" if world.nodes > 1 else node
    floor = doctor.floor_of(want, device.type, world.nodes)
    found = doctor_checks.judge_bandwidth(slowest, world.size, device.type, floor)
    if world.nodes > 1:
        found.append(clocks([one[1] for one in gathered]))
    dist.destroy_process_group()
    return [*(finding for one in gathered for finding in one[0]), *(replace(one, node=everywhere) for one in found)]


def main(arguments: Sequence[str]) -> int:
    """One rank; rank 0 prints, or writes where TRAINSHED_DOCTOR_OUTPUT says."""
    world = topology.World()
    try:
        parser = Parser(prog="trainer.doctor_ranks", allow_abbrev=False)
        doctor.add_arguments(parser)
        options = parser.parse_args(list(arguments))
        world = topology.read_world()
        if world.size < 2:
            raise Stop(exits.USAGE, "start it by a launcher with two ranks or more; alone, `trainer doctor` is enough")
        import torch

        want = doctor.wanted(options, os.environ, torch.cuda.device_count())
        found = examine(world, want, network_only=bool(os.environ.get("TRAINSHED_DOCTOR_NETWORK_ONLY")))
        result = Outcome(exits.FINISHED, "healthy")
        if sick := [f"{one.node}: {one.check}: {one.seen}" for one in found if one.status == "fail"]:
            result = Outcome(exits.UNHEALTHY, "; ".join(sick))
        if world.is_main and (output := os.environ.get("TRAINSHED_DOCTOR_OUTPUT")):
            Path(output).write_text(json.dumps([one.fields() for one in found]))
        elif world.is_main:
            doctor.report(found, as_json=options.json)
    except Stop as stop:
        result = Outcome(stop.code, stop.reason)
    except RuntimeError as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        result = Outcome(exits.UNHEALTHY, f"the ranks could not talk to each other: {first}")
    if result.code not in (exits.FINISHED, exits.UNHEALTHY):
        print(f"doctor rank {world.rank}: {result.reason}", file=sys.stderr)
    outcome.write(Outcome(result.code, result.reason, world.rank), world.local_rank)
    return result.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
