"""Volcano Jobs: gangs that can't form, pods that leave them, specs inside CronJobs and JobTemplates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from trainshed.api.mistakes import Mistake, mistakes_of
from trainshed.api.registry import model_for
from trainshed.checks.gang_common import KAI, VOLCANO, YUNIKORN, distributed, elastic_minimum, spec_text
from trainshed.checks.rule import Issue, rule
from trainshed.checks.volcano_policies import is_run
from trainshed.fleet.access import Node, text, whole
from trainshed.fleet.volcano_jobs import VolcanoJob
from trainshed.spelling import misspelt

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "volcano jobs"
_OTHERS: Final = ("default-scheduler", KAI, YUNIKORN)


@rule("volcano-scheduler-name", severity="error", family=FAMILY, targets=("volcano",))
def scheduler_name(fleet: Fleet) -> Iterator[Issue]:
    """A pod of a Volcano Job is given to another scheduler than the Job.

    Why: Pods without a schedulerName get the Job's. One that names another is not counted by the gang, and with the
    Job's own schedulerName wrong nobody schedules the gang as one.
    Fix: Leave schedulerName out of the templates, and write `volcano` in the Job.
    """
    for job in fleet.volcano_jobs:
        if job.scheduler in _OTHERS or misspelt(job.scheduler, VOLCANO):
            message = f'schedulerName is "{job.scheduler}", so Volcano does not schedule the gang'
            yield Issue(job.document, (*job.path, "schedulerName"), message, "write schedulerName: volcano")
            continue
        for task in job.tasks:
            own = text(task.spec, "schedulerName")
            if own and own != job.scheduler:
                message = f'task "{task.name}" has schedulerName "{own}", the job has "{job.scheduler}": not one gang'
                path = (*task.path, "template", "spec", "schedulerName")
                yield Issue(job.document, path, message, f"write schedulerName: {job.scheduler}, or leave it out")


@rule("volcano-gang-waits-for-itself", severity="error", family=FAMILY, targets=("volcano",))
def gang_waits_for_itself(fleet: Fleet) -> Iterator[Issue]:
    """The gang's minimum counts pods of a task that starts only after other tasks.

    Why: `dependsOn` keeps a task's pods from being made until the others run, and the gang does not run before its
    minimum is there: it waits in Inqueue for ever.
    Fix: Lower minAvailable to the pods of the tasks without dependsOn, and give dependent tasks `minAvailable: 0`.
    """
    for job in fleet.volcano_jobs:
        waiting = [task for task in job.tasks if task.waits_for and task.replicas]
        if not waiting:
            continue
        first = sum(task.replicas for task in job.tasks if not task.waits_for)
        enforced = job.minimum >= sum(task.minimum for task in job.tasks)
        counted = [task for task in waiting if enforced and task.minimum]
        if job.minimum > first or counted:
            task = (counted or waiting)[0]
            if job.minimum > first:
                why = f"minAvailable is {job.minimum}, and only {first} pods start before it"
            else:
                why = (
                    f"its minAvailable of {task.minimum} counts, as the job's {job.minimum} is not below the tasks' sum"
                )
            message = (
                f'task "{task.name}" starts after {", ".join(task.waits_for[:3])}, but the gang waits for it: {why}'
            )
            fix = f"write minAvailable: {first} or less for the job, and minAvailable: 0 for the task"
            yield Issue(job.document, (*job.path, "minAvailable"), message, fix)


@rule("volcano-gang-incomplete", severity="warning", family=FAMILY, targets=("volcano",))
def gang_incomplete(fleet: Fleet) -> Iterator[Issue]:
    """A distributed run's `minAvailable` is below the number of its pods.

    Why: The run then starts without all its ranks and waits in the rendezvous until it times out, GPUs held. An elastic
    launch (`--nnodes=2:4`) and partitions (`minPartitions`) say how many are enough, and are taken by that.
    Fix: Write minAvailable as the sum of the replicas.
    """
    for job in fleet.volcano_jobs:
        if job.minimum >= job.replicas or not is_run(job) or _partial_on_purpose(job):
            continue
        ranks = [task for task in job.tasks if "pytorch" in job.plugins or distributed(task.spec)]
        least = sum(task.replicas for task in ranks)
        if job.minimum < least:
            message = f"minAvailable is {job.minimum} of {least} pods: the run may start without all its ranks and hang"
            yield Issue(job.document, (*job.path, "minAvailable"), message, f"write minAvailable: {job.replicas}")


def _partial_on_purpose(job: VolcanoJob) -> bool:
    for task in job.tasks:
        if (whole(task.node, "partitionPolicy", "minPartitions") or 0) > 0 or task.waits_for:
            return True
        least = elastic_minimum(spec_text(task.spec))
        if least is not None and job.minimum >= least:
            return True
    return False


@rule("volcano-embedded-job", severity="error", family=FAMILY, targets=("volcano",))
def embedded_job(fleet: Fleet) -> Iterator[Issue]:
    """The job inside a JobTemplate would be refused.

    Why: Volcano's webhook does not look into these objects; the Job made of one is refused when its time comes, and
    only the controller's log tells.
    Fix: Correct the spec as for a Job.
    """
    for job in fleet.volcano_jobs:
        if model_for(job.document.api_version, job.document.kind) is not None:
            continue  # judged as a whole
        for mistake in _mistakes(job.spec):
            if "template" not in mistake.path:  # pod templates have a pass of their own
                field = mistake.path[-1] if mistake.path and isinstance(mistake.path[-1], str) else "spec"
                message = f"{field} {mistake.message}".replace(f"{field} {field} ", f"{field} ")
                yield Issue(job.document, (*job.path, *mistake.path), message, mistake.fix)


def _mistakes(spec: Node) -> Iterator[Mistake]:
    from trainshed.api.volcano import JobSpec  # most inputs have no such job, and need not load its models

    try:
        JobSpec.model_validate(spec, by_alias=True, by_name=False)
    except ValidationError as error:
        yield from mistakes_of(error, JobSpec, spec)
