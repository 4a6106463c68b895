"""What a Volcano Job does when pods fail, are evicted or end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import distributed, spec_text
from trainshed.checks.rule import Issue, rule
from trainshed.checks.volcano_plugins import coordinator
from trainshed.fleet.access import Node, dig, items, mappings, text
from trainshed.fleet.finding import Severity
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import gpus
from trainshed.fleet.volcano_jobs import Task, VolcanoJob

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "volcano policies"
_RESTARTS: Final = ("RestartJob", "RestartTask", "RestartPod", "RestartPartition")
_ENDS: Final = ("TerminateJob", "AbortJob", "CompleteJob")
_SERVES: Final = ("sshd -D", "sleep infinity", "tail -f /dev/null")


def events(policy: Node) -> list[str]:
    """The events of a policy."""
    found = [text(policy, "event"), *(item for item in items(policy, "events") if isinstance(item, str))]
    return [item for item in dict.fromkeys(found) if item]


def actions(job: VolcanoJob, task: Task | None) -> dict[str, tuple[str, Path]]:
    """Event to (action, place) for a task: its own policies go before the job's."""
    found: dict[str, tuple[str, Path]] = {}
    listed = [((*job.path, "policies", index), policy) for index, policy in job.policies]
    if task is not None:
        listed += [((*task.path, "policies", index), policy) for index, policy in task.policies]
    for path, policy in listed:
        for event in events(policy):
            found[event] = (text(policy, "action"), path)
    return found


@rule("volcano-failed-and-evicted", severity="warning", family=FAMILY, targets=("volcano",))
def failed_and_evicted(fleet: Fleet) -> Iterator[Issue]:
    """A Job restarts for PodEvicted and ends for PodFailed, or the other way round.

    Why: An eviction deletes a pod that may fail while it stops: then both events are seen, and the one that comes first
    decides. A preempted run is terminated instead of restarted (volcano #5885).
    Fix: Give both events the same action, and tell real failures apart by exit code.
    """
    for job in fleet.volcano_jobs:
        told: set[tuple[Path, Path]] = set()
        for known in [actions(job, task) for task in job.tasks] or [actions(job, None)]:
            failed, evicted = known.get("PodFailed"), known.get("PodEvicted")
            if failed is None or evicted is None or (failed[1], evicted[1]) in told:
                continue
            if {failed[0], evicted[0]} & set(_RESTARTS) and {failed[0], evicted[0]} & set(_ENDS):
                told.add((failed[1], evicted[1]))
                message = (
                    f"PodFailed leads to {failed[0]} and PodEvicted to {evicted[0]}, but an evicted pod can raise "
                    f"PodFailed too: either action may win"
                )
                restart = failed[0] if failed[0] in _RESTARTS else evicted[0]
                fix = f"map both PodFailed and PodEvicted to {restart}, or tell real failures apart by exitCode"
                related = (("PodEvicted", job.document, evicted[1]),)
                yield Issue(job.document, failed[1], message, fix, None, related)


@rule("volcano-no-failure-policy", severity="warning", family=FAMILY, targets=("volcano",))
def no_failure_policy(fleet: Fleet) -> Iterator[Issue]:
    """A distributed run has no policy for a pod that fails.

    Why: By default Volcano does nothing when one pod of many fails: the others hang in their collective call until it
    times out, and hold their GPUs.
    Fix: Add policies for PodEvicted and PodFailed with the action RestartJob.
    """
    for job in fleet.volcano_jobs:
        if job.replicas < 2 or not is_run(job):
            continue
        unhandled = [task for task in job.tasks if task.replicas and not _handles_failure(job, task)]
        if unhandled:
            path = (*job.path, "policies")
            message = "no policy says what happens when a pod fails: the other pods of the run hang and hold their GPUs"
            fix = "add policies for PodFailed and PodEvicted with action RestartJob"
            yield Issue(job.document, path, message, fix)


def is_run(job: VolcanoJob) -> bool:
    """Whether the pods of a job are ranks of one run: by its plugin or its pods."""
    return "pytorch" in job.plugins or any(distributed(task.spec) for task in job.tasks)


def _handles_failure(job: VolcanoJob, task: Task) -> bool:
    policies = [policy for _, policy in (*job.policies, *task.policies)]
    handled = {event for policy in policies for event in events(policy)}
    codes = any(policy.get("exitCode") is not None for policy in policies)
    return codes or bool(handled & {"PodFailed", "TaskFailed", "*", "Unknown"})


@rule("volcano-completes-too-early", severity="warning", family=FAMILY, targets=("volcano",))
def completes_too_early(fleet: Fleet) -> Iterator[Issue]:
    """The first task that completes ends the whole Job.

    Why: TaskCompleted with CompleteJob among the job's own policies holds for every task: the first one to finish kills
    the others. On a worker it kills the master, which still writes the last checkpoint.
    Fix: Put the policy on the coordinating task alone.
    """
    for job in fleet.volcano_jobs:
        running = [task for task in job.tasks if task.replicas]
        if len(running) < 2:
            continue
        master = coordinator(job)
        for index, policy in job.policies:
            if "TaskCompleted" in events(policy) and text(policy, "action") == "CompleteJob":
                message = "TaskCompleted with CompleteJob holds for every task: the first one to finish ends the job"
                fix = f'move the policy to task "{master or running[0].name}"'
                yield Issue(job.document, (*job.path, "policies", index), message, fix)
        own = {task.name for task in running if _completes(task)}
        if master and own and master not in own and any(task.name == master for task in running):
            task = next(task for task in running if task.name in own)
            message = f'task "{task.name}" ends the job when it is completed, while master "{master}" may still run'
            yield Issue(job.document, (*task.path, "policies"), message, f'move the policy to task "{master}"')


def _completes(task: Task) -> bool:
    return any(
        "TaskCompleted" in events(policy) and text(policy, "action") == "CompleteJob" for _, policy in task.policies
    )


def _trains(task: Task) -> bool:
    """Whether a task's containers ask for GPUs: they are to end, and hold them until then."""
    return any(gpus(container) for _, container in mappings(task.spec, "containers"))


@rule("volcano-never-completes", severity="warning", family=FAMILY, targets=("volcano",))
def never_completes(fleet: Fleet) -> Iterator[Issue]:
    """A Job can't complete, because pods of a task never end.

    Why: A Job completes when all pods have ended. With restartPolicy Always (the default where none is written)
    containers start again for ever, and an MPI worker's `sshd -D` never ends, unless a task completes the Job. An error
    where the containers hold GPUs.
    Fix: Write restartPolicy Never or OnFailure; on the coordinating task add TaskCompleted with CompleteJob.
    """
    for job in fleet.volcano_jobs:
        ended_by = {task.name for task in job.tasks if _completes(task)}
        if any("TaskCompleted" in events(policy) for _, policy in job.policies) or dig(job.spec, "minSuccess"):
            continue
        for task in job.tasks:
            if not task.spec or not task.replicas:
                continue
            policy, path = text(task.spec, "restartPolicy"), (*task.path, "template", "spec", "restartPolicy")
            if policy in ("", "Always") and not ended_by - {task.name}:
                written = f"restartPolicy is {policy}" if policy else "no restartPolicy is written, so it is Always"
                message = (
                    f'task "{task.name}": {written}: its containers start again for ever and the job never completes'
                )
                severity: Severity | None = "error" if _trains(task) else None
                yield Issue(job.document, path, message, "write restartPolicy: Never (or OnFailure)", severity)
            elif len(job.tasks) > 1 and not ended_by and any(word in spec_text(task.spec) for word in _SERVES):
                message = f'task "{task.name}" never ends by itself and no task completes the job'
                fix = "add the policy TaskCompleted with CompleteJob to the coordinating task"
                yield Issue(job.document, (*job.path, "tasks"), message, fix)


@rule("volcano-pending-without-timeout", severity="warning", family=FAMILY, targets=("volcano",))
def pending_without_timeout(fleet: Fleet) -> Iterator[Issue]:
    """A policy for PodPending has no timeout.

    Why: PodPending acts only once its timeout has passed; without one it never does.
    Fix: Add `timeout`, such as `10m`.
    """
    for job in fleet.volcano_jobs:
        listed = [((*job.path, "policies", index), policy) for index, policy in job.policies]
        for task in job.tasks:
            listed += [((*task.path, "policies", index), policy) for index, policy in task.policies]
        for path, policy in listed:
            if "PodPending" in events(policy) and policy.get("timeout") in (None, ""):
                yield Issue(job.document, path, "PodPending without a timeout never acts", "add timeout: 10m")
