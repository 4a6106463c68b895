"""Containers outside what a LimitRange of their namespace allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, mapping, mappings, text
from trainshed.fleet.amounts import amounts
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet
from trainshed.quantity import Quantity

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FIELDS: Final = ("requests", "limits")


@rule("resources-outside-limit-range", severity="error", family="resources")
def outside_limit_range(fleet: Fleet) -> Iterator[Issue]:
    """A container asks for more or less than a LimitRange of its namespace allows.

    Why: The API server refuses the pods, so a Job never makes any; Kueue keeps such a workload pending
    ("resources didn't satisfy LimitRange constraints").

    Fix: Ask for an amount within min and max, or change the LimitRange.
    """
    ranges: dict[str, list[tuple[Document, int, Node]]] = {}
    for document in fleet.of(("", "LimitRange")):
        namespace = fleet.namespaces.of(document)
        if namespace is not None:
            for index, item in mappings(document.manifest, "spec", "limits"):
                if text(item, "type") == "Container":
                    ranges.setdefault(namespace, []).append((document, index, item))
    if not ranges:
        return
    for workload in fleet.workloads:
        for document, index, item in ranges.get(workload.namespace or "", ()):
            for pod_set in workload.pod_sets:
                yield from _outside(pod_set, document, index, item)
                yield from _beside_default(pod_set, document, index, item)


def _outside(pod_set: PodSet, limit_range: Document, index: int, item: Node) -> Iterator[Issue]:
    least, most = amounts(mapping(item, "min")), amounts(mapping(item, "max"))
    for path, container in (*pod_set.containers, *pod_set.init_containers):
        told: set[str] = set()
        for field in _FIELDS:
            for name, amount in amounts(mapping(container, "resources").get(field)).items():
                bound = _bound(amount, least.get(name), most.get(name))
                if not bound or name in told:
                    continue
                told.add(name)
                word, allowed = bound
                document, where = pod_set.at((*path, "resources", field, name))
                message = (
                    f'container "{text(container, "name")}" {field[:-1]}s {amount} of {name}, '
                    f"{word} {allowed} that LimitRange {limit_range.name} allows: its pods are refused"
                )
                related: Path = ("spec", "limits", index)
                fix = f"write {'at most' if 'more' in word else 'at least'} {allowed}, or change the LimitRange"
                yield Issue(document, where, message, fix, related=(("the LimitRange", limit_range, related),))


def _beside_default(pod_set: PodSet, limit_range: Document, index: int, item: Node) -> Iterator[Issue]:
    """Requests above the limit that the LimitRange writes, and limits that are too many times the request."""
    limits = {**amounts(mapping(item, "max")), **amounts(mapping(item, "default"))}
    ratios = amounts(mapping(item, "maxLimitRequestRatio"))
    related = (("the LimitRange", limit_range, ("spec", "limits", index)),)
    for path, container in (*pod_set.containers, *pod_set.init_containers):
        called = f'container "{text(container, "name")}"'
        own = amounts(mapping(container, "resources").get("limits"))
        for name, amount in amounts(mapping(container, "resources").get("requests")).items():
            given, ratio = own.get(name), ratios.get(name)
            document, where = pod_set.at((*path, "resources", "requests", name))
            default = limits.get(name)
            if given is None and default is not None and amount.value > default.value:
                message = f"{called} requests {amount} of {name} without a limit, and LimitRange {limit_range.name} "
                message += f"writes the limit {default}: its pods are refused"
                yield Issue(document, where, message, f"write limits.{name} too", related=related)
            if given is not None and ratio is not None and amount.value and given.value > amount.value * ratio.value:
                message = f"{called} has the limit {given} and the request {amount} of {name}, more than the ratio "
                message += f"{ratio} that LimitRange {limit_range.name} allows: its pods are refused"
                yield Issue(document, where, message, "bring the request nearer to the limit", related=related)


def _bound(amount: Quantity, least: Quantity | None, most: Quantity | None) -> tuple[str, Quantity] | None:
    if most is not None and amount.value > most.value:
        return "more than the", most
    if least is not None and amount.value < least.value:
        return "less than the", least
    return None
