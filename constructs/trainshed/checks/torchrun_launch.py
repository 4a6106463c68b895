"""Options of launchers that contradict each other, or the GPUs that there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue, named
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.finding import Severity
from trainshed.fleet.launchers import Option
from trainshed.fleet.runs import Member, Run, gpus
from trainshed.fleet.words import literal, number, shown

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "torchrun"
_BACKENDS: Final = ("static", "c10d", "etcd", "etcd-v2")
#: Communication backends, and spellings of c10d, which people write for a rendezvous backend.
_MISTAKEN: Final = frozenset({"nccl", "gloo", "mpi", "ucc", "tcp", "env", "c10", "c10b", "10d", "cd10", "etcd2"})


@rule("torchrun-standalone", severity="error", family=FAMILY)
def standalone(fleet: Fleet) -> Iterator[Issue]:
    """torchrun is told to stand alone, and that it has several nodes.

    Why: `--standalone` overrides the rendezvous by one at localhost (torch 2.13, `torch/distributed/run.py`) and keeps
    the node count: each pod waits at itself for the other nodes. Without a count each pod trains a world of its own.
    Fix: Remove `--standalone`, and write the address of the pod of rank 0.
    """
    for run in fleet.runs:
        for member in run.torch if run.named else ():
            if member.backend != "standalone" or not member.certain:
                continue
            option = member.launch.options.get("standalone") or member.launch.option("standalone")
            if option is None or literal(option.word) in ("0", "false", "False"):
                continue
            if member.nodes is not None and member.nodes[1] > 1:
                count = member.launch.option("nnodes")
                label = count.label if count else "--nnodes"
                message = f"{option.label} meets at localhost, and {label} is {shown(count.word) if count else ''}"
                message += ": each pod waits for the others at itself"
                yield issue(member.pod_set, option.path, message, f"remove {option.label}")
            elif run.spread and member.pod_set.count > 1 and (other := _meant_to_meet(member)):
                message = f"{option.label} makes a world of each pod, and {other} is for one of all {run.pods} pods"
                yield issue(member.pod_set, option.path, message, f"remove {option.label}, and add --nnodes", "warning")


def _meant_to_meet(member: Member) -> str:
    """What says that the pods belong together."""
    for name in ("master-addr", "rdzv-endpoint", "node-rank"):
        option = member.launch.option(name)
        if option is not None and literal(option.word) not in ("", "localhost", "127.0.0.1", "0", "localhost:0"):
            return option.label
    return ""


@rule("torchrun-backend", severity="error", family=FAMILY)
def backend(fleet: Fleet) -> Iterator[Issue]:
    """The rendezvous backend does not exist, or cannot do what the node count asks of it.

    Why: torchrun knows static, c10d, etcd and etcd-v2; nccl and gloo are backends of the process group, which the
    script chooses. An elastic range needs a dynamic backend: static waits for the upper number of nodes.
    Fix: Write c10d with `--rdzv-endpoint`, or one number of nodes.
    """
    for run in fleet.runs:
        for member in run.torch:
            option, chosen = member.launch.option("rdzv-backend"), member.backend
            if option is not None and chosen and chosen not in _BACKENDS and _mistaken(chosen):
                message = f'{option.label} is "{chosen}", which is no rendezvous backend'
                group = chosen in ("nccl", "gloo", "mpi", "ucc")
                message += ": the script chooses it for the process group" if group else ""
                yield issue(member.pod_set, option.path, message, "write c10d")
            elif chosen == "static" and member.certain and member.nodes and member.nodes[0] < member.nodes[1]:
                count = member.launch.option("nnodes")
                if count is not None and run.spread:
                    message = f"{count.label} is {shown(count.word)}, and the static rendezvous waits for all"
                    message += f" {member.nodes[1]} nodes: only a backend such as c10d is elastic"
                    fix = "add --rdzv-backend=c10d with --rdzv-endpoint, or write one number"
                    yield issue(member.pod_set, count.path, message, fix, "warning")


def _mistaken(chosen: str) -> bool:
    return chosen in _MISTAKEN or chosen.lower().replace("_", "-") in _BACKENDS


@rule("torchrun-accelerate-processes", severity="error", family=FAMILY)
def accelerate_processes(fleet: Fleet) -> Iterator[Issue]:
    """`accelerate launch` starts more or fewer processes on each machine than the container has GPUs.

    Why: `--num_processes` counts the processes of all machines together, and accelerate divides it by
    `--num_machines`: 8 processes on 2 machines are 4 each, and the other GPUs idle.
    Fix: Write GPUs times machines.
    """
    for run in fleet.runs:
        for member in run.members:
            found = _divided(run, member)
            if found is None:
                continue
            option, machines, devices = found
            total = number(option.word) or 0
            if total == machines * devices:
                continue
            what = f"{option.label} is {total}"
            what += f", {total // machines} on each of {machines} machines" if machines > 1 else ""
            severity: Severity | None = "warning" if total < machines * devices else None
            message = f"{what}, and {named(member.container)} has {devices} GPU{'s' if devices != 1 else ''}"
            yield issue(member.pod_set, option.path, message, f"write {machines * devices}", severity)


def _divided(run: Run, member: Member) -> tuple[Option, int, int] | None:
    """(--num_processes, machines, GPUs of one) where all three are known."""
    launch = member.launch
    option, devices = launch.options.get("num-processes"), gpus(member.container)
    if launch.kind != "accelerate" or option is None or not devices or not member.certain:
        return None
    if {"cpu", "gpu-ids", "tpu"} & launch.options.keys() or launch.variable("CUDA_VISIBLE_DEVICES"):
        return None
    count = launch.options.get("nnodes")
    if count is None and ("config-file" in launch.options or run.spread):
        return None
    machines = number(count.word) if count is not None else 1
    return (option, machines, devices) if machines and number(option.word) else None
