"""Variables that hold nothing where a run's command uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text
from trainshed.fleet.launchers import launch_of
from trainshed.fleet.pod_environment import Environment
from trainshed.fleet.words import shown
from trainshed.fleet.workload import Workload
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"
_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
#: What torchrun reads (torch 2.13, `torch/distributed/run.py`): each option's name in capitals after `PET_`.
PET: Final = frozenset(
    f"PET_{name}"
    for name in (
        "NNODES", "NPROC_PER_NODE", "RDZV_BACKEND", "RDZV_ENDPOINT", "RDZV_ID", "RDZV_CONF", "STANDALONE",
        "MAX_RESTARTS", "MONITOR_INTERVAL", "START_METHOD", "EVENT_LOG_HANDLER", "ROLE", "MODULE", "NO_PYTHON",
        "RUN_PATH", "LOG_DIR", "REDIRECTS", "TEE", "LOCAL_RANKS_FILTER", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT",
        "LOCAL_ADDR", "LOGS_SPECS", "NUMA_BINDING", "SIGNALS_TO_HANDLE", "VIRTUAL_LOCAL_RANK", "SHUTDOWN_TIMEOUT",
        "DUPLICATE_STDOUT_FILTERS", "DUPLICATE_STDERR_FILTERS", "TRAINING_SCRIPT", "USE_ENV",
    )
)  # fmt: skip
_KNOWN: Final = frozenset({"Job", "JobSet", "LeaderWorkerSet", "StatefulSet", "Deployment", "Pod", "pytorch"})
#: Misspelt in ways that are no slip of the keyboard.
_ALIASES: Final = {
    "PET_MASTER_ADDRESS": "PET_MASTER_ADDR",
    "PET_MASTER_HOST": "PET_MASTER_ADDR",
    "PET_NUM_NODES": "PET_NNODES",
    "PET_NUMNODES": "PET_NNODES",
    "PET_NPROC": "PET_NPROC_PER_NODE",
    "PET_NUM_PROC_PER_NODE": "PET_NPROC_PER_NODE",
    "PET_PROC_PER_NODE": "PET_NPROC_PER_NODE",
    "PET_RANK": "PET_NODE_RANK",
    "PET_PORT": "PET_MASTER_PORT",
    "PET_RDZV_HOST": "PET_RDZV_ENDPOINT",
}
#: Names that only controllers and launchers give.
_GIVEN: Final = frozenset(
    {*PET, "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK", "JOB_COMPLETION_INDEX"}
    | {"VC_TASK_INDEX", "VK_TASK_INDEX", "LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"}
)


@rule("rendezvous-variable-order", severity="error", family=FAMILY)
def variable_order(fleet: Fleet) -> Iterator[Issue]:
    """A variable's value names another variable that is defined only after it.

    Why: In `env[].value` Kubernetes puts in variables that stand before it in the list; of others the text `$(NAME)`
    stays as it is. Trainer, Volcano and the Job controller append theirs at the end: they may be used in command and
    args, not in env.
    Fix: Define the other variable first, or use it in args.
    """
    for run in fleet.runs:
        for box in run.boxes if run.named else ():
            for unknown in box.environment.unknown:
                if not unknown.later or unknown.name == unknown.variable:
                    continue
                message = f"{unknown.variable} uses $({unknown.name}), which is defined after it, so that the text"
                message += " stays as it is"
                ours = unknown.name in box.environment.paths
                fix = f"define {unknown.name} first" if ours else _args(unknown.name)
                yield issue(box.pod_set, unknown.path, message, fix)


@rule("rendezvous-variable-literal", severity="error", family=FAMILY)
def variable_literal(fleet: Fleet) -> Iterator[Issue]:
    """A variable's value names another variable that the container does not have.

    Why: Kubernetes leaves `$(NAME)` in a value as it stands when nothing defines the name before it, and it runs no
    command: an address or a rank is then that very text.
    Fix: Correct the name, define the variable, or let a shell in command work the value out.
    """
    for run in fleet.runs:
        for box in run.boxes if run.named and _known(run.workload) else ():
            made = box.environment
            for unknown in made.unknown if made.complete else ():
                if unknown.later or unknown.variable not in _GIVEN:
                    continue
                near = near_miss(unknown.name, [*made.values, *_GIVEN])
                message = f"{unknown.variable} uses $({unknown.name}), which nothing defines: the text stays as it is"
                if not _NAME.fullmatch(unknown.name):
                    message = f"{unknown.variable} is $({unknown.name}), and Kubernetes runs no command in a value"
                fix = (
                    f'did you mean "$({near})"?' if near else "define it before, or let a shell in command work it out"
                )
                yield issue(box.pod_set, unknown.path, message, fix)


def _args(name: str) -> str:
    return f"a controller appends {name}: use $({name}) in args"


@rule("rendezvous-variable-unknown", severity="error", family=FAMILY)
def variable_unknown(fleet: Fleet) -> Iterator[Issue]:
    """A command uses a variable that the container does not have.

    Why: Kubernetes leaves `$(NAME)` in command and args as it stands when the container has no such variable: torchrun
    gets the text and stops, or waits for a host of that name.
    Fix: Correct the name, or define the variable.
    """
    for run in fleet.runs:
        for box in run.boxes if run.named else ():
            made = box.environment
            launch = launch_of(box.words, made) if box.unknown else None
            if launch is None or launch.kind == "other" or not made.complete:
                continue
            scripts = {at for word, at in box.words if "\n" in shown(word) or ";" in shown(word)}
            known = _known(run.workload)
            for name, at in box.unknown:
                if _NAME.fullmatch(name) and at not in scripts and (near := _meant(name, made, known)):
                    message = f"$({name}) stays as it is: the container has no such variable"
                    yield issue(box.pod_set, at, message, near)


def _known(part: Workload) -> bool:
    """Whether nobody but the controllers that we know adds variables."""
    return part.parts_known and part.form in _KNOWN


def _meant(name: str, made: Environment, known: bool) -> str:
    """What to do about an unknown name; empty where somebody unseen may define it."""
    halved = name.replace("PET_PET_", "PET_")
    there = [*made.values, *(_GIVEN if not known else ())]
    if halved != name or (name not in _GIVEN and (halved := near_miss(name, [*there, *_GIVEN]))):
        return f'did you mean "$({halved})"?'
    if name in there or not known:
        return ""
    return f"define {name} in env" if name in _GIVEN or name.startswith("PET_") else ""


@rule("rendezvous-variable-misspelt", severity="error", family=FAMILY)
def variable_misspelt(fleet: Fleet) -> Iterator[Issue]:
    """A PET_ variable is none of those that torchrun reads.

    Why: torchrun takes its options from variables of these names; one that is misspelt is ignored, and the option has
    its default: one node, one process, localhost.
    Fix: Correct the name.
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in pod_set.containers:
            env = container.get("env")
            for index, variable in enumerate(env if isinstance(env, list) else []):
                name = text(variable, "name")
                if not name.upper().startswith("PET_") or name in PET:
                    continue
                meant = name.upper().replace("PET_PET_", "PET_").replace("-", "_")
                meant = meant if meant in PET else _ALIASES.get(meant) or near_miss(meant, sorted(PET))
                if meant:
                    message = f"{name} is not a variable that torchrun reads"
                    yield issue(pod_set, (*path, "env", index, "name"), message, f'did you mean "{meant}"?')
