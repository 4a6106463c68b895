"""Every Volcano job spec of a fleet, wherever it stands: Job, CronJob, JobTemplate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.fleet.access import Node, items, mapping, mappings, text, whole
from trainshed.fleet.amounts import Amounts, add
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.volcano_tree import DEFAULT
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: The kinds with a job spec, and where it stands in them.
_SPECS: Final[tuple[tuple[tuple[str, str], Path], ...]] = (
    (("batch.volcano.sh", "Job"), ("spec",)),
    (("batch.volcano.sh", "CronJob"), ("spec", "jobTemplate", "spec")),
    (("flow.volcano.sh", "JobTemplate"), ("spec",)),
)
SCHEDULER: Final = "volcano"


class Task(NamedTuple):
    """One task: `minimum` is its share of the gang, all replicas where it writes none."""

    name: str
    node: Node
    path: Path
    replicas: int
    minimum: int
    waits_for: tuple[str, ...]
    pods: PodSet | None

    @property
    def spec(self) -> Node:
        """The pod spec."""
        return mapping(self.node, "template", "spec")

    @property
    def policies(self) -> list[tuple[int, Node]]:
        """The task's own policies with their places."""
        return mappings(self.node, "policies")


@dataclass
class VolcanoJob:
    """One job spec at `path` of `document`."""

    document: Document
    spec: Node
    path: Path
    tasks: list[Task]

    @property
    def queue(self) -> str:
        """The queue it goes to."""
        return text(self.spec, "queue") or DEFAULT

    @property
    def scheduler(self) -> str:
        """The scheduler of its pods."""
        return text(self.spec, "schedulerName") or SCHEDULER

    @property
    def replicas(self) -> int:
        """How many pods it has."""
        return sum(task.replicas for task in self.tasks)

    @property
    def minimum(self) -> int:
        """The size of the gang: what it writes, otherwise the sum over the tasks."""
        return whole(self.spec, "minAvailable") or sum(task.minimum for task in self.tasks)

    @cached_property
    def plugins(self) -> dict[str, list[str]]:
        """Arguments by plugin."""
        return {
            name: [item for item in (value if isinstance(value, list) else []) if isinstance(item, str)]
            for name, value in mapping(self.spec, "plugins").items()
        }

    @property
    def policies(self) -> list[tuple[int, Node]]:
        """The policies of the job with their places."""
        return mappings(self.spec, "policies")

    def min_resources(self, priorities: dict[str, int]) -> Amounts:
        """What the gang needs before its pods are made (minResources of its PodGroup; v1.15.1,
        `pkg/controllers/job/job_controller_actions.go`): tasks with a higher PriorityClass in their template first."""
        ordered = sorted(self.tasks, key=lambda task: -priorities.get(text(task.spec, "priorityClassName"), 0))
        minimum, total = self.minimum, sum(task.minimum for task in self.tasks)
        counts = [task.replicas if minimum < total else min(task.minimum, task.replicas) for task in ordered]
        left = minimum - (0 if minimum < total else sum(counts))
        needed: Amounts = {}
        for task, count in zip(ordered, counts, strict=True):
            if minimum < total:
                count = min(count, left)
                left -= count
            else:
                more = min(task.replicas - count, max(left, 0))
                count, left = count + more, left - more
            if task.pods is not None and count > 0:
                add(needed, {name: amount * count for name, amount in task.pods.requests.items()})
        return needed


def volcano_jobs(fleet: Fleet) -> list[VolcanoJob]:
    """All job specs, in input order within each kind."""
    pods = {
        (id(pod_set.document), pod_set.item_path): pod_set
        for workload in chain(fleet.workloads, fleet.templates)
        for pod_set in workload.pod_sets
        if pod_set.document.group in ("batch.volcano.sh", "flow.volcano.sh")
    }
    found: list[VolcanoJob] = []
    for kind, path in _SPECS:
        for document in fleet.of(kind):
            spec = mapping(document.manifest, *path)
            found.append(VolcanoJob(document, spec, path, list(_tasks(document, spec, path, pods))))
    return found


def _tasks(document: Document, spec: Node, path: Path, pods: dict[tuple[int, Path], PodSet]) -> Iterator[Task]:
    for index, node in mappings(spec, "tasks"):
        place = (*path, "tasks", index)
        replicas = max(whole(node, "replicas") or 0, 0)
        minimum = whole(node, "minAvailable")
        if minimum is None:
            policy = mapping(node, "partitionPolicy")
            minimum = (whole(policy, "minPartitions") or 0) * (whole(policy, "partitionSize") or 0) or replicas
        waits_for = tuple(name for name in items(node, "dependsOn", "name") if isinstance(name, str))
        name = text(node, "name") or f"default{index}"
        yield Task(name, node, place, replicas, max(minimum, 0), waits_for, pods.get((id(document), place)))


def priorities_of(fleet: Fleet) -> dict[str, int]:
    """Values of the PriorityClasses in the input."""
    classes = fleet.of(("scheduling.k8s.io", "PriorityClass"))
    return {item.name: whole(item.manifest, "value") or 0 for item in classes}
