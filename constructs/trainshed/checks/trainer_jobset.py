"""Fields of a runtime's JobSet that do not go with TrainJobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.checks.trainer_common import jobs, runtimes
from trainshed.fleet.access import dig, whole
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "trainer"


@rule("trainer-runtime-ttl", severity="error", family=FAMILY, targets=("trainer",))
def runtime_ttl(fleet: Fleet) -> Iterator[Issue]:
    """A runtime's JobSet deletes itself after it has ended.

    Why: Up to 2.3 Trainer makes the JobSet of a TrainJob anew when it is gone: a failed run starts again after each
    TTL, for ever (trainer#3779).
    Fix: Remove ttlSecondsAfterFinished; delete TrainJobs.
    """
    for runtime in runtimes(fleet):
        at: Path = ("spec", "template", "spec", "ttlSecondsAfterFinished")
        places = [at, *((*job.path, "template", "spec", at[-1]) for job in jobs(runtime))]
        for place in places:
            if dig(runtime.manifest, *place) is not None:
                message = "after it the JobSet is deleted, and Trainer makes it again: the run starts over"
                yield Issue(runtime, place, message, "remove ttlSecondsAfterFinished")


@rule("trainer-replicas", severity="error", family=FAMILY, targets=("trainer",))
def replicas(fleet: Fleet) -> Iterator[Issue]:
    """A job of a runtime has several replicas.

    Why: Trainer and Kueue count a job's pods without its replicas: quota and gangs are too small (trainer#2318).
    Fix: Leave replicas out; numNodes, or parallelism and completions, say how many pods there are.
    """
    for runtime in runtimes(fleet):
        for job in jobs(runtime):
            count = whole(job.item, "replicas")
            if count is not None and count > 1 and not job.step:
                message = f'"{job.name}" has {count} replicas, and Trainer and Kueue count one'
                yield Issue(runtime, (*job.path, "replicas"), message, "leave replicas out and use numNodes")
