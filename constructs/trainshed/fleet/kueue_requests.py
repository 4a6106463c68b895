"""Which workloads Kueue queues, where they go, and what it counts for them (Kueue v0.19.2)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from trainshed.fleet.access import items
from trainshed.fleet.kueue_config import FRAMEWORKS, KueueConfig
from trainshed.fleet.kueue_match import PODSET_GROUP
from trainshed.fleet.kueue_quota import counted
from trainshed.fleet.kueue_tree import ClusterQueueNode, KueueTree, LocalQueueNode
from trainshed.fleet.once import once
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"


@dataclass
class Part:
    """Pod sets that are assigned together, and what they ask for in Kueue's units."""

    pod_sets: list[PodSet]
    requests: dict[str, int]
    per_pod: dict[str, int]
    count: int

    @property
    def name(self) -> str:
        """The pod sets' names."""
        return "+".join(pod_set.name for pod_set in self.pod_sets)


@once
def managed_workloads(fleet: Fleet) -> list[Workload]:
    """The workloads of kinds that Kueue queues, without those that another object made."""
    return [workload for workload in fleet.workloads if managed(workload)]


def managed(workload: Workload) -> bool:
    """Whether Kueue itself queues this object: a kind it has an integration for, made by nobody else."""
    document = workload.document
    owners = items(document.manifest, "metadata", "ownerReferences")
    return (document.group, document.kind) in FRAMEWORKS and not owners and document.judged


def local_queue_of(tree: KueueTree, workload: Workload) -> LocalQueueNode | None:
    """The LocalQueue that a workload goes to: the one it names, else its namespace's `default`."""
    name = workload.queue_name or "default"
    if workload.namespace is not None:
        queues = tree.local_queues
        return queues.get((workload.namespace, name)) or queues.get(("", name))
    if not workload.queue_name:
        return None
    same = tree.queues_named(name)
    return same[0] if len(same) == 1 else None


def parts_of(tree: KueueTree, workload: Workload, queue: ClusterQueueNode) -> list[Part]:
    """What a workload asks of its ClusterQueue, pod set by pod set; those of one podset group together."""
    parts: dict[str, Part] = {}
    for index, pod_set in enumerate(workload.pod_sets):
        count = _count(workload, pod_set)
        per_pod = requests_of(tree.config, pod_set)
        total = {name: amount * count for name, amount in per_pod.items()}
        if "pods" in queue.covered:
            total["pods"] = per_pod["pods"] = count
        key = pod_set.annotations.get(PODSET_GROUP) or f"#{index}"
        if key in parts:
            part = parts[key]
            part.pod_sets.append(pod_set)
            part.count += count
            for name, amount in total.items():
                part.requests[name] = part.requests.get(name, 0) + amount
        else:
            parts[key] = Part([pod_set], total, per_pod, count)
    return list(parts.values())


def _count(workload: Workload, pod_set: PodSet) -> int:
    """Pods that have to fit at once; with partial admission the fewest that a Job accepts."""
    count = workload.unit_count(pod_set)
    if workload.form == "Job" and workload.document.group == "batch":
        fewest = workload.annotations.get(MIN_PARALLELISM, "")
        if fewest.isascii() and fewest.isdigit() and len(fewest) < 10 and 0 < int(fewest) < count:
            return int(fewest)
    return count


def requests_of(config: KueueConfig, pod_set: PodSet) -> dict[str, int]:
    """What Kueue counts for one pod: without excluded prefixes, after the settings' transformations."""
    prefixes = config.excluded_prefixes
    counts = {
        name: max(0, counted(name, amount))
        for name, amount in pod_set.requests.items()
        if name and name != "pods" and not (prefixes and name.startswith(prefixes))
    }
    if not config.transformations:
        return counts
    out: dict[str, Fraction] = {}
    for name, amount in counts.items():
        change = config.transformations.get(name)
        if change is None or not change.replace:
            out[name] = out.get(name, Fraction(0)) + amount
        if change is not None:
            base = Fraction(amount, 1000 if name == "cpu" else 1)
            if change.multiply_by:
                base *= Fraction(counts.get(change.multiply_by, 0), 1000 if change.multiply_by == "cpu" else 1)
            for output, factor in change.outputs.items():
                more = base * factor * (1000 if output == "cpu" else 1)
                out[output] = out.get(output, Fraction(0)) + more
    return {name: ceil(amount) for name, amount in out.items()}
