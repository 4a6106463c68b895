"""KAI queues: their numbers, their parents, and what adds up."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed, proposal
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, mapping
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.kai_tree import GROUP, NUMBERS, RESOURCES, UNLIMITED, KaiQueue, in_units
from trainshed.fleet.paths import Path
from trainshed.spelling import Names

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "kai queues"
_ROOT: Final[Path] = ("spec", "resources")
_EFFECT: Final = {
    "limit": "0 by default, so that nothing may be allocated",
    "quota": "0 by default, so that nothing is guaranteed",
    "overQuotaWeight": "0 by default, so that the queue gets no share of what is idle",
}


def _queues(fleet: Fleet) -> list[Document]:
    return fleet.of((GROUP, "Queue"))


@rule("kai-queue-numbers", severity="error", family=FAMILY, targets=("kai",))
def queue_numbers(fleet: Fleet) -> Iterator[Issue]:
    """A KAI Queue leaves out a resource, or one of its three numbers.

    Why: What is left out is 0. Without a limit nothing may be allocated, and every pod that requests the resource stays
    Pending as OverLimit; examples that leave out memory do just that. The numbers are plain: CPU in millicores, memory
    in MB, GPUs in devices; -1 is unlimited.
    Fix: Write quota, limit and overQuotaWeight for cpu, memory and gpu.
    """
    for queue in _queues(fleet):
        if not isinstance(dig(queue.manifest, *_ROOT), dict):
            fix = "write quota, limit and overQuotaWeight for cpu, memory and gpu"
            yield Issue(queue, _ROOT, "the queue has no resources, and KAI's webhook refuses it", fix)
            continue
        for resource in RESOURCES:
            path = (*_ROOT, resource)
            if not isinstance(dig(queue.manifest, *path), dict):
                message = f"{resource} is left out: its limit is 0, so no pod that requests {resource} may run"
                yield Issue(queue, path, message, f"add {resource}: {{quota: -1, limit: -1, overQuotaWeight: 1}}")
                continue
            yield from _numbers(queue, resource, mapping(queue.manifest, *path), path)


def _numbers(queue: Document, resource: str, given: dict[str, object], path: Path) -> Iterator[Issue]:
    for number in NUMBERS:
        value = given.get(number)
        if value is None:
            severity: Severity = "error" if number == "limit" else "warning"
            message = f"{resource} has no {number}: {_EFFECT[number]}"
            fix = f"write {number}: {'1' if number == 'overQuotaWeight' else '-1 (unlimited) or an amount'}"
            yield Issue(queue, (*path, number), message, fix, severity)
        elif not isinstance(value, int | float):
            continue  # told by the schema
        elif value < 0 and not (value == -1 and number != "overQuotaWeight"):
            message = f"{resource} {number} is {value}; below 0 only -1, for unlimited, has a meaning"
            if number == "overQuotaWeight":
                message = f"{resource} overQuotaWeight is {value}, and a weight is 0 or more"
            yield Issue(queue, (*path, number), message, "write 0 or more")


@rule("kai-parent-missing", severity="error", family=FAMILY, targets=("kai",))
def parent_missing(fleet: Fleet) -> Iterator[Issue]:
    """A KAI Queue names a parent that does not exist, or queues are each other's parents.

    Why: A queue without its parent is dropped together with all queues below it; only a line in the log says so.
    Fix: Name an existing Queue, or add the parent.
    """
    tree = fleet.kai
    known = Names(tree.queues)
    for queue in tree.queues.values():
        path = ("spec", "parentQueue")
        if queue.parent and not tree.exists(queue.parent) and not fleet.find(GROUP, "Queue", None, queue.parent):
            severity: Severity = "error" if len(tree.queues) > 1 else "warning"
            depends = "" if severity == "error" else ", unless it exists elsewhere"
            message = f'there is no Queue "{queue.parent}" to be the parent: the queue and all below it are dropped'
            fix = proposal(queue.parent, known, f'add Queue "{queue.parent}"', queue.name)
            yield Issue(queue.document, path, message + depends, fix, severity)
        elif circle := tree.circle(queue.name):
            message = f"the queues are each other's parents: {' → '.join([*circle, circle[0]])}"
            yield Issue(queue.document, path, message, "make one of them a top-level queue")


@rule("kai-queue-sums", severity="warning", family=FAMILY, targets=("kai",))
def queue_sums(fleet: Fleet) -> Iterator[Issue]:
    """Numbers of KAI queues contradict each other.

    Why: KAI accepts them all. A quota above the limit can't be used up; children's quotas above their parent's can't
    all be kept, since a parent's fair share starts with its own quota. With overQuotaWeight 0 a queue gets no share of
    what is idle beyond its quota, though its limit lets it go further.
    Fix: Raise the parent's quota to the sum of its children's, and limits to the quota; give a weight above 0.
    """
    tree = fleet.kai
    weighted: dict[tuple[str, str], bool] = {}
    for queue in tree.queues.values():
        for resource in RESOURCES:
            shares = queue.shares[resource]
            limit_at = (*_ROOT, resource, "limit")
            if queue.document.has(limit_at) and 0 <= shares.limit < shares.quota:
                message = (
                    f"{resource} quota is {in_units(resource, shares.quota)}, above its limit of "
                    f"{in_units(resource, shares.limit)}"
                )
                yield Issue(queue.document, (*_ROOT, resource, "quota"), message, "raise the limit or lower the quota")
            above = shares.quota >= 0 and (shares.limit == UNLIMITED or shares.limit > shares.quota)
            siblings = queue.parent, resource
            if siblings not in weighted:
                weighted[siblings] = any(item.shares[resource].weight > 0 for item in tree.children[queue.parent])
            weight_at = (*_ROOT, resource, "overQuotaWeight")
            if above and not shares.weight and weighted[siblings] and queue.document.has(weight_at):
                message = (
                    f"{resource} overQuotaWeight is 0, though the limit is {in_units(resource, shares.limit)}: beyond "
                    f"its quota of {in_units(resource, shares.quota)} the queue gets nothing while others ask"
                )
                yield Issue(queue.document, weight_at, message, "write a weight above 0, or a limit equal to the quota")
            yield from _children(queue, resource, tree.children.get(queue.name, []))


def _children(queue: KaiQueue, resource: str, children: list[KaiQueue]) -> Iterator[Issue]:
    own = queue.shares[resource].quota
    parts = {child.name: child.shares[resource].quota for child in children if child.name != queue.name}
    total = sum((part for part in parts.values() if part > 0), Fraction(0))
    if own < 0 or total <= own or UNLIMITED in parts.values():
        return
    named = [name for name, part in parts.items() if part > 0]
    sum_ = " + ".join(in_units("", parts[name]) for name in named[:6])
    message = f"{resource} quota of {listed(named)} is {sum_}, above the {in_units(resource, own)} of their parent"
    fix = f"raise the parent's quota to {in_units(resource, total)}, or lower its children's"
    related = tuple(
        (f"quota of {child.name}", child.document, (*_ROOT, resource, "quota"))
        for child in children
        if child.name in named[:3]
    )
    yield Issue(queue.document, (*_ROOT, resource, "quota"), message, fix, None, related)


@rule("kai-queue-units", severity="warning", family=FAMILY, targets=("kai",))
def queue_units(fleet: Fleet) -> Iterator[Issue]:
    """A KAI Queue's memory or CPU looks as if it were written in another unit.

    Why: Memory is in MB (10^6 bytes) and CPU in millicores: 64 is 64 MB, not 64 GiB, and 8 is 0.008 CPU.
    Fix: Write memory in MB and CPU in millicores.
    """
    for queue in fleet.kai.queues.values():
        for number in ("quota", "limit"):
            memory = getattr(queue.shares["memory"], number)
            cpu = getattr(queue.shares["cpu"], number)
            if 0 < memory < 1000:
                message = f"memory {number} is {in_units('memory', memory)}, less than a GB: is it meant in GiB?"
                yield Issue(queue.document, (*_ROOT, "memory", number), message, "write it in MB: 64 GiB is 68719")
            elif memory >= 10**9:
                message = f"memory {number} is {in_units('memory', memory)}, a petabyte or more: is it meant in bytes?"
                yield Issue(queue.document, (*_ROOT, "memory", number), message, "write it in MB: 64 GiB is 68719")
            if 0 < cpu < 100:
                message = f"cpu {number} is {in_units('cpu', cpu)}, less than a tenth of a CPU: is it meant in CPUs?"
                yield Issue(queue.document, (*_ROOT, "cpu", number), message, "write it in millicores: 8 CPUs are 8000")
