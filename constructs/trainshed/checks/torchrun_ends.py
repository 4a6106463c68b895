"""How a run ends: signals, grace periods, exit codes, and who restarts what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.pods import issue, named
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import items, mapping, mappings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import Member, Run, grace_period
from trainshed.fleet.words import number

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "torchrun"
#: What a container that torchrun is PID 1 of can exit with: failure, usage, not started, killed by the kernel.
_POSSIBLE: Final = frozenset({1, 2, 125, 126, 127, 128, 134, 137, 139, 143})
_SHUTDOWN: Final = 30


def _torch_containers(run: Run) -> dict[tuple[int, str], Member]:
    """The containers that end as torchrun does, by pod set and name."""
    return {
        (id(member.pod_set), text(member.container, "name")): member
        for member in run.torch
        if (not member.launch.busy or not member.launch.shell) and not member.launch.keeps_codes
    }


@rule("torchrun-exit-code-lost", severity="warning", family=FAMILY)
def exit_code_lost(fleet: Fleet) -> Iterator[Issue]:
    """A policy waits for an exit code that torchrun never passes on.

    Why: torchrun exits 1 whatever its workers exited with (a worker's 42, a SIGKILL, a SIGTERM: measured with torch
    2.13). A rule on the workers' codes never matches; Kubeflow's restartPolicy ExitCode takes every failure, a
    preemption too, for permanent.
    Fix: Match the condition DisruptionTarget, or start the script by a launcher that keeps codes.
    """
    for run in fleet.runs:
        known = _torch_containers(run)
        seen: set[tuple[int, Path]] = set()
        for document, path, member, codes in _waited_for(run, known):
            if codes and not _POSSIBLE & codes and (id(document), path) not in seen:
                seen.add((id(document), path))
                shown = ", ".join(map(str, sorted(codes)))
                message = f"it waits for exit code {shown}, and torchrun in {named(member.container)} always exits 1"
                yield Issue(document, path, message, "match DisruptionTarget, or a launcher that keeps exit codes")
        for member in known.values() if run.workload.form == "pytorch" else ():
            if text(member.pod_set.item, "restartPolicy") == "ExitCode":
                path = (*member.pod_set.item_path, "restartPolicy")
                message = "ExitCode takes codes below 128 for permanent, and torchrun exits 1 after every failure"
                yield Issue(member.pod_set.document, path, message, "write OnFailure or Never")


def _waited_for(run: Run, known: dict[tuple[int, str], Member]) -> Iterator[tuple[Document, Path, Member, set[int]]]:
    """(document, path, a member it is about, exit codes) of each policy that waits for certain codes."""
    for pod_set in run.workload.pod_sets:
        names = [text(container, "name") for _, container in pod_set.containers]
        here = [known[id(pod_set), name] for name in names if (id(pod_set), name) in known]
        if not here:
            continue
        for index, one in mappings(pod_set.job, "podFailurePolicy", "rules"):
            wanted = mapping(one, "onExitCodes")
            about = text(wanted, "containerName")
            members = [member for member in here if about in ("", text(member.container, "name"))]
            everywhere = about or len(here) == len(set(names))
            if wanted.get("operator") == "In" and members and everywhere:
                path = (*pod_set.job_path, "podFailurePolicy", "rules", index, "onExitCodes", "values")
                yield pod_set.document, path, members[0], _numbers(items(wanted, "values"))
        if not pod_set.job and run.workload.form == "Job" and len(here) == len(set(names)):
            for index, one in mappings(pod_set.item, "policies"):
                code = whole(one, "exitCode")
                path = (*pod_set.item_path, "policies", index, "exitCode")
                yield pod_set.document, path, here[0], {code} if code is not None else set()
            for index, one in mappings(run.workload.manifest, "spec", "policies"):
                code = whole(one, "exitCode")
                path = (*run.workload.path, "spec", "policies", index, "exitCode")
                yield run.workload.document, path, here[0], {code} if code is not None else set()


def _numbers(values: list[Any]) -> set[int]:
    return {value for value in values if isinstance(value, int) and not isinstance(value, bool)}


@rule("torchrun-behind-shell", severity="warning", family=FAMILY)
def behind_shell(fleet: Fleet) -> Iterator[Issue]:
    """A shell stands between the kubelet's SIGTERM and torchrun.

    Why: The kubelet signals the first process. A shell that runs a script with several commands does not pass SIGTERM
    on: torchrun goes on until the grace period is over, then all is killed and no checkpoint is written.
    Fix: Put `exec` before torchrun, or make it the container's command.
    """
    for run in fleet.runs:
        for member in run.torch:
            launch = member.launch
            if not (launch.shell and launch.busy) or launch.traps:
                continue
            if launch.conditional or member.pod_set.spec.get("shareProcessNamespace") is True:
                continue
            grace = grace_period(member.pod_set)
            matters = grace is not None and grace > _SHUTDOWN
            message = "a shell runs torchrun, and does not pass SIGTERM on to it"
            message += f": the {grace} seconds of grace go by unused" if matters else ""
            yield issue(member.pod_set, launch.path, message, "write exec torchrun", None if matters else "info")


@rule("torchrun-grace-too-short", severity="warning", family=FAMILY)
def grace_too_short(fleet: Fleet) -> Iterator[Issue]:
    """The kubelet kills the pod before torchrun has ended its workers.

    Why: On SIGTERM torchrun gives its workers 30 seconds (`--shutdown-timeout`, PET_SHUTDOWN_TIMEOUT). A pod's grace
    period counts from the same moment; when it is no longer, everything is killed while a checkpoint is written.
    Fix: Make terminationGracePeriodSeconds at least 15 seconds longer than torchrun's timeout.
    """
    for run in fleet.runs:
        for member in run.torch:
            option = member.launch.option("shutdown-timeout") or member.launch.variable(
                "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
            )
            timeout = number(option.word) if option else _SHUTDOWN
            grace = grace_period(member.pod_set)
            if member.launch.keeps_codes:  # its own wait follows the grace period: rules torchrun-launcher-*
                continue
            if timeout is None or (grace is None and option is None):
                continue
            given = 30 if grace is None else grace
            if given <= timeout:
                shown = f"is {given}" if grace is not None else "is 30, as it is not written"
                message = f"terminationGracePeriodSeconds {shown}, and torchrun waits {timeout} s for its workers"
                path: Path = ("spec", "terminationGracePeriodSeconds") if grace is not None else ("spec",)
                yield issue(member.pod_set, path, message, f"write {timeout + 15} or more")


@rule("torchrun-retries-by-index", severity="warning", family=FAMILY)
def retries_by_index(fleet: Fleet) -> Iterator[Issue]:
    """A Job counts the failures of each index by itself, and its pods are one world.

    Why: With backoffLimitPerIndex one node may have failed for good while the others are retried and wait for it.
    Fix: Use backoffLimit; for restarts of the whole world a JobSet or a TrainJob.
    """
    for run in fleet.runs:
        for member in run.torch:
            limit = whole(member.pod_set.job, "backoffLimitPerIndex")
            if limit is not None and member.nodes and member.nodes[0] > 1 and run.spread:
                path = (*member.pod_set.job_path, "backoffLimitPerIndex")
                message = f"each index has {limit} retries of its own, and the {member.nodes[0]} nodes are one world"
                yield Issue(member.pod_set.document, path, message, "write backoffLimit in its place")
