"""The plugins of a Volcano Job: their arguments, and the tasks they look for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.checks.gang_common import listed
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.volcano_jobs import VolcanoJob

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "volcano jobs"
#: Flags by plugin (v1.15.1, `pkg/controllers/job/plugins/distributed-framework`, `…/svc`, `…/ssh`).
_FLAGS: Final[dict[str, tuple[str, ...]]] = {
    "pytorch": ("master", "worker", "port", "wait-master-enabled", "wait-master-timeout", "wait-master-image"),
    "tensorflow": ("ps", "worker", "chief", "evaluator", "port"),
    "mpi": ("master", "worker", "port"),
    "ray": ("head", "headContainer", "worker", "workerContainer", "port", "dashboardPort", "clientPort"),
    "svc": ("publish-not-ready-addresses", "disable-network-policy"),
    "ssh": ("ssh-key-file-path", "ssh-private-key", "ssh-public-key", "ssh-port"),
}
_SWITCHES: Final = ("wait-master-enabled", "publish-not-ready-addresses", "disable-network-policy")
_PORTS: Final = ("port", "ssh-port", "dashboardPort", "clientPort")
#: Which task coordinates, by plugin: flag and default.
_COORDINATORS: Final = {"pytorch": ("master", "master"), "mpi": ("master", "master"), "ray": ("head", "head")}


class Flag(NamedTuple):
    """One argument: at place `at` of the list; `wrong` says why the plugin stops there."""

    name: str
    value: str
    at: int
    wrong: str = ""
    fix: str = ""


def flags(plugin: str, arguments: Sequence[str]) -> list[Flag]:
    """The arguments as Go's flag package reads them: it stops at the first that it does not know."""
    known, found, index = _FLAGS.get(plugin, ()), [], 0
    while index < len(arguments):
        start = index
        written, equals, value = arguments[index].partition("=")
        name = written.removeprefix("-").removeprefix("-")
        if not written.startswith("-") or not name:
            found.append(Flag(name, "", start, "is no flag", f'write "--{nearest_flag(name, known)}=…"'))
            break
        if name not in known:
            fix = nearest(name, known).replace('"', "") or f"known are {listed(f'--{item}' for item in known)}"
            found.append(Flag(name, value, start, "is not a flag of the plugin", fix.replace("mean ", "mean --")))
            break
        if not equals and name not in _SWITCHES:
            if index + 1 >= len(arguments):
                found.append(Flag(name, "", start, "has no value", f'write "--{name}=…"'))
                break
            index += 1
            value = arguments[index]
        if name in _PORTS and not (value.isascii() and value.isdigit() and 0 < int(value[:6]) < 65536):
            found.append(Flag(name, value, start, f'"{value}" is not a port', "write a number from 1 to 65535"))
            break
        found.append(Flag(name, value, start))
        index += 1
    return found


def nearest_flag(name: str, known: Sequence[str]) -> str:
    """The flag that was likely meant, the first one otherwise."""
    return next((item for item in known if name.lower() in item.lower()), known[0] if known else "flag")


def task_of(job: VolcanoJob, plugin: str, flag: str, default: str) -> str:
    """The task that a flag of a plugin names."""
    values = [item.value for item in flags(plugin, job.plugins.get(plugin, [])) if item.name == flag and not item.wrong]
    return values[-1] if values else default


def coordinator(job: VolcanoJob) -> str:
    """The task that coordinates the others, by the job's plugin; empty when no plugin says so."""
    return next((task_of(job, name, *_COORDINATORS[name]) for name in _COORDINATORS if name in job.plugins), "")


@rule("volcano-plugin-argument", severity="error", family=_FAMILY, targets=("volcano",))
def plugin_argument(fleet: Fleet) -> Iterator[Issue]:
    """A plugin of a Volcano Job has an argument that it does not know.

    Why: The plugin stops reading at the first argument that it can't, with a line in the controller's log; this and
    all later ones have no effect. The pytorch plugin then looks for tasks by its defaults, `master` and `worker`.
    Fix: Write the flag as the plugin knows it.
    """
    for job in fleet.volcano_jobs:
        for plugin, arguments in job.plugins.items():
            if plugin not in _FLAGS:
                continue
            for flag in flags(plugin, arguments):
                if flag.wrong:
                    path = (*job.path, "plugins", plugin, flag.at)
                    message = f"--{flag.name} of plugin {plugin} {flag.wrong}: it and all that follow are ignored"
                    yield Issue(job.document, path, message, flag.fix)


@rule("volcano-plugin-task", severity="error", family=_FAMILY, targets=("volcano",))
def plugin_task(fleet: Fleet) -> Iterator[Issue]:
    """The pytorch plugin does not find its tasks, or has more than one rank 0.

    Why: Without the task that `--master` names nothing is injected at all. WORLD_SIZE counts the pods of the master and
    worker tasks only, pods of other tasks get no RANK, and every pod of the master task gets RANK 0.
    Fix: Name the tasks in `--master` and `--worker`, and give the master one replica.
    """
    for job in fleet.volcano_jobs:
        if "pytorch" not in job.plugins or not job.tasks:
            continue
        master, worker = task_of(job, "pytorch", "master", "master"), task_of(job, "pytorch", "worker", "worker")
        tasks = {task.name: task for task in job.tasks}
        path = (*job.path, "plugins", "pytorch")
        if master not in tasks:
            message = f'there is no task "{master}" to be the master of the pytorch plugin: it sets no variable at all'
            fix = nearest(master, tasks) or f"name one of the tasks with --master=<task>: {listed(tasks)}"
            yield Issue(job.document, path, message, fix)
            continue
        if tasks[master].replicas > 1:
            message = f'the master task "{master}" has {tasks[master].replicas} replicas, and each of them gets RANK 0'
            fix = "give it one replica and put the others into the worker task"
            yield Issue(job.document, (*tasks[master].path, "replicas"), message, fix)
        explicit = any(flag.name == "worker" and not flag.wrong for flag in flags("pytorch", job.plugins["pytorch"]))
        others = [name for name in tasks if name != master]
        if worker not in tasks and others and (explicit or len(others) == 1):
            missing = f'there is no task "{worker}" to be the worker of the pytorch plugin'
            message = f"{missing}: the pods of {listed(others)} get no RANK"
            fix = nearest(worker, others) or f"name it with --worker=<task>: {listed(others)}"
            yield Issue(job.document, path, message, fix)
