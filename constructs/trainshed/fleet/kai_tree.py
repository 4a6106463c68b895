"""KAI's queues as a tree: quota, limit and weight, what a gang may take, and how a surplus is divided.

Reference: KAI Scheduler v0.17.0, `pkg/scheduler/plugins/proportion`; summary in our schedulers.md 4.4. A number that
is left out is 0: no quota, no share of the surplus, nothing allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trainshed.fleet.access import dig, mapping, text, whole
from trainshed.fleet.amounts import Amounts
from trainshed.fleet.document import Document
from trainshed.spelling import Names

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

GROUP: Final = "scheduling.run.ai"
RESOURCES: Final = ("cpu", "memory", "gpu")
NUMBERS: Final = ("quota", "overQuotaWeight", "limit")
UNLIMITED: Final = Fraction(-1)
#: The chart installs these two.
BUILT_IN: Final = frozenset({"default-parent-queue", "default-queue"})
_DEEPEST: Final = 64
_UNITS: Final = {"cpu": "millicores", "memory": "MB", "gpu": "GPUs"}


class Shares(NamedTuple):
    """The three numbers of one resource; -1 is unlimited."""

    quota: Fraction = Fraction(0)
    weight: Fraction = Fraction(0)
    limit: Fraction = Fraction(0)


@dataclass
class KaiQueue:
    """One Queue."""

    name: str
    document: Document
    parent: str = ""
    priority: int = 100
    shares: dict[str, Shares] = field(default_factory=dict)


class KaiTree:
    """The queues of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self.queues = {item.name: _queue(item) for item in reversed(fleet.of((GROUP, "Queue"))) if item.name}
        self.children: dict[str, list[KaiQueue]] = {}
        for queue in sorted(self.queues.values(), key=lambda queue: queue.name):
            self.children.setdefault(queue.parent, []).append(queue)

    def __bool__(self) -> bool:
        return bool(self.queues)

    @cached_property
    def names(self) -> Names:
        """Names of the leaves, for proposals."""
        return Names(sorted(name for name in self.queues if name not in self.children))

    def exists(self, name: str) -> bool:
        """Whether there is such a queue, the chart's own included."""
        return name in self.queues or name in BUILT_IN

    def line(self, name: str) -> Iterator[KaiQueue]:
        """The queue and its ancestors, as far as they are in the input; a circle ends it."""
        seen: set[str] = set()
        while name in self.queues and name not in seen and len(seen) < _DEEPEST:
            seen.add(name)
            yield self.queues[name]
            name = self.queues[name].parent

    def circle(self, name: str) -> list[str]:
        """The parents from `name` back to `name`; empty when there is no such circle."""
        chain = [queue.name for queue in self.line(name)]
        return chain if chain and self.queues[chain[-1]].parent == name else []

    def over_limit(self, name: str, demand: Mapping[str, Fraction]) -> Iterator[tuple[KaiQueue, str, Fraction]]:
        """(queue, resource, limit) of each limit from the leaf to the root that `demand` does not fit under."""
        yield from self._over(name, demand, "limit")

    def over_quota(self, name: str, demand: Mapping[str, Fraction]) -> Iterator[tuple[KaiQueue, str, Fraction]]:
        """The same for quotas, which alone count for pods that can't be preempted."""
        yield from self._over(name, demand, "quota")

    def _over(self, name: str, demand: Mapping[str, Fraction], number: str) -> Iterator[tuple[KaiQueue, str, Fraction]]:
        for queue in self.line(name):
            for resource, amount in demand.items():
                bound: Fraction = getattr(queue.shares.get(resource, Shares()), number)
                if amount > 0 and bound != UNLIMITED and amount > bound:
                    yield queue, resource, bound

    def fair_shares(self, resource: str, total: Fraction, requests: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """Each queue's fair share of `total`, with what the leaves request: quota first, then the surplus by priority
        and weight, at every level."""
        found: dict[str, Fraction] = {}
        self._divide(resource, total, "", requests, found, frozenset())
        return found

    def _divide(
        self,
        resource: str,
        total: Fraction,
        parent: str,
        requests: Mapping[str, Fraction],
        found: dict[str, Fraction],
        above: frozenset[str],
    ) -> None:
        queues = [queue for queue in self.children.get(parent, ()) if queue.name not in above]
        wanted = {queue.name: self._requestable(queue, resource, requests, above) for queue in queues}
        shares: dict[str, Fraction] = {}
        for queue in queues:
            quota = queue.shares.get(resource, Shares()).quota
            shares[queue.name] = min(total if quota == UNLIMITED else quota, wanted[queue.name])
        left = total - sum(shares.values())
        for priority in sorted({queue.priority for queue in queues}, reverse=True):
            bucket = [queue for queue in queues if queue.priority == priority]
            left = _surplus(resource, left, bucket, wanted, shares)
        found.update(shares)
        for queue in queues:
            self._divide(resource, shares[queue.name], queue.name, requests, found, above | {queue.name})

    def _requestable(
        self, queue: KaiQueue, resource: str, requests: Mapping[str, Fraction], above: frozenset[str]
    ) -> Fraction:
        inner = above | {queue.name}
        children = [child for child in self.children.get(queue.name, ()) if child.name not in inner]
        asked = requests.get(queue.name, Fraction(0))
        asked += sum((self._requestable(child, resource, requests, inner) for child in children), Fraction(0))
        limit = queue.shares.get(resource, Shares()).limit
        return asked if limit == UNLIMITED else min(asked, limit)


def _surplus(
    resource: str, left: Fraction, bucket: list[KaiQueue], wanted: dict[str, Fraction], shares: dict[str, Fraction]
) -> Fraction:
    """Divides `left` by weight, never above what a queue can request; gives back what remains."""
    while left > 0:
        hungry = [
            (queue.name, weight)
            for queue in bucket
            if (weight := queue.shares.get(resource, Shares()).weight) > 0 and shares[queue.name] < wanted[queue.name]
        ]
        if not hungry:
            break
        weights = sum((weight for _, weight in hungry), Fraction(0))
        parts = {name: min(left * weight / weights, wanted[name] - shares[name]) for name, weight in hungry}
        if resource == "gpu":
            parts = _whole_gpus(parts, {name: wanted[name] - shares[name] for name in parts})
        given = sum(parts.values(), Fraction(0))
        if not given:
            break
        for name, part in parts.items():
            shares[name] += part
        left -= given
    return left


def _whole_gpus(parts: dict[str, Fraction], most: dict[str, Fraction]) -> dict[str, Fraction]:
    """Whole devices, by the largest remainder."""
    rounded = {name: Fraction(part.numerator // part.denominator) for name, part in parts.items()}
    spare = int(sum(parts.values(), Fraction(0)) - sum(rounded.values()))
    for name in sorted(parts, key=lambda name: (rounded[name] - parts[name], name)):
        if spare > 0 and rounded[name] + 1 <= most[name]:
            rounded[name] += 1
            spare -= 1
    return rounded if any(rounded.values()) else parts


def _queue(document: Document) -> KaiQueue:
    spec = mapping(document.manifest, "spec")
    priority = whole(spec, "priority")
    shares = {
        resource: Shares(*(_number(dig(spec, "resources", resource, number)) for number in NUMBERS))
        for resource in RESOURCES
    }
    return KaiQueue(document.name, document, text(spec, "parentQueue"), 100 if priority is None else priority, shares)


def _number(value: Any) -> Fraction:
    return Fraction(value) if isinstance(value, int | float) and not isinstance(value, bool) else Fraction(0)


def demand(requests: Amounts, pods: int = 1) -> dict[str, Fraction]:
    """What `pods` pods ask of a queue, in its units: millicores, MB of 10^6 bytes, GPUs of any vendor."""
    asked = dict.fromkeys(RESOURCES, Fraction(0))
    for name, amount in requests.items():
        if name == "cpu":
            asked["cpu"] += amount.value * 1000 * pods
        elif name == "memory":
            asked["memory"] += amount.value / 10**6 * pods
        elif name.endswith("/gpu"):
            asked["gpu"] += amount.value * pods
    return asked


def in_units(resource: str, amount: Fraction) -> str:
    """An amount with its unit: `32000 millicores`, `64 GPUs`, `unlimited`."""
    if amount == UNLIMITED:
        return "unlimited"
    shown = str(amount.numerator) if amount.denominator == 1 else f"{float(amount):.6g}"
    return f"{shown} {_UNITS.get(resource, '')}".strip()
