"""batch/v1 Jobs whose numbers do not make one world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import strings, whole
from trainshed.fleet.runs import Member, indexed

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "job"
_MIN_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"


def _worlds(fleet: Fleet) -> Iterator[Member]:
    """One member for each pod set of Jobs that is a world of several nodes."""
    for run in fleet.runs:
        seen: set[int] = set()
        for member in run.torch:
            several = member.nodes is None or member.nodes[1] > 1
            if member.pod_set.job and several and member.backend != "standalone" and id(member.pod_set) not in seen:
                seen.add(id(member.pod_set))
                yield member


@rule("job-completions", severity="error", family=FAMILY)
def completions(fleet: Fleet) -> Iterator[Issue]:
    """A Job whose pods are one world has other completions than pods at a time.

    Why: With more completions than parallelism some ranks start only when others have ended; with fewer, fewer pods run
    than the world has. Without completions the Job is complete as soon as one pod has succeeded, and no index is left.
    Fix: Write one number for both.
    """
    for member in _worlds(fleet):
        job = member.pod_set.job
        total, at_once = whole(job, "completions"), whole(job, "parallelism")
        if total is None or member.workload.kind == "TrainJob" or not indexed(member):
            continue
        each = 1 if at_once is None else at_once
        if each == total or not each:
            continue
        written = f"parallelism is {each}" if at_once is not None else "parallelism is not written, so it is 1"
        message = f"completions is {total}, and {written}: "
        message += "ranks wait for others to end" if total > each else f"only {total} pods run"
        field = "completions" if at_once is not None else "parallelism"
        path = (*member.pod_set.job_path, field)
        document = member.pod_set.document
        path = path if document.has(path) else (*member.pod_set.job_path, "completions")
        yield Issue(document, path, message, "write one number for completions and parallelism")


@rule("job-partial-admission", severity="warning", family=FAMILY, targets=("kueue",))
def partial_admission(fleet: Fleet) -> Iterator[Issue]:
    """Kueue may start a Job with fewer pods than its world has nodes.

    Why: With the annotation kueue.x-k8s.io/job-min-parallelism Kueue lowers parallelism when the quota is short. A
    fixed `--nnodes` then waits for pods that never come. An elastic range can do with fewer.
    Fix: Remove the annotation, or give `--nnodes` as a range from the least number.
    """
    for member in _worlds(fleet):
        workload = member.workload
        least = strings(workload.manifest, "metadata", "annotations").get(_MIN_PARALLELISM, "")
        if workload.form != "Job" or not (least.isascii() and least.isdigit()) or len(least) > 8 or not member.nodes:
            continue
        if int(least) < member.nodes[0]:
            path = (*workload.path, "metadata", "annotations", _MIN_PARALLELISM)
            message = f"Kueue may start {least} pods, and torchrun needs {member.nodes[0]} nodes"
            yield Issue(workload.document, path, message, "remove the annotation, or give --nnodes as a range")
