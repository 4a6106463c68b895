"""Values that KAI reads from queues, labels and annotations, and ignores when it can't."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import dig
from trainshed.fleet.kai_tree import GROUP
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "kai placement"
_PREEMPTIBILITY: Final = "kai.scheduler/preemptibility"
_CLASSES: Final = ("preemptible", "non-preemptible", "semi-preemptible")
_TOPOLOGY: Final = "kai.scheduler/topology"
_SEGMENT: Final = "kai.scheduler/segment-size"
_PLACEMENTS: Final = (
    "kai.scheduler/segment-topology-required-placement",
    "kai.scheduler/segment-topology-preferred-placement",
)
#: PriorityClasses of KAI's chart (v0.17.0).
_INSTALLED: Final = ("train", "build-preemptible", "build", "inference")
_DURATION: Final = re.compile(r"0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+")
_RUNTIMES: Final = ("preemptMinRuntime", "reclaimMinRuntime")
_DELAYS: Final = ("kai.scheduler/preemption-delay", "kai.scheduler/staleness-grace-period")


@rule("kai-preemptibility-value", severity="warning", family=_FAMILY, targets=("kai",))
def preemptibility_value(fleet: Fleet) -> Iterator[Issue]:
    """The label `kai.scheduler/preemptibility` has a value that KAI does not know.

    Why: KAI then goes by the priority: below 100 the pods may be evicted, whatever was meant.
    Fix: Write `preemptible` or `non-preemptible`.
    """
    for workload in fleet.gang_marks.kai:
        written = workload.labels.get(_PREEMPTIBILITY)
        if written is not None and written not in _CLASSES:
            path: Path = (*workload.labels_path, _PREEMPTIBILITY)
            message = f'preemptibility is "{written}", which KAI does not know: the priority decides instead'
            fix = nearest(written, _CLASSES) or "write preemptible or non-preemptible"
            yield Issue(workload.document, path, message, fix)


@rule("kai-priority-label", severity="warning", family=_FAMILY, targets=("kai",))
def priority_label(fleet: Fleet) -> Iterator[Issue]:
    """The label `priorityClassName` names a PriorityClass that does not exist.

    Why: KAI then takes the class of the kind instead, with a line in its log: a build becomes a training run that may
    be evicted, or the other way round.
    Fix: Name an existing PriorityClass; KAI installs train, build-preemptible, build and inference.
    """
    own = fleet.names("scheduling.k8s.io", "PriorityClass")
    known = {*own, *_INSTALLED}
    for workload in fleet.gang_marks.kai:
        written = workload.labels.get("priorityClassName", "")
        if not written or written in known or written.startswith("system-"):
            continue
        if own or nearest(written, known):
            message = f'label priorityClassName names "{written}", and there is no such PriorityClass: it is ignored'
            fix = nearest(written, known) or f'add PriorityClass "{written}"'
            yield Issue(workload.document, (*workload.labels_path, "priorityClassName"), message, fix)


@rule("kai-duration", severity="error", family="kai queues", targets=("kai",))
def duration(fleet: Fleet) -> Iterator[Issue]:
    """A time that KAI reads is no duration.

    Why: `preemptMinRuntime`, `reclaimMinRuntime` and the annotations `preemption-delay` and `staleness-grace-period`
    are Go durations; one that can't be read counts as not written.
    Fix: Write one such as `30m` or `1h30m`.
    """
    for queue in fleet.of((GROUP, "Queue")):
        for field in _RUNTIMES:
            written = dig(queue.manifest, "spec", field)
            if isinstance(written, str) and not _DURATION.fullmatch(written):
                message = f'{field} is "{written[:40]}", which is no duration'
                yield Issue(queue, ("spec", field), message, 'write one with a unit, such as "30m"')
    for workload in fleet.gang_marks.kai:
        for key in _DELAYS:
            delay = workload.annotations.get(key)
            if delay is not None and not _DURATION.fullmatch(delay):
                message = f'{key} is "{delay[:40]}", which is no duration'
                fix = 'write one with a unit, such as "30m"'
                yield Issue(workload.document, (*workload.annotations_path, key), message, fix)


@rule("kai-segments", severity="error", family=_FAMILY, targets=("kai",))
def segments(fleet: Fleet) -> Iterator[Issue]:
    """`kai.scheduler/segment-size` has a wrong size, lacks what it needs, or is on a kind that has no segments.

    Why: Segments are for the workers of a LeaderWorkerSet and of a PyTorchJob. The size must be 2 or more and not above
    the pods of the group, or KAI makes no PodGroup at all; without `kai.scheduler/topology` and a
    `segment-topology-…-placement`, and on every other kind, the annotation is ignored.
    Fix: Write a size from 2 to the number of workers, with the topology and a placement beside it.
    """
    for workload in fleet.gang_marks.kai:
        for pod_set in workload.pod_sets:
            written = pod_set.annotations.get(_SEGMENT)
            if written is not None:
                document, path = pod_set.at(("metadata", "annotations", _SEGMENT))
                for message, fix, ignored in _segment_faults(workload, pod_set, written):
                    yield Issue(document, path, message, fix, "warning" if ignored else None)


def _segment_faults(workload: Workload, pod_set: PodSet, written: str) -> Iterator[tuple[str, str, bool]]:
    if workload.kind not in ("LeaderWorkerSet", "PyTorchJob"):
        message = f"segment-size is ignored on a {workload.kind}: KAI has segments for LeaderWorkerSet and PyTorchJob"
        yield message, "leave it out, or use topology placements", True
        return
    count = workload.unit_count(pod_set)
    size = int(written) if written.isascii() and written.isdigit() and len(written) < 10 else 0
    if size < 2 or size > count > 0:
        message = f'segment-size is "{written[:20]}", and must be from 2 to the {count} pods of the group'
        yield message, f"write a number from 2 to {count}", False
    if _TOPOLOGY not in (*pod_set.annotations, *workload.annotations):
        yield f"segment-size is ignored without {_TOPOLOGY}", f"add {_TOPOLOGY}", True
    elif not any(key in pod_set.annotations for key in _PLACEMENTS):
        yield f"segment-size needs {_PLACEMENTS[0]} or the preferred one", "add one of them", False
