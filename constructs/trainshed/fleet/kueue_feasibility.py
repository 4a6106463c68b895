"""Can a workload ever be admitted, and what does it depend on? Kueue's flavor assignment in an otherwise idle cluster.

Kueue v0.19.2, `pkg/scheduler/flavorassigner/flavorassigner.go`: for each pod set and each resource group it touches,
one flavor must match the pods and hold all of the group's requests together with those of earlier pod sets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from trainshed.fleet.access import text
from trainshed.fleet.kueue_match import (
    selector_conflict,
    taint_text,
    tolerations_of,
    topology_conflict,
    untolerated,
)
from trainshed.fleet.kueue_quota import FlavorResource, shown
from trainshed.fleet.kueue_requests import Part, local_queue_of, managed_workloads, parts_of, requests_of
from trainshed.fleet.kueue_tree import ClusterQueueNode, KueueTree, LocalQueueNode, ResourceGroup
from trainshed.fleet.once import once
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: Why a flavor is ruled out.
Reason = Literal["taint", "selector", "topology", "quota"]
#: `never`: no flavor can take it. `borrowing`: only with quota of others. `preemption`: within nominal quota, part of
#: which others may borrow and which comes back by preemption. `waiting`: the same, but nothing brings it back while
#: others use it. `fits`: nobody else can use that quota. `unknown`: something that decides it is not in the input.
Verdict = Literal["never", "borrowing", "preemption", "waiting", "fits", "unknown"]

_FLAVORS_TOLD: Final = 8


class Refusal(NamedTuple):
    """Why one flavor cannot take a pod set."""

    flavor: str
    reason: Reason
    text: str
    resource: str = ""


@dataclass
class Blocked:
    """A pod set that no flavor of a resource group can take, with the reason for every flavor."""

    part: Part
    group: ResourceGroup
    refusals: list[Refusal]


class Choice(NamedTuple):
    """The flavor that a pod set gets of a resource group in an idle cluster, for these resources."""

    part: Part
    group: ResourceGroup
    flavor: str
    resources: list[str]


@dataclass
class Feasibility:
    """The answer for one workload. `uncovered`: (pod set, resource) that no resource group covers. `blocked`: pod sets
    that no flavor can take. `exceeded`: sums over all pod sets beyond what the ClusterQueue could ever reach.
    `assigned`: the flavor of every pod set and resource in an idle cluster, where there is one; `choices`: the same
    choice by choice."""

    workload: Workload
    local_queue: LocalQueueNode
    queue: ClusterQueueNode
    parts: list[Part]
    uncovered: list[tuple[PodSet, str]] = field(default_factory=list)
    blocked: list[Blocked] = field(default_factory=list)
    exceeded: list[tuple[str, int, int]] = field(default_factory=list)
    assigned: dict[FlavorResource, int] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    complete: bool = True

    @property
    def verdict(self) -> Verdict:
        """In one word."""
        if self.uncovered or self.blocked or self.exceeded or self.queue.dropped:
            return "never"
        if not self.complete:
            return "unknown"
        if any(amount > self.queue.subtree_quota(key) for key, amount in self.assigned.items()):
            return "borrowing"
        if not any(len(node.children) > 1 for node in self.queue.ancestors):
            return "fits"
        if all(amount <= self.queue.local_quota(key) for key, amount in self.assigned.items()):
            return "fits"
        return "waiting" if self.queue.policy("reclaimWithinCohort") == "Never" else "preemption"

    def arithmetic(self, key: FlavorResource, amount: int) -> str:
        """`needs 64 of nvidia.com/gpu in flavor h100; team-a reaches 24 (nominal 16 + borrowingLimit 8, cohort
        research 32)`."""
        flavor, resource = key
        reach = shown(resource, self.queue.potential(key))
        return (
            f"needs {shown(resource, amount)} of {resource} in flavor {flavor}, "
            f"ClusterQueue {self.queue.name} can reach {reach} ({reach_text(self.queue, key)})"
        )


def reach_text(queue: ClusterQueueNode, key: FlavorResource) -> str:
    """How the most that a ClusterQueue can use comes about."""
    resource = key[1]
    nominal, limit = queue.subtree_quota(key), queue.borrowing_limit(key)
    if queue.parent is None:
        return f"nominalQuota {shown(resource, nominal)}, no cohort"
    parts = [f"nominalQuota {shown(resource, nominal)}"]
    if limit is not None:
        parts.append(f"borrowingLimit {shown(resource, limit)}")
    parts.append(f"cohort {queue.parent.name} {shown(resource, queue.parent.potential(key))}")
    return ", ".join(parts)


def feasibility(fleet: Fleet, workload: Workload) -> Feasibility | None:
    """The answer for a workload; None when its LocalQueue or ClusterQueue is not in the input."""
    tree = fleet.kueue
    local = local_queue_of(tree, workload)
    queue = tree.cluster_queues.get(local.cluster_queue) if local else None
    if local is None or queue is None:
        return None
    found = Feasibility(workload, local, queue, parts_of(tree, workload, queue), complete=workload.parts_known)
    _Assigner(tree, found).run()
    return found


@once
def feasibilities(fleet: Fleet) -> list[Feasibility]:
    """The answers for all queued workloads of the fleet whose queues are in the input; worked out once."""
    queued = managed_workloads(fleet)
    return [found for one in queued if (found := feasibility(fleet, one)) is not None]


def could_take(fleet: Fleet, answer: Feasibility, choice: Choice, flavor: str) -> bool:
    """Whether another flavor of the group could hold what a choice gave to one."""
    return _Assigner(fleet.kueue, answer).refusal(choice.part, flavor, choice.resources) is None


class _Assigner:
    """Assigns flavors pod set by pod set, everybody else idle."""

    def __init__(self, tree: KueueTree, found: Feasibility) -> None:
        self.tree = tree
        self.found = found
        queue = found.queue
        flavors = [flavor for group in queue.groups for flavor in group.flavors]
        known = [tree.flavors[name] for name in flavors if name in tree.flavors]
        self.all_topology = bool(known) and len(known) == len(flavors) and all(flavor.topology for flavor in known)
        self.topology_known = len(known) == len(flavors)
        #: Whether pod sets that fit one by one did not all find a flavor together.
        self.spilled = False

    def run(self) -> None:
        """Fills in the answer."""
        found, covered = self.found, self.found.queue.covered
        asked: dict[str, int] = {}
        for part in found.parts:
            groups: dict[int, list[str]] = {}
            for name, amount in part.requests.items():
                if not amount:
                    continue
                if name not in covered:
                    if not self.tree.config.ignore_undeclared:
                        config = self.tree.config
                        found.uncovered.extend(
                            (pod_set, name) for pod_set in part.pod_sets if requests_of(config, pod_set).get(name)
                        )
                    continue
                asked[name] = asked.get(name, 0) + amount
                groups.setdefault(id(covered[name]), []).append(name)
            for names in groups.values():
                self._assign(part, covered[names[0]], names)
        if self.spilled and not found.blocked and not found.uncovered:
            self._sums(asked)

    def _assign(self, part: Part, group: ResourceGroup, names: list[str]) -> None:
        refusals: list[Refusal] = []
        fallback = False
        for flavor in group.flavors:
            refusal = self.refusal(part, flavor, names)
            if refusal is None:
                totals = {(flavor, name): part.requests[name] for name in names}
                used = self.found.assigned
                if all(used.get(key, 0) + more <= self.found.queue.potential(key) for key, more in totals.items()):
                    for key, more in totals.items():
                        used[key] = used.get(key, 0) + more
                    self.found.choices.append(Choice(part, group, flavor, names))
                    return
                fallback = True
            else:
                refusals.append(refusal)
        if fallback:
            self.found.complete = False
            self.spilled = True
        else:
            self.found.blocked.append(Blocked(part, group, refusals))

    def refusal(self, part: Part, flavor: str, names: list[str]) -> Refusal | None:
        """Why a flavor cannot take these resources of a pod set, whatever else it holds."""
        return self._mismatch(part, flavor) or self._too_much(part, flavor, names)

    def _mismatch(self, part: Part, name: str) -> Refusal | None:
        flavor = self.tree.flavors.get(name)
        if flavor is None:
            return None
        levels = self.tree.topologies.get(flavor.topology) if flavor.topology else None
        for pod_set in part.pod_sets:
            if not self.found.workload.parts_known:
                continue
            taint = untolerated(flavor.taints, tolerations_of(pod_set) + flavor.tolerations)
            if taint is not None:
                return Refusal(name, "taint", f"taint {taint_text(taint)} is not tolerated")
            conflict = selector_conflict(pod_set.spec, flavor.labels)
            if conflict:
                return Refusal(name, "selector", conflict)
            if not self.topology_known and not flavor.topology:
                continue
            conflict = topology_conflict(pod_set, flavor, levels, self.all_topology or not self.topology_known)
            if conflict:
                return Refusal(name, "topology", conflict)
        return None

    def _too_much(self, part: Part, flavor: str, names: list[str]) -> Refusal | None:
        queue = self.found.queue
        beyond = [name for name in names if part.requests[name] > queue.potential((flavor, name))]
        if not beyond:
            return None
        # Of several it is the device that is told: that is the number people think in.
        name = next((one for one in beyond if "/" in one), beyond[0])
        return Refusal(flavor, "quota", self.found.arithmetic((flavor, name), part.requests[name]), name)

    def _sums(self, asked: dict[str, int]) -> None:
        """A bound that holds for every assignment: all pod sets together against all flavors together."""
        queue = self.found.queue
        for name, amount in asked.items():
            reach = sum(queue.potential((flavor, name)) for flavor in queue.covered[name].flavors)
            if amount > reach:
                self.found.exceeded.append((name, amount, reach))


def refusal_lines(blocked: Blocked) -> str:
    """The reasons of the flavors in one line; of many, the first ones."""
    told = "; ".join(
        refusal.text if refusal.reason == "quota" else f"flavor {refusal.flavor}: {refusal.text}"
        for refusal in blocked.refusals[:_FLAVORS_TOLD]
    )
    more = len(blocked.refusals) - _FLAVORS_TOLD
    return f"{told}; and {more} more flavors" if more > 0 else told


def admits_nothing(queue: ClusterQueueNode) -> str:
    """The ClusterQueue's stopPolicy where it stops the queue, else empty."""
    policy = text(queue.spec, "stopPolicy")
    return policy if policy in ("Hold", "HoldAndDrain") else ""
