"""Order of Volcano's queues and their jobs in a sync: the webhook refuses what names a queue that is not there yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import FAMILY, WAVE, folder, is_hook, under_argocd, wave
from trainshed.checks.argocd_order import placed
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_QUEUE: Final = ("scheduling.volcano.sh", "Queue")
_WAVE: Final[Path] = ("metadata", "annotations", WAVE)


def _together(fleet: Fleet, document: Document, name: str) -> Document | None:
    """The Queue of that name, where one sync applies both objects."""
    queue = fleet.find(*_QUEUE, None, name) if name else None
    if queue is None or not queue.judged or folder(queue) != folder(document) or is_hook(document):
        return None
    return queue


@rule("argocd-queue-after-job", severity="error", family=FAMILY)
def queue_after_job(fleet: Fleet) -> Iterator[Issue]:
    """A Volcano Job is applied before its Queue.

    Why: Volcano's webhook refuses a Job whose queue does not exist or is not open yet, and the sync fails. Within one
    wave Argo CD goes by kind, and its list has Job but no custom resource: the Job is first (argo-cd 3.5,
    `gitops-engine/pkg/sync/sync_tasks.go`).
    Fix: Give the Queue an earlier `argocd.argoproj.io/sync-wave`.
    """
    jobs = fleet.of(("batch.volcano.sh", "Job"))
    argocd = bool(jobs) and under_argocd(fleet)
    for job in jobs:
        queue = _together(fleet, job, text(job.manifest, "spec", "queue"))
        if queue is None:
            continue
        same = argocd and wave(job) == wave(queue)
        if wave(job) < wave(queue) or same:
            why = ": in one wave, Jobs come before custom resources" if same else ", and refused"
            message = f'the Job ({placed(job)}) is applied before its Queue "{queue.name}" ({placed(queue)}){why}'
            fix = f'give the Queue an earlier sync-wave, such as "{wave(job) - 20}"'
            yield Issue(job, _WAVE, message, fix, None, (("the Queue", queue, _WAVE),))


@rule("argocd-queue-before-parent", severity="error", family=FAMILY)
def queue_before_parent(fleet: Fleet) -> Iterator[Issue]:
    """A Volcano Queue is applied before its parent.

    Why: Volcano's webhook refuses a Queue whose parent does not exist. Objects of one kind and wave are applied at the
    same time, so a parent needs a wave of its own.
    Fix: One sync wave for each level of the tree, parents first.
    """
    queues = fleet.of(_QUEUE)
    argocd = bool(queues) and under_argocd(fleet)
    for queue in queues:
        parent = _together(fleet, queue, text(queue.manifest, "spec", "parent"))
        if parent is None or parent is queue or parent.name == "root":
            continue
        if wave(queue) < wave(parent) or (argocd and wave(queue) == wave(parent)):
            when = "with" if wave(queue) == wave(parent) else "before"
            message = (
                f'the Queue ({placed(queue)}) is applied {when} its parent "{parent.name}" ({placed(parent)}), and '
                f"refused while that is not there"
            )
            fix = f'give the parent an earlier sync-wave, such as "{wave(queue) - 1}"'
            yield Issue(queue, _WAVE, message, fix, None, (("the parent", parent, _WAVE),))
