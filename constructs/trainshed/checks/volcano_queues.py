"""Names of Volcano queues: what jobs and pod groups refer to, and where they may go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.checks.gang_common import VOLCANO_QUEUE, listed, proposal
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.paths import Path
from trainshed.fleet.volcano_tree import GROUP

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "volcano queues"


class Use(NamedTuple):
    """A queue that an object names; `job` says whether the webhook of Jobs looks at it."""

    document: Document
    path: Path
    queue: str
    job: bool


def uses(fleet: Fleet) -> Iterator[Use]:
    """Every place that names a Volcano queue."""
    for job in fleet.volcano_jobs:
        if name := text(job.spec, "queue"):
            yield Use(job.document, (*job.path, "queue"), name, True)
    for group in fleet.of((GROUP, "PodGroup")):
        if name := text(group.manifest, "spec", "queue"):
            yield Use(group, ("spec", "queue"), name, False)
    seen: set[tuple[int, Path]] = set()
    for workload in fleet.gang_marks.queued:
        if name := workload.annotations.get(VOLCANO_QUEUE, ""):
            seen.add((id(workload.document), (*workload.annotations_path, VOLCANO_QUEUE)))
            yield Use(workload.document, (*workload.annotations_path, VOLCANO_QUEUE), name, False)
    templates = [(workload, pod_set) for workload in fleet.templates for pod_set in workload.pod_sets]
    for _, pod_set in [*fleet.gang_marks.grouped, *templates]:
        if name := pod_set.annotations.get(VOLCANO_QUEUE, ""):
            document, path = pod_set.at(("metadata", "annotations", VOLCANO_QUEUE))
            if (id(document), path) not in seen:
                seen.add((id(document), path))
                yield Use(document, path, name, False)
    yield from _runtimes(fleet)


def _runtimes(fleet: Fleet) -> Iterator[Use]:
    path = ("spec", "template", "metadata", "annotations", VOLCANO_QUEUE)
    for kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
        for runtime in fleet.of(("trainer.kubeflow.org", kind)):
            if name := text(runtime.manifest, *path):
                yield Use(runtime, path, name, False)


@rule("volcano-queue-missing", severity="error", family=FAMILY, targets=("volcano",))
def queue_missing(fleet: Fleet) -> Iterator[Issue]:
    """A Volcano Job or PodGroup names a Queue that does not exist.

    Why: Volcano's webhook refuses it ("unable to find job queue"). For pods that name a queue by annotation the
    controller can't create the PodGroup, and they stay Pending without one.
    Fix: Name an existing Queue, or add it in an earlier sync wave. Queues have no namespace.
    """
    tree = fleet.volcano
    severity: Severity = "error" if tree else "info"
    for use in uses(fleet):
        if tree.exists(use.queue) or fleet.find(GROUP, "Queue", None, use.queue):
            continue
        effect = "Volcano's webhook refuses the job" if use.job else "its pods get no PodGroup and stay Pending"
        where = f"; defined: {listed(tree.names)}" if tree.names else ", unless it exists elsewhere"
        message = f'there is no Queue "{use.queue}", so {effect}{where}'
        fix = proposal(use.queue, tree.names, f'add Queue "{use.queue}"')
        yield Issue(use.document, use.path, message, fix, severity)


@rule("volcano-queue-not-leaf", severity="error", family=FAMILY, targets=("volcano",))
def queue_not_leaf(fleet: Fleet) -> Iterator[Issue]:
    """Work is sent to a Queue that has child queues, or to `root`.

    Why: Only leaf queues take work. The webhook refuses a Job there. A PodGroup passes, and with the capacity plugin's
    hierarchy the scheduler then allocates nothing in the whole cluster.
    Fix: Name a leaf below that queue.
    """
    tree = fleet.volcano
    for use in uses(fleet):
        if tree.is_leaf(use.queue):
            continue
        children = [child.name for child in tree.children.get(use.queue, ())]
        below = f" (child queues: {listed(children)})" if children else ""
        effect = (
            "the webhook refuses the job"
            if use.job
            else "with the capacity plugin's hierarchy nothing is scheduled at all"
        )
        message = f'queue "{use.queue}" is not a leaf{below}: {effect}'
        leaves = tree.leaves_below(use.queue) or tree.names
        fix = f"use a leaf queue{f': {listed(leaves)}' if leaves else ''}"
        node = tree.queues.get(use.queue)
        related = ((f"Queue {use.queue}", node.document, ("metadata", "name")),) if node and node.document else ()
        yield Issue(use.document, use.path, message, fix, None, related)


@rule("volcano-queue-closed", severity="error", family=FAMILY, targets=("volcano",))
def queue_closed(fleet: Fleet) -> Iterator[Issue]:
    """A Job goes to a Queue whose manifest closes it.

    Why: The webhook takes Jobs and PodGroups for queues in state Open only.
    Fix: Take `status` out of the manifest, or send the job to an open queue.
    """
    for use in uses(fleet):
        node = fleet.volcano.queues.get(use.queue)
        if node is None or node.document is None:
            continue
        state = text(node.document.manifest, "status", "state")
        if state in ("Closed", "Closing"):
            message = f'queue "{use.queue}" is {state}, and only open queues take work'
            related = (("its state", node.document, ("status", "state")),)
            yield Issue(use.document, use.path, message, "name an open queue, or open this one", None, related)


@rule("volcano-hierarchy-prefix", severity="error", family=FAMILY, targets=("volcano",))
def hierarchy_prefix(fleet: Fleet) -> Iterator[Issue]:
    """A queue's `volcano.sh/hierarchy` path is the beginning of another queue's.

    Why: With the old annotations only the ends of paths are queues; the webhook refuses a path that leads through one.
    Fix: Give the queue a path of its own.
    """
    path = ("metadata", "annotations", "volcano.sh/hierarchy")
    paths = {queue.name: text(queue.manifest, *path).strip("/") for queue in fleet.of((GROUP, "Queue"))}
    inner: dict[str, str] = {}
    for name, written in paths.items():
        parts = written.split("/")[:64]
        for length in range(1, len(parts)):
            inner.setdefault("/".join(parts[:length]), name)
    for queue in fleet.of((GROUP, "Queue")):
        written = paths[queue.name]
        if written and written in inner:
            message = f'hierarchy "{written}" is the beginning of "{paths[inner[written]]}" of Queue "{inner[written]}"'
            yield Issue(queue, path, message, "give the queue a path of its own")
