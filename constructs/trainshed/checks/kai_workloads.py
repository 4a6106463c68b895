"""Workloads that KAI is to place: scheduler, queue, and where the queue is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import KAI, KAI_QUEUE, label_place, listed, proposal
from trainshed.checks.kai_common import has_own_group, in_kai, own_annotations, placed, queue_of
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, text
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.kai_tree import BUILT_IN, GROUP
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import Workload
from trainshed.spelling import misspelt

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "kai workloads"
#: Keys of earlier releases and of run:ai, and what people write instead of the key.
_LEGACY: Final = ("runai/queue", "runai.queue", "run.ai/queue", "runai-queue", "kai.scheduler/queue-name", "kai/queue")


@rule("kai-scheduler-name", severity="error", family=FAMILY, targets=("kai",))
def scheduler_name(fleet: Fleet) -> Iterator[Issue]:
    """Pods name a KAI queue, but another scheduler places them.

    Why: KAI looks at pods with `schedulerName: kai-scheduler` only. The label alone changes nothing: the default
    scheduler places the pods, outside of every queue and quota.
    Fix: Write `schedulerName: kai-scheduler` in the pod template.
    """
    seen: set[tuple[int, Path]] = set()
    for workload in fleet.gang_marks.kai:
        for pod_set in workload.pod_sets if workload.parts_known or workload.kind != "TrainJob" else ():
            if not pod_set.spec or not (workload.labels.get(KAI_QUEUE) or pod_set.labels.get(KAI_QUEUE)):
                continue
            document, path = pod_set.at(("spec", "schedulerName"))
            if pod_set.scheduler == KAI or (id(document), path) in seen:
                continue
            if dig(pod_set.document.manifest, *pod_set.path) is None:
                continue  # made by an operator, such as a RayJob's submitter: nobody writes it
            seen.add((id(document), path))
            queue = workload.labels.get(KAI_QUEUE) or pod_set.labels[KAI_QUEUE]
            has = f'schedulerName is "{pod_set.scheduler}"' if pod_set.scheduler else "schedulerName is not written"
            message = f'the label {KAI_QUEUE} names queue "{queue}", but {has}: KAI ignores the pods'
            yield Issue(document, path, message, f"write schedulerName: {KAI}")


@rule("kai-queue-missing", severity="error", family=FAMILY, targets=("kai",))
def queue_missing(fleet: Fleet) -> Iterator[Issue]:
    """A workload or PodGroup names a KAI Queue that does not exist.

    Why: The pods stay Pending; only the PodGroup's condition QueueDoesNotExist says why.
    Fix: Name an existing Queue, or add it. Queues have no namespace.
    """
    tree = fleet.kai
    severity: Severity = "error" if in_kai(fleet) else "info"
    for document, path, name in _references(fleet):
        if tree.exists(name) or fleet.find(GROUP, "Queue", None, name):
            continue
        known = f"; defined: {listed(tree.names)}" if tree.names else ", unless it exists elsewhere"
        fix = proposal(name, tree.names, f'add Queue "{name}"')
        yield Issue(document, path, f'there is no Queue "{name}": the pods stay Pending{known}', fix, severity)


def _references(fleet: Fleet) -> Iterator[tuple[Document, Path, str]]:
    seen: set[tuple[int, Path]] = set()
    for workload in fleet.gang_marks.kai:
        if name := queue_of(workload):
            document, path = label_place(workload, KAI_QUEUE)
            if (id(document), path) not in seen:
                seen.add((id(document), path))
                yield document, path, name
    for group in fleet.of((GROUP, "PodGroup")):
        if name := text(group.manifest, "spec", "queue"):
            yield group, ("spec", "queue"), name


@rule("kai-queue-not-leaf", severity="error", family=FAMILY, targets=("kai",))
def queue_not_leaf(fleet: Fleet) -> Iterator[Issue]:
    """A workload names a KAI Queue that is the parent of others.

    Why: Jobs are scheduled from leaf queues only; in a parent they stay Pending.
    Fix: Name a queue below it.
    """
    tree = fleet.kai
    for document, path, name in _references(fleet):
        children = [child.name for child in tree.children.get(name, ())] if name else []
        if children or name == "default-parent-queue":
            below = f" (child queues: {listed(children)})" if children else ""
            message = f'queue "{name}" is a parent{below}, and only leaf queues schedule: the pods stay Pending'
            yield Issue(document, path, message, f"use a leaf queue: {listed(children or ['default-queue'])}")


@rule("kai-top-level-queue", severity="info", family=FAMILY, targets=("kai",))
def top_level_queue(fleet: Fleet) -> Iterator[Issue]:
    """A workload goes to a KAI Queue that has no parent.

    Why: Before KAI 0.13 work ran only in leaf queues with a parent, and pods of such a queue stayed Pending without a
    reason. Later releases take a queue without parent for a leaf; the documentation still assumes two levels.
    Fix: Give the queue a parent.
    """
    tree = fleet.kai
    for document, path, name in _references(fleet):
        queue = tree.queues.get(name)
        if queue is not None and not queue.parent and name not in tree.children and name not in BUILT_IN:
            message = f'queue "{name}" has no parent: KAI before 0.13 schedules nothing there'
            related = ((f"Queue {name}", queue.document, ("spec",)),)
            yield Issue(
                document, path, message, "give the queue a parentQueue, or run KAI 0.13 or later", None, related
            )


@rule("kai-queue-misplaced", severity="error", family=FAMILY, targets=("kai",))
def queue_misplaced(fleet: Fleet) -> Iterator[Issue]:
    """The KAI queue is written as an annotation, or under a key that KAI does not read.

    Why: KAI reads the label `kai.scheduler/queue` of the workload or of its pods. Anything else is ignored, and the
    pods land in `default-queue`.
    Fix: Write the label on the workload.
    """
    seen: set[tuple[int, Path]] = set()
    for workload in fleet.gang_marks.kai:
        to_kai = any(pod_set.scheduler == KAI for pod_set in workload.pod_sets)
        for document, path, key in _wrong(workload, to_kai):
            if queue_of(workload) or (id(document), path) in seen:
                continue
            seen.add((id(document), path))
            message = f"{key} is written as an annotation, and KAI reads the label {KAI_QUEUE}"
            severity: Severity | None = None
            if key != KAI_QUEUE:
                message = f"{key} is no key that KAI reads: the pods land in default-queue"
                severity = "error" if in_kai(fleet) or key not in _LEGACY[:1] else "warning"
            yield Issue(document, path, message, f"write it as the label {KAI_QUEUE} of the workload", severity)


def _wrong(workload: Workload, to_kai: bool) -> Iterator[tuple[Document, Path, str]]:
    metadata: Path = ("metadata", "annotations")
    annotations = own_annotations(workload)
    if KAI_QUEUE in annotations:
        yield workload.document, (*metadata, KAI_QUEUE), KAI_QUEUE
    if KAI_QUEUE in workload.annotations and KAI_QUEUE not in annotations:
        yield workload.document, (*workload.annotations_path, KAI_QUEUE), KAI_QUEUE
    for key in workload.labels if to_kai else ():
        if _odd(key):
            yield workload.document, (*workload.labels_path, key), key
    for pod_set in workload.pod_sets:
        if KAI_QUEUE in pod_set.annotations and KAI_QUEUE not in annotations:
            yield (*pod_set.at(("metadata", "annotations", KAI_QUEUE)), KAI_QUEUE)
        for key in pod_set.labels if to_kai else ():
            if _odd(key):
                yield (*pod_set.at(("metadata", "labels", key)), key)


def _odd(key: str) -> bool:
    return key in _LEGACY or (key != KAI_QUEUE and "/" in key and len(key) < 40 and misspelt(key, KAI_QUEUE))


@rule("kai-no-queue", severity="warning", family=FAMILY, targets=("kai",))
def no_queue(fleet: Fleet) -> Iterator[Issue]:
    """A workload goes to KAI without naming a queue, while the input has queues.

    Why: It lands in `default-queue`, which has no quota and shares what is idle with everybody.
    Fix: Add the label `kai.scheduler/queue`.
    """
    own = [name for name in fleet.kai.names if name not in BUILT_IN]
    if not own:
        return
    for workload in placed(fleet):
        if queue_of(workload) or has_own_group(workload) or workload.labels.get("project"):
            continue
        if any(True for _ in _wrong(workload, True)) or any(
            pod_set.labels.get("project") for pod_set in workload.pod_sets
        ):
            continue
        message = f"the label {KAI_QUEUE} is missing, so the pods land in default-queue"
        yield Issue(workload.document, (*workload.labels_path, KAI_QUEUE), message, f"name a queue: {listed(own)}")
