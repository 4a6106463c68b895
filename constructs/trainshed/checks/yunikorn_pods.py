"""Pods for YuniKorn: their queue, their application, their task groups."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.gang_common import YUNIKORN, listed, proposal
from trainshed.checks.rule import Issue, rule
from trainshed.checks.yunikorn_config import FAMILY
from trainshed.fleet.access import Node, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.yunikorn_config import full_path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

QUEUE: Final = "yunikorn.apache.org/queue"
APP_ID: Final = "yunikorn.apache.org/app-id"
#: In the order in which they are looked up (k8shim v1.9.0, `pkg/common/utils`); the first that is there counts.
_QUEUES: Final = (("labels", QUEUE), ("annotations", QUEUE), ("labels", "queue"))
APPLICATIONS: Final = (
    ("labels", APP_ID),
    ("annotations", APP_ID),
    ("labels", "applicationId"),
    ("labels", "spark-app-selector"),
)
_PART: Final = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}")


def for_yunikorn(pod_set: PodSet) -> bool:
    """Whether pods go to YuniKorn: by schedulerName, or by its keys where none is written (its admission controller
    then writes one)."""
    if pod_set.scheduler:
        return pod_set.scheduler == YUNIKORN
    return any(key.startswith("yunikorn.apache.org/") for key in (*pod_set.labels, *pod_set.annotations))


def pods(fleet: Fleet) -> Iterator[tuple[Workload, PodSet]]:
    """(workload, pod set) of YuniKorn's pods."""
    yield from fleet.gang_marks.yunikorn


def values(pod_set: PodSet, order: tuple[tuple[str, str], ...]) -> list[tuple[str, str, str]]:
    """(field, key, value) of what is written, the one that counts first."""
    given = {"labels": pod_set.labels, "annotations": pod_set.annotations}
    return [(field, key, given[field][key]) for field, key in order if given[field].get(key)]


def queue_of(pod_set: PodSet) -> str:
    """The queue a pod names, empty when it names none."""
    found = values(pod_set, _QUEUES)
    return found[0][2] if found else ""


def _singular(field: str) -> str:
    return "label" if field == "labels" else "annotation"


@rule("yunikorn-metadata-conflict", severity="warning", family=FAMILY, targets=("yunikorn",))
def metadata_conflict(fleet: Fleet) -> Iterator[Issue]:
    """Labels and annotations of a pod name different queues or applications.

    Why: YuniKorn takes the first of them (the label `yunikorn.apache.org/queue`, the annotation, the old label
    `queue`) and ignores the others; which one came first has changed between releases.
    Fix: Write one of them, or the same value in all.
    """
    for _, pod_set in pods(fleet):
        for what, order in (("queue", _QUEUES), ("application", APPLICATIONS)):
            found = values(pod_set, order)
            for field, key, value in found[1:]:
                first = found[0]
                if value != first[2]:
                    document, path = pod_set.at(("metadata", field, key))
                    message = (
                        f"{_singular(first[0])} {first[1]}={first[2]} and {_singular(field)} {key}={value} name "
                        f"different {what}s: the {_singular(field)} {key} is ignored"
                    )
                    yield Issue(document, path, message, f'write "{first[2]}" in both, or drop one of them')


@rule("yunikorn-queue-missing", severity="error", family=FAMILY, targets=("yunikorn",))
def queue_missing(fleet: Fleet) -> Iterator[Issue]:
    """A pod names a YuniKorn queue that does not exist, is a parent, or has an impossible name.

    Why: With placement by the given name and no rule that makes queues, the application is rejected. Parent queues take
    no applications.
    Fix: Name a leaf queue by its full path, such as `root.research`, or add it to queues.yaml.
    """
    config = fleet.yunikorn[0] if fleet.yunikorn else None
    for _, pod_set in pods(fleet):
        found = values(pod_set, _QUEUES)
        if not found:
            continue
        field, key, name = found[0]
        document, path = pod_set.at(("metadata", field, key))
        parts = name.split(".")
        if not all(_PART.fullmatch(part) for part in parts):
            fix = "write a path such as root.research: names of letters, digits and _:#/@-, separated by dots"
            yield Issue(document, path, f'queue "{name[:80]}" is no path of a YuniKorn queue', fix)
        elif config is not None and not config.error and config.queues:
            queue = config.find(name)
            related = (("the queues", config.document, config.path),)
            if queue is None and config.queue_must_exist:
                message = f'there is no queue "{full_path(name)}" in queues.yaml: the application is rejected'
                fix = proposal(full_path(name), config.leaves, f"name one of {listed(config.leaves)}")
                yield Issue(document, path, message, fix, None, related)
            elif queue is not None and queue.is_parent and (config.queue_must_exist or queue.children):
                message = f'queue "{queue.path}" is a parent, and takes no applications'
                below = [item for item in config.leaves if item.startswith(f"{queue.path}.")]
                yield Issue(
                    document, path, message, f"use a leaf queue: {listed(below or config.leaves)}", None, related
                )


@rule("yunikorn-application-differs", severity="error", family=FAMILY, targets=("yunikorn",))
def application_differs(fleet: Fleet) -> Iterator[Issue]:
    """Pods of one gang name different applications or queues.

    Why: A gang is one application. Pods with another application id are scheduled by themselves, and the gang waits for
    placeholders that nobody replaces.
    Fix: Write the same application id and queue in every template.
    """
    for workload in fleet.gang_marks.yunikorn_workloads:
        members = [item for item in workload.pod_sets if for_yunikorn(item) and TASK_GROUP in item.annotations]
        for what, order in (("application", APPLICATIONS), ("queue", _QUEUES)):
            named = [(item, values(item, order)) for item in members]
            known = [(item, found[0]) for item, found in named if found]
            for pod_set, (field, key, value) in known[1:]:
                first = known[0][1][2]
                if value != first:
                    document, path = pod_set.at(("metadata", field, key))
                    message = f'"{pod_set.name}" names {what} "{value}", other pods of the gang "{first}"'
                    yield Issue(document, path, message, f'write "{first}" in every template')


TASK_GROUP: Final = "yunikorn.apache.org/task-group-name"
TASK_GROUPS: Final = "yunikorn.apache.org/task-groups"


class Groups:
    """The task groups that a pod template defines: `error` says why they can't be read."""

    def __init__(self, pod_set: PodSet) -> None:
        self.written = pod_set.annotations.get(TASK_GROUPS, "")
        self.error = ""
        self.listed: list[Node] = []
        if not self.written:
            return
        try:
            value: Any = json.loads(self.written)
        except (ValueError, RecursionError) as error:
            self.error = f"is not JSON ({str(error)[:60]})"
            return
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.error = "is not a JSON list of groups"
        else:
            self.listed = value

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [text(item, "name") for item in self.listed]

    def size(self, name: str) -> int:
        """minMember of a group."""
        return next((whole(item, "minMember") or 0 for item in self.listed if text(item, "name") == name), 0)


def place(pod_set: PodSet, key: str) -> tuple[Document, Path]:
    """Where an annotation of a template is written."""
    return pod_set.at(("metadata", "annotations", key))
