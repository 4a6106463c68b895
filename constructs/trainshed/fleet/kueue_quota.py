"""The arithmetic of Kueue's quota tree: what a node owns, may take and may ever reach.

Source: Kueue v0.19.2, `pkg/cache/scheduler/resource_node.go` and `fair_sharing.go`. Amounts are integers as Kueue
counts them: `cpu` in millicores, everything else in whole base units, fractions rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import chain, takewhile
from typing import NamedTuple

from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.quantity import Quantity

#: (flavor, resource)
FlavorResource = tuple[str, str]

_BINARY = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def counted(resource: str, amount: Quantity) -> int:
    """The amount in Kueue's unit: millicores of cpu, whole units of anything else, rounded up."""
    return _counted(1000 if resource == "cpu" else 1, amount)


@lru_cache(maxsize=1 << 13)
def _counted(scale: int, amount: Quantity) -> int:
    return math.ceil(amount.value * scale)


def shown(resource: str, amount: int) -> str:
    """An amount in Kueue's unit as people write it: `1500m` of cpu, `256Gi` of memory, `8` devices."""
    if resource == "cpu":
        return str(Quantity("1m") * amount)
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        forms = [f"{amount // size}{suffix}" for suffix, size in _BINARY if amount and amount % size == 0]
        forms.append(str(Quantity(1) * amount))
        best = min(forms, key=len)
        return best if len(best) < 9 else f"{amount / (1 << 30):.1f}Gi"
    return str(amount)


class Quota(NamedTuple):
    """One resource of one flavor at one node. `path` is where it is written in the node's document."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    path: Path = ()


@dataclass(eq=False)
class QuotaNode:
    """A ClusterQueue or a Cohort. A Cohort that is only named by others has no `document` and no quota.

    `dropped` says that the node's chain of parents runs into a cycle: Kueue leaves its whole tree out.
    """

    name: str
    kind: str
    document: Document | None = None
    parent: QuotaNode | None = None
    children: list[QuotaNode] = field(default_factory=list)
    quotas: dict[FlavorResource, Quota] = field(default_factory=dict)
    weight: Fraction = Fraction(1)
    dropped: bool = False
    _subtree: dict[FlavorResource, int] | None = field(default=None, repr=False)
    _potential: dict[FlavorResource, int] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def root(self) -> QuotaNode:
        """The top of the node's tree; the node itself where its chain of parents is a cycle."""
        node = self
        while node.parent is not None and not node.dropped:
            node = node.parent
        return node

    @property
    def ancestors(self) -> Iterator[QuotaNode]:
        """The node's parent, its parent, up to the root; none where the chain is a cycle."""
        node = self
        while node.parent is not None and not node.dropped:
            node = node.parent
            yield node

    @property
    def subtree_quotas(self) -> dict[FlavorResource, int]:
        """S: the node's own quota and what its children lend, for every flavor and resource below it."""
        if self._subtree is None:
            for node in _children_first(self):
                node._subtree = node._sum()
        return self._subtree or {}

    def _sum(self) -> dict[FlavorResource, int]:
        total = {key: quota.nominal for key, quota in self.quotas.items()}
        for child in self.children:
            for key, amount in (child._subtree or {}).items():
                total[key] = total.get(key, 0) + amount - child.local_quota(key, amount)
        return total

    def subtree_quota(self, key: FlavorResource) -> int:
        """S of one flavor and resource."""
        return self.subtree_quotas.get(key, 0)

    def local_quota(self, key: FlavorResource, subtree: int | None = None) -> int:
        """What the node never lends: S minus its lendingLimit, 0 without one."""
        quota = self.quotas.get(key)
        if quota is None or quota.lending_limit is None:
            return 0
        return max(0, (self.subtree_quota(key) if subtree is None else subtree) - quota.lending_limit)

    def borrowing_limit(self, key: FlavorResource) -> int | None:
        """The node's borrowingLimit, None where it has none."""
        quota = self.quotas.get(key)
        return quota.borrowing_limit if quota else None

    def potential(self, key: FlavorResource) -> int:
        """The most the node could ever use while everybody else is idle."""
        unknown = takewhile(lambda node: key not in node._potential, chain((self,), self.ancestors))
        for node in reversed(list(unknown)):
            node._potential[key] = node._reach(key)
        return self._potential[key]

    def _reach(self, key: FlavorResource) -> int:
        """`potential`, where that of the parent is known."""
        subtree = self.subtree_quota(key)
        if self.parent is None or self.dropped:
            return subtree
        reach = self.parent._potential[key] + self.local_quota(key)
        limit = self.borrowing_limit(key)
        return reach if limit is None else min(reach, subtree + limit)


def _children_first(node: QuotaNode) -> Iterator[QuotaNode]:
    """The nodes of a tree below `node` whose subtree is not known, it last; each once, even where parents form a
    cycle."""
    order, seen, stack = [], {id(node)}, [node]
    while stack:
        current = stack.pop()
        order.append(current)
        for child in current.children:
            if child._subtree is None and id(child) not in seen:
                seen.add(id(child))
                stack.append(child)
    return reversed(order)


class Usage:
    """What the nodes of a tree use. `add` and `remove` charge a ClusterQueue and, beyond what it owns, its parents."""

    def __init__(self) -> None:
        self._used: dict[tuple[int, FlavorResource], int] = {}

    def of(self, node: QuotaNode, key: FlavorResource) -> int:
        """U: what is charged to the node."""
        return self._used.get((id(node), key), 0)

    def _local_available(self, node: QuotaNode, key: FlavorResource) -> int:
        return max(0, node.local_quota(key) - self.of(node, key))

    def add(self, node: QuotaNode, key: FlavorResource, amount: int) -> None:
        """Charges `amount` to the node; what exceeds its own part goes on to the parent."""
        for at in chain((node,), node.ancestors):
            own = self._local_available(at, key)
            self._used[(id(at), key)] = self.of(at, key) + amount
            amount -= own
            if amount <= 0:
                return

    def remove(self, node: QuotaNode, key: FlavorResource, amount: int) -> None:
        """Takes `amount` back."""
        for at in chain((node,), node.ancestors):
            stored_above = self.of(at, key) - at.local_quota(key)
            self._used[(id(at), key)] = self.of(at, key) - amount
            if stored_above <= 0:
                return
            amount = min(amount, stored_above)

    def available(self, node: QuotaNode, key: FlavorResource) -> int:
        """What the node can take now; never below 0."""
        reach = 0
        for at in reversed([node, *node.ancestors]):
            subtree, used = at.subtree_quota(key), self.of(at, key)
            if at.parent is None or at.dropped:
                reach = subtree - used
                continue
            local, limit = at.local_quota(key), at.borrowing_limit(key)
            if limit is not None:
                reach = min(reach, subtree - local - max(0, used - local) + limit)
            reach += self._local_available(at, key)
        return max(0, reach)

    def dominant_share(self, node: QuotaNode, more: dict[FlavorResource, int] | None = None) -> Fraction | None:
        """The fair-sharing value DRS (per mille of what the parent could lend, by weight); None stands for infinity."""
        if node.parent is None or node.dropped:
            return Fraction(0)
        borrowed: dict[str, int] = {}
        for key in {*node.subtree_quotas, *(more or {})}:
            over = self.of(node, key) + (more or {}).get(key, 0) - node.subtree_quota(key)
            borrowed[key[1]] = borrowed.get(key[1], 0) + max(0, over)
        lendable: dict[str, int] = {}
        for key in node.parent.subtree_quotas:
            lendable[key[1]] = lendable.get(key[1], 0) + node.parent.potential(key)
        ratio = max(
            (Fraction(amount * 1000, lendable[name]) for name, amount in borrowed.items() if lendable.get(name)),
            default=Fraction(0),
        )
        if node.weight == 0:
            return None if ratio else Fraction(0)
        return ratio / node.weight


def totals(keys: Iterable[tuple[FlavorResource, int]]) -> dict[FlavorResource, int]:
    """Amounts added up by flavor and resource."""
    out: dict[FlavorResource, int] = {}
    for key, amount in keys:
        out[key] = out.get(key, 0) + amount
    return out
