"""Groups of plain pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.kueue_common import QUEUE_NAME, managed_workloads
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import strings
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_tree import KUEUE
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue labels"
NAME: Final = f"{KUEUE}/pod-group-name"
COUNT: Final = f"{KUEUE}/pod-group-total-count"
_COUNT_PATH: Final[Path] = ("metadata", "annotations", COUNT)
_ROLE: Final = re.compile(
    r"[-.](?:head|worker|master|leader|launcher|chief|ps|driver|executor|rank|node|pod|replica|trainer|\d+)(?:[-.]?\d+)?$"
)
#: Labels that many unrelated pods share.
_SHARED: Final = re.compile(
    r"(^|/)(team|tier|owner|env|environment|project|managed-by|part-of|component|version|role)$"
)


@rule("kueue-pod-group-count", severity="error", family=_FAMILY, targets=("kueue",))
def pod_group_count(fleet: Fleet) -> Iterator[Issue]:
    """A pod group's announced size is missing, no number, or not the number of its pods; or its pods differ in queue.

    Why: Kueue makes the Workload of a pod group only when all announced pods exist: with more announced than there are
    the pods stay gated for ever, with fewer the surplus is removed. Name and total count come together.

    Fix: Write the number of pods as annotation `kueue.x-k8s.io/pod-group-total-count` on each of them.
    """
    for workload in managed_workloads(fleet):
        if workload.kind != "Pod":
            continue
        name = workload.labels.get(NAME) or workload.annotations.get(NAME)
        if name:
            yield from _group(workload, name)
        elif COUNT in workload.annotations:
            message = f"pod-group-total-count is {workload.annotations[COUNT]}, but the pod has no {NAME}"
            yield Issue(workload.document, _COUNT_PATH, message, f"add label {NAME}, or leave the count out")


def _group(workload: Workload, name: str) -> Iterator[Issue]:
    pods = len(workload.members)
    queues = {strings(member.manifest, "metadata", "labels").get(QUEUE_NAME, "") for member in workload.members}
    if len(queues) > 1:
        names = ", ".join(sorted(queue or "none" for queue in queues))
        message = f'pods of pod group "{name}" name different queues ({names}): a group is one workload of one queue'
        yield Issue(
            workload.document, ("metadata", "labels", QUEUE_NAME), message, "write one queue-name on all of them"
        )
    for member in workload.members:
        labels, annotations = (
            strings(member.manifest, "metadata", "labels"),
            strings(member.manifest, "metadata", "annotations"),
        )
        written = annotations.get(COUNT)
        if written is None:
            if COUNT not in labels:
                message = f'pod group "{name}" has no {COUNT}: the webhook refuses the pod'
                yield Issue(member, ("metadata", "annotations"), message, f'add annotation {COUNT}: "{pods}"')
        elif not (written.isascii() and written.isdigit() and len(written) < 10 and int(written) > 0):
            message = f'pod-group-total-count is "{written}", not a number from 1'
            yield Issue(member, _COUNT_PATH, message, f'write "{pods}"')
        elif int(written) != pods and not member.generated:
            more = int(written) > pods
            effect = "they stay gated until the others exist" if more else "the surplus is removed"
            yield Issue(
                member,
                _COUNT_PATH,
                f'pod-group-total-count is {written}, but {pods} pods carry pod-group-name "{name}": {effect}',
                f'write "{pods}", or add the missing pods' if more else f'write "{pods}"',
            )


@rule("kueue-pods-without-group", severity="warning", family=_FAMILY, targets=("kueue",))
def pods_without_group(fleet: Fleet) -> Iterator[Issue]:
    """Plain pods of one run are queued one by one.

    Why: Without a pod group each pod is a Workload of its own: part of a distributed run may be admitted while the rest
    waits, and two half-admitted runs block each other.

    Fix: Add the label `kueue.x-k8s.io/pod-group-name` and the annotation `kueue.x-k8s.io/pod-group-total-count` to
    each pod, or use a JobSet.
    """
    runs: dict[tuple[str | None, str, str, str, str], list[Document]] = {}
    for workload in managed_workloads(fleet):
        if workload.kind != "Pod" or not workload.queue_name or NAME in workload.labels or NAME in workload.annotations:
            continue
        stem = _ROLE.sub("", workload.document.name)
        for key, value in workload.labels.items():
            if not key.startswith(KUEUE) and not _SHARED.search(key) and value:
                run = (workload.namespace, workload.queue_name, key, value, stem)
                runs.setdefault(run, []).append(workload.document)
    told: set[int] = set()
    for (_, queue, key, value, _), pods in runs.items():
        if len(pods) > 1 and id(pods[0]) not in told:
            told.update(id(pod) for pod in pods)
            names = ", ".join(pod.name for pod in pods[:5])
            yield Issue(
                pods[0],
                ("metadata", "labels", QUEUE_NAME),
                f"{len(pods)} pods of one run ({key}={value}: {names}) are in queue {queue} without a pod group: they "
                "are admitted one by one",
                f'add label {NAME} and annotation {COUNT}: "{len(pods)}" to each',
                related=tuple((f"Pod {pod.name}", pod, ("metadata", "labels")) for pod in pods[1:5]),
            )
