"""Volcano's queues as a tree, and what of the cluster a queue can ever get.

Reference: Volcano v1.15.1, `pkg/scheduler/plugins/{proportion,capacity}`; summary in our schedulers.md 3.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.fleet.access import dig, mapping, text, whole
from trainshed.fleet.amounts import ZERO, Amounts, add, amounts
from trainshed.fleet.document import Document
from trainshed.quantity import Quantity
from trainshed.spelling import Names

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

GROUP: Final = "scheduling.volcano.sh"
ROOT: Final = "root"
DEFAULT: Final = "default"
#: The scheduler makes these two itself.
BUILT_IN: Final = frozenset({ROOT, DEFAULT})
_NATIVE: Final = ("cpu", "memory")
_DEEPEST: Final = 64


@dataclass
class QueueNode:
    """One Queue. Its amounts are as written: of `capability` a missing resource has no cap, nor has 0 cpu or memory."""

    name: str
    document: Document | None = None
    parent: str = ROOT
    weight: int = 1
    capability: Amounts = field(default_factory=dict)
    deserved: Amounts = field(default_factory=dict)
    guarantee: Amounts = field(default_factory=dict)
    children: list[str] = field(default_factory=list)

    def cap(self, resource: str) -> Quantity | None:
        """The cap of a resource, None for no cap."""
        amount = self.capability.get(resource)
        return None if amount is not None and resource in _NATIVE and amount <= ZERO else amount


class VolcanoTree:
    """The queues of a fleet. `queues` holds those of the input; `root` and `default` exist without being there."""

    def __init__(self, fleet: Fleet) -> None:
        self.queues = {item.name: _node(item) for item in reversed(fleet.of((GROUP, "Queue"))) if item.name}
        self.children: dict[str, list[QueueNode]] = {}
        for node in sorted(self.queues.values(), key=lambda node: node.name):
            if node.name != ROOT:
                self.children.setdefault(node.parent, []).append(node)
        for node in self.queues.values():
            node.children = [child.name for child in self.children.get(node.name, ())]

    def __bool__(self) -> bool:
        return bool(self.queues)

    @cached_property
    def names(self) -> Names:
        """Names of the queues that take work, for proposals: leaves, without `root`."""
        return Names(sorted(name for name, node in self.queues.items() if not node.children and name != ROOT))

    @property
    def layered(self) -> bool:
        """Whether a queue has another parent than root."""
        return any(node.parent != ROOT for node in self.queues.values() if node.name != ROOT)

    def exists(self, name: str) -> bool:
        """Whether there is such a queue, the built-in ones included."""
        return name in self.queues or name in BUILT_IN

    def is_leaf(self, name: str) -> bool:
        """Whether jobs may go there: not root, and nobody's parent."""
        return name != ROOT and name not in self.children

    def leaves_below(self, name: str) -> list[str]:
        """The leaves among a queue's descendants, sorted."""
        found, seen, pending = set(), {name}, [name]
        while pending:
            for child in self.children.get(pending.pop(), ()):
                if child.name not in seen:
                    seen.add(child.name)
                    pending.append(child.name)
                    if self.is_leaf(child.name):
                        found.add(child.name)
        return sorted(found)

    def line(self, name: str) -> Iterator[QueueNode]:
        """The queue and its ancestors below root, as far as they are in the input; a circle ends it."""
        seen: set[str] = set()
        while name in self.queues and name != ROOT and name not in seen and len(seen) < _DEEPEST:
            seen.add(name)
            yield self.queues[name]
            name = self.queues[name].parent

    def circle(self, name: str) -> list[str]:
        """The parents from `name` back to `name`; empty when there is no such circle."""
        chain = [node.name for node in self.line(name)]
        return chain if chain and self.queues[chain[-1]].parent == name else []

    def inherited_cap(self, name: str, resource: str) -> tuple[QueueNode, Quantity] | None:
        """The cap of the nearest ancestor below root that sets one for `resource`."""
        for node in list(self.line(name))[1:]:
            if (amount := node.cap(resource)) is not None:
                return node, amount
        return None

    def real_capability(self, name: str, resource: str, total: Quantity | None, *, layered: bool) -> Quantity | None:
        """The most of `resource` a queue can hold, everybody else idle; None for no bound.

        `total` is what the nodes have, None when unknown. Flat (proportion, capacity): min(capability, total minus all
        guarantees plus its own). `layered` (capacity with enableHierarchy): bounded by its parents, root has no bound.
        """
        if layered:
            return self._layered([node.name for node in self.line(name)], resource)
        node = self.queues.get(name) or QueueNode(name)
        own = node.guarantee.get(resource, ZERO)
        free = None if total is None else _left(total, self.queues.values(), resource) + own
        return _least(node.cap(resource), free)

    def _layered(self, line: list[str], resource: str) -> Quantity | None:
        above: Quantity | None = None
        inherited: Quantity | None = None
        for name in reversed(line):
            node = self.queues[name]
            cap = node.cap(resource)
            inherited = inherited if cap is None else cap
            free = None
            if above is not None:
                siblings = self.children.get(node.parent, ())
                free = _left(above, siblings, resource) + node.guarantee.get(resource, ZERO)
            above = _least(inherited, free)
        return above


def _left(total: Quantity, nodes: Iterable[QueueNode], resource: str) -> Quantity:
    kept = sum((node.guarantee.get(resource, ZERO) for node in nodes), ZERO)
    return max(total - kept, ZERO)


def _least(first: Quantity | None, second: Quantity | None) -> Quantity | None:
    known = [amount for amount in (first, second) if amount is not None]
    return min(known) if known else None


def _node(document: Document) -> QueueNode:
    spec = mapping(document.manifest, "spec")
    weight = whole(spec, "weight")
    return QueueNode(
        document.name,
        document,
        text(spec, "parent") or ROOT,
        1 if weight is None else weight,
        amounts(spec.get("capability")),
        amounts(spec.get("deserved")),
        amounts(dig(spec, "guarantee", "resource")),
    )


class Claim(NamedTuple):
    """A queue in the water filling of the proportion plugin, for one resource."""

    weight: int
    request: Fraction
    guarantee: Fraction = Fraction(0)
    #: Its real capability; None for no bound.
    bound: Fraction | None = None


def water_fill(total: Fraction, claims: Mapping[str, Claim]) -> dict[str, Fraction]:
    """What the proportion plugin lets each queue have: in rounds, what remains goes by weight; nobody gets more than
    its request or its bound, nobody less than its guarantee."""
    deserved = dict.fromkeys(claims, Fraction(0))
    remaining, open_ = total, dict(claims)
    while remaining > 0 and open_:
        weights = sum(claim.weight for claim in open_.values())
        if weights <= 0:
            break
        given = Fraction(0)
        for name, claim in list(open_.items()):
            before = deserved[name]
            most = claim.request if claim.bound is None else min(claim.request, claim.bound)
            now = max(min(before + remaining * claim.weight / weights, most), claim.guarantee, before)
            deserved[name] = now
            given += now - before
            if now >= most:
                del open_[name]
        remaining -= given
        if not given:
            break
    return deserved


def cluster_total(fleet: Fleet) -> Amounts:
    """What the declared nodes have together; empty when the input declares none."""
    capacity = fleet.capacity
    total: Amounts = {}
    if capacity.machines:
        for machine in capacity.machines:
            if machine.schedulable:
                add(total, machine.allocatable)
    else:
        for pool in capacity.pools.values():
            add(total, pool.total)
    return total
