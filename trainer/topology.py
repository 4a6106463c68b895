"""The world as this process sees it, and every reason to refuse it (78)."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainer import exits
from trainer.config import Config
from trainer.exits import Stop

CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class World:
    """Ranks count from 0. `nodes` is `size / local_size`; a run without a launcher is a world of one."""

    rank: int = 0
    local_rank: int = 0
    size: int = 1
    local_size: int = 1

    @property
    def nodes(self) -> int:
        """Number of nodes (agents)."""
        return self.size // self.local_size

    @property
    def is_main(self) -> bool:
        """Whether this rank has the side effects that only one may have."""
        return self.rank == 0


def read_world(env: Mapping[str, str] = os.environ) -> World:
    """The world from the variables that torchrun sets for a worker. Raises `Stop` 78 for impossible ones."""
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    present = [name for name in names if env.get(name)]
    if not present:
        return World()
    missing = [name for name in names if name not in present]
    if missing:
        raise Stop(
            exits.CONFIG, f"{', '.join(present)} are set but {', '.join(missing)} are not: start with a launcher"
        )
    values: dict[str, int] = {}
    for name in names:
        try:
            values[name] = int(env[name])
        except ValueError:
            raise Stop(exits.CONFIG, f"{name}={env[name]!r} is not a number") from None
    world = World(values["RANK"], values["LOCAL_RANK"], values["WORLD_SIZE"], values["LOCAL_WORLD_SIZE"])
    if not (0 <= world.rank < world.size and 0 <= world.local_rank < world.local_size):
        raise Stop(
            exits.CONFIG, f"rank {world.rank} of {world.size}, local rank {world.local_rank} of {world.local_size}"
        )
    if world.size % world.local_size:
        raise Stop(exits.CONFIG, f"WORLD_SIZE {world.size} is not a multiple of LOCAL_WORLD_SIZE {world.local_size}")
    return world


def check(config: Config, world: World, device: str, gpus: int) -> None:
    """Refuse (78) a world that is not the one the config was written for; the message says what was read."""
    wanted = config.world
    if wanted.processes_per_node is not None and wanted.processes_per_node != world.local_size:
        raise Stop(
            exits.CONFIG,
            f"world.processes_per_node is {wanted.processes_per_node} but this node runs {world.local_size} processes "
            f"(PET_NPROC_PER_NODE={os.environ.get('PET_NPROC_PER_NODE', 'unset')})",
        )
    if wanted.nodes is not None and wanted.nodes != world.nodes:
        raise Stop(
            exits.CONFIG,
            f"world.nodes is {wanted.nodes} but WORLD_SIZE {world.size} / LOCAL_WORLD_SIZE {world.local_size} "
            f"makes {world.nodes} (PET_NNODES={os.environ.get('PET_NNODES', 'unset')})",
        )
    if device == "cuda" and gpus != world.local_size:
        raise Stop(
            exits.CONFIG,
            f"this node has {gpus} GPUs but runs {world.local_size} processes; set PET_NPROC_PER_NODE={max(gpus, 1)} "
            f"(it is {os.environ.get('PET_NPROC_PER_NODE', 'unset')}) or ask for {world.local_size} GPUs",
        )
    accumulation(config, world)


def accumulation(config: Config, world: World) -> int:
    """Forward passes per step and process. Raises `Stop` 78 when the batch does not divide."""
    share = world.size * config.batch.micro_rows
    if config.batch.rows % share:
        raise Stop(
            exits.CONFIG,
            f"batch.rows {config.batch.rows} is not divisible by {world.size} processes x batch.micro_rows "
            f"{config.batch.micro_rows} = {share}",
        )
    return config.batch.rows // share


def choose_device(config: Config, gpus: int) -> str:
    """`cpu` or `cuda`. Raises `Stop` 78 when the config wants a GPU and there is none."""
    if config.run.device == "cuda" and gpus == 0:
        raise Stop(exits.CONFIG, "run.device is cuda but no GPU is visible; ask for GPUs or set run.device to cpu")
    if config.run.device == "auto":
        return "cuda" if gpus else "cpu"
    return config.run.device


def cgroup_cpus(root: Path = CGROUP) -> float | None:
    """CPUs that the cgroup's quota allows (v2, then v1); None without a quota."""
    try:
        quota, period = (root / "cpu.max").read_text().split()[:2]
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota_us = int((root / "cpu/cpu.cfs_quota_us").read_text())
        period_us = int((root / "cpu/cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None
    return None if quota_us <= 0 or period_us <= 0 else quota_us / period_us


def usable_cpus(root: Path = CGROUP) -> int:
    """CPUs this process may use: the affinity mask, cut by the cgroup's quota; at least 1."""
    mask = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quota = cgroup_cpus(root)
    return mask if quota is None else max(1, min(mask, math.floor(quota)))


def threads_per_process(processes: int, root: Path = CGROUP) -> int:
    """Intra-op threads so that a node's processes share its CPUs; torchrun's own default is 1 (pytorch#22260)."""
    return max(1, usable_cpus(root) // max(1, processes))
