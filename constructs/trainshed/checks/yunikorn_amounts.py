"""YuniKorn's queues: amounts that contradict each other, and access that nobody has."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from trainshed.checks.rule import Issue, rule
from trainshed.checks.yunikorn_config import FAMILY
from trainshed.fleet.access import text
from trainshed.fleet.yunikorn_config import ROOT, YuniKornQueue

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


@rule("yunikorn-queue-amounts", severity="error", family=FAMILY, targets=("yunikorn",))
def queue_amounts(fleet: Fleet) -> Iterator[Issue]:
    """Amounts of YuniKorn's queues contradict each other.

    Why: YuniKorn refuses a configuration in which a queue is guaranteed more than its max, a child's max is above its
    parent's, children are together guaranteed more than the parent has, or a child may run more applications.
    Fix: Raise the parent's amount, or lower the children's.
    """
    for config in fleet.yunikorn:
        for queue in config.queues.values():
            for message in _amounts(queue):
                fix = "raise the parent's amount, or lower the children's"
                yield Issue(config.document, config.path, message, fix)


def _amounts(queue: YuniKornQueue) -> Iterator[str]:
    most, kept = queue.max, queue.guaranteed
    for resource, value in kept.items():
        if resource in most and value > most[resource]:
            yield f"queue {queue.path} is guaranteed {_n(value)} {resource}, more than its max of {_n(most[resource])}"
    above = next((item for item in list(queue.line())[1:] if item.max), None)
    for resource, value in most.items():
        if above is not None and resource in above.max and value > above.max[resource]:
            bound = f"the {_n(above.max[resource])} of {above.path}"
            yield f"max {resource} of queue {queue.path} is {_n(value)}, above {bound}"
    sums: dict[str, Fraction] = {}
    for child in queue.children:
        for resource, value in _needed(child).items():
            sums[resource] = sums.get(resource, Fraction(0)) + value
    for resource, total in sums.items():
        for field, bounds in (("guaranteed", kept), ("max", most)):
            if queue.parent is not None and resource in bounds and total > bounds[resource]:
                yield (
                    f"the children of queue {queue.path} are guaranteed {_n(total)} {resource} together, above its "
                    f"{field} of {_n(bounds[resource])}"
                )
                break
    yield from _applications(queue)


def _needed(queue: YuniKornQueue) -> dict[str, Fraction]:
    """What a queue is guaranteed: its own amount, where it writes none the sum of its children's."""
    found = dict(queue.guaranteed)
    for child in queue.children:
        for resource, value in _needed(child).items():
            if resource not in queue.guaranteed:
                found[resource] = found.get(resource, Fraction(0)) + value
    return found


def _applications(queue: YuniKornQueue) -> Iterator[str]:
    own = queue.node.get("maxapplications")
    for child in queue.children if isinstance(own, int) and own > 0 else ():
        value: Any = child.node.get("maxapplications")
        if not isinstance(value, int) or value == 0:
            yield f"queue {child.path} sets no maxapplications, while its parent has {own}"
        elif isinstance(own, int) and value > own:
            yield f"maxapplications of queue {child.path} is {value}, above the {own} of its parent"


def _n(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"


@rule("yunikorn-nobody-may-submit", severity="error", family=FAMILY, targets=("yunikorn",))
def nobody_may_submit(fleet: Fleet) -> Iterator[Issue]:
    """YuniKorn's queues.yaml lets nobody submit anything.

    Why: Without a queues.yaml, root is open to all. An own file starts with nothing allowed: every application is
    rejected until a queue has a `submitacl` (yunikorn-k8shim #41).
    Fix: Write `submitacl: '*'` for root, or users and groups for single queues.
    """
    for config in fleet.yunikorn:
        if config.error or not config.queues:
            continue
        open_ = [queue for queue in config.queues.values() if _has_acl(queue)]
        if not open_:
            message = f"no queue has a submitacl, so every application is rejected ({ROOT} is closed by default)"
            yield Issue(config.document, config.path, message, "write submitacl: '*' for root")


def _has_acl(queue: YuniKornQueue) -> bool:
    """Whether a queue lets somebody in; a key in the wrong case is told elsewhere."""
    return any(key.lower() in ("submitacl", "adminacl") and text(queue.node, key).strip() for key in queue.node)
