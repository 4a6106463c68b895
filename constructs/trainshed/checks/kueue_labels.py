"""Kueue's labels and annotations: on the right object, as the right sort, spelt right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.kueue_common import QUEUE_NAME, managed_workloads
from trainshed.checks.kueue_places import (
    OBJECT_ANNOTATIONS,
    OBJECT_LABELS,
    OWNED,
    POD_ANNOTATIONS,
    TEMPLATE_ANNOTATIONS,
    Metadata,
    is_live,
    meant,
    metadata_blocks,
    metadata_of,
)
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.finding import Severity
from trainshed.fleet.kueue_tree import KUEUE
from trainshed.fleet.once import once
from trainshed.fleet.paths import Path, show_path
from trainshed.fleet.workload import Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue labels"
_MANAGED: Final = f"{KUEUE}/managed"
_TRAINER = "trainer.kubeflow.org"
#: The webhooks of these kinds copy the labels down, and a label on the pods alone works as well.
_POD_BASED = frozenset({"Deployment", "StatefulSet", "LeaderWorkerSet"})
_ANNOTATION_ONLY = frozenset({*OBJECT_ANNOTATIONS, *TEMPLATE_ANNOTATIONS, *POD_ANNOTATIONS})


@once
def _blocks(fleet: Fleet) -> list[tuple[Workload, list[Metadata]]]:
    """The metadata of every workload with any key of Kueue."""
    managed = {id(workload) for workload in managed_workloads(fleet)}
    return [
        (workload, blocks)
        for workload, members in metadata_blocks(fleet)
        for blocks in (members if id(workload) in managed else ())
        if any("kueue" in key for block in blocks for key in block.keys)
    ]


@rule("kueue-queue-label-misplaced", severity="error", family=_FAMILY, targets=("kueue",))
def queue_label_misplaced(fleet: Fleet) -> Iterator[Issue]:
    """The queue, the priority class or the time limit is written where Kueue does not read it.

    Why: Kueue reads `kueue.x-k8s.io/queue-name`, `priority-class` and `max-exec-time-seconds` from the labels of the
    top-level object only; of a CronJob from its job template. As an annotation, on a pod template, in a JobSet's
    replicatedJobs, in a TrainJob's `spec.labels` or in a runtime they have no effect: the job starts at once, outside
    of any queue.

    Fix: Write the label on the top-level object.
    """
    for workload, blocks in _blocks(fleet):
        for key in OBJECT_LABELS:
            if key not in workload.labels and (key == QUEUE_NAME or QUEUE_NAME in workload.labels):
                found = _misplaced(workload, blocks, key)
                if found is not None:
                    yield found
    for document in fleet.of((_TRAINER, "TrainingRuntime"), (_TRAINER, "ClusterTrainingRuntime")):
        for block in metadata_of(document, None):
            for field, values in (("labels", block.labels), ("annotations", block.annotations)):
                for key in OBJECT_LABELS:
                    if key in values:
                        message = f"{key} in a runtime has no effect: Kueue reads the labels of the TrainJob"
                        fix = "write it as a label in the metadata of the TrainJobs"
                        yield Issue(document, (*block.path, field, key), message, fix, "warning")


def _misplaced(workload: Workload, blocks: list[Metadata], key: str) -> Issue | None:
    right = show_path(workload.labels_path)
    effect = ": the job starts at once, outside of any queue" if key == QUEUE_NAME else ""
    for block in blocks:
        if key in block.annotations:
            where: Path = (*block.path, "annotations", key)
            message = f"{key} is an annotation, and Kueue reads only the label{effect}"
            return Issue(block.document, where, message, f"write it as a label in {right}")
        if key in block.labels and block.role != "object" and workload.kind not in _POD_BASED:
            place = "the pod template" if block.role == "template" else show_path(block.path)
            message = f"label {key} is on {place}, where Kueue does not read it{effect}"
            return Issue(block.document, (*block.path, "labels", key), message, f"write it in {right}")
    return None


@rule("kueue-annotation-as-label", severity="error", family=_FAMILY, targets=("kueue",))
def annotation_as_label(fleet: Fleet) -> Iterator[Issue]:
    """A key that Kueue reads as an annotation is written as a label.

    Why: Kueue's keys are not interchangeable: a pod group's name is a label, its `pod-group-total-count` an
    annotation; all topology requests are annotations. As a label the request is not seen, or the pods are refused.

    Fix: Move it to the annotations.
    """
    for _, blocks in _blocks(fleet):
        for block in blocks:
            for key in block.labels:
                if key in _ANNOTATION_ONLY and key not in block.annotations:
                    yield Issue(
                        block.document,
                        (*block.path, "labels", key),
                        f"{key} is a label, and Kueue reads only the annotation",
                        f"write it in {show_path((*block.path, 'annotations'))}",
                    )


@rule("kueue-annotation-misplaced", severity="error", family=_FAMILY, targets=("kueue",))
def annotation_misplaced(fleet: Fleet) -> Iterator[Issue]:
    """A topology request is not on the pod template, or a setting of the job is not on the job.

    Why: Kueue reads topology annotations from the metadata of each pod template, and settings such as
    `job-min-parallelism` from the job's own metadata. Elsewhere they have no effect.

    Fix: Move the annotation.
    """
    for workload, blocks in _blocks(fleet):
        templates = [block for block in blocks if block.role == "template"]
        for block in blocks:
            is_pod = workload.kind == "Pod"
            for key in block.annotations:
                if key in TEMPLATE_ANNOTATIONS and block.role != "template" and not is_pod:
                    if templates and all(key in template.annotations for template in templates):
                        continue
                    path = show_path((*templates[0].path, "annotations")) if templates else "the pod template"
                    message = f"{key} is on {show_path(block.path)}, and Kueue reads it on the pod template only"
                    yield Issue(block.document, (*block.path, "annotations", key), message, f"write it in {path}")
                elif _on_the_job(key) and block.role != "object" and key not in workload.annotations and not is_pod:
                    right = show_path(workload.annotations_path)
                    message = f"{key} is on {show_path(block.path)}, and Kueue reads it on the job only"
                    yield Issue(block.document, (*block.path, "annotations", key), message, f"write it in {right}")


def _on_the_job(key: str) -> bool:
    """Whether Kueue reads an annotation on the job: its own, and parameters of its ProvisioningRequests."""
    return key in OBJECT_ANNOTATIONS or key.startswith(f"provreq.{KUEUE}/")


@rule("kueue-key-misspelt", severity="error", family=_FAMILY, targets=("kueue",))
def key_misspelt(fleet: Fleet) -> Iterator[Issue]:
    """A label or annotation is close to one of Kueue's keys, but is none.

    Why: Unknown keys are accepted and ignored: the job runs outside the queue, or without what the key asks for.

    Fix: Write the key that is meant.
    """
    for _, blocks in _blocks(fleet):
        for block in blocks:
            for field, values in (("labels", block.labels), ("annotations", block.annotations)):
                for key in values:
                    known = meant(key) if "kueue" in key else ""
                    if known:
                        message = f"{key} is not a key of Kueue, and has no effect"
                        yield Issue(block.document, (*block.path, field, key), message, f'did you mean "{known}"?')


@rule("kueue-owned-key", severity="warning", family=_FAMILY, targets=("kueue",))
def owned_key(fleet: Fleet) -> Iterator[Issue]:
    """A manifest sets a label or annotation that Kueue itself writes.

    Why: Kueue marks what it manages with keys of its own. Written by hand they make it take the pods for something
    else, or are overwritten, which a GitOps tool reports as drift.

    Fix: Leave it out.
    """
    for _, blocks in _blocks(fleet):
        for block in blocks:
            if is_live(block.document):
                continue
            for field, values in (("labels", block.labels), ("annotations", block.annotations)):
                for key in values:
                    if key in OWNED:
                        message = f"{key} is written by Kueue itself"
                        refused = field == "labels" and key == _MANAGED and values[key] != "true"
                        message += ', and its webhook refuses a value other than "true"' if refused else ""
                        severity: Severity | None = "error" if refused and block.document.kind == "Pod" else None
                        yield Issue(block.document, (*block.path, field, key), message, "leave it out", severity)
