"""WORLD_SIZE and its like, set by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.checks.torchrun_nodes import counted
from trainshed.fleet.runs import Run, gpus
from trainshed.fleet.words import literal, number, shown

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "torchrun"


@rule("torchrun-world-size", severity="error", family=FAMILY)
def world_size(fleet: Fleet) -> Iterator[Issue]:
    """WORLD_SIZE is neither the number of pods nor that of processes.

    Why: A program that no launcher starts takes WORLD_SIZE as it stands and waits for that many ranks: too many never
    come, too few leave ranks beyond the world.
    Fix: Write the number of processes: pods times processes in each.
    """
    for run in fleet.runs:
        if not (run.named and run.worlds):
            continue
        for member in run.members:
            option = member.launch.variable("WORLD_SIZE")
            if option is None or not member.certain or member.launch.kind not in ("python", "other"):
                continue
            size, devices = number(option.word), gpus(member.container) or 1
            if size is None or member.launch.variable("MASTER_ADDR") is None or not run.pods:
                continue
            counts = {*run.worlds, run.pods} - {0}
            totals = _device_total(run)
            if size not in counts | {count * devices for count in counts} | totals:
                message = f"WORLD_SIZE is {size}, and {counted(run, member)}"
                message += f" with {devices} GPUs each" if devices > 1 else ""
                yield issue(member.pod_set, option.path, message, f"write {run.pods * devices}")


def _device_total(run: Run) -> set[int]:
    total = 0
    for pod_set in run.workload.pod_sets:
        total += pod_set.count * sum(gpus(container) or 0 for _, container in pod_set.containers)
    return {total // max(run.workload.units, 1)}


@rule("torchrun-world-by-hand", severity="info", family=FAMILY)
def world_by_hand(fleet: Fleet) -> Iterator[Issue]:
    """WORLD_SIZE or RANK is set for a container that torchrun starts.

    Why: torchrun sets them itself for the processes it starts; the pod's values are overwritten, and confuse readers.
    Fix: Remove the variables, or use them in torchrun's own options.
    """
    for run in fleet.runs:
        for member in run.torch:
            written = shown(tuple(part for option in member.launch.options.values() for part in option.word))
            for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
                option = member.launch.variable(name)
                by_person = name in member.launch.environment.paths and option is not None
                if by_person and option is not None and literal(option.word) and name not in written:
                    used = [member.launch.options.get(key) for key in ("nnodes", "node-rank")]
                    if literal(option.word) not in [literal(item.word) for item in used if item]:
                        message = f"{name} is {shown(option.word)}; torchrun sets it for the processes it starts"
                        yield issue(member.pod_set, option.path, message, f"remove {name}")
