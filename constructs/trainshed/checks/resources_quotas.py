"""Pods that a ResourceQuota of their namespace never lets in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import distributed, elastic_minimum, spec_text
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, mapping, text
from trainshed.fleet.amounts import Amounts, amounts
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import WORLDS
from trainshed.fleet.workload import PodSet, Workload
from trainshed.quantity import Quantity

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_PLAIN: Final = ("cpu", "memory", "ephemeral-storage")


@rule("resources-over-namespace-quota", severity="error", family="resources")
def over_namespace_quota(fleet: Fleet) -> Iterator[Issue]:
    """One pod asks for more than a ResourceQuota of its namespace has, or does not say what the quota counts.

    Why: The API server refuses such pods: a Job makes none, a JobSet waits for ever; Kueue still admits the workload
    and holds its quota. Where a quota counts `limits.memory`, every container needs that limit.

    Fix: Ask for less, raise the quota, or write the request or limit.
    """
    quotas: dict[str, list[Document]] = {}
    for document in fleet.of(("", "ResourceQuota")):
        spec = mapping(document.manifest, "spec")
        namespace = fleet.namespaces.of(document)
        if namespace is not None and not spec.get("scopes") and not spec.get("scopeSelector"):
            quotas.setdefault(namespace, []).append(document)
    if not quotas:
        return
    for workload in fleet.workloads:
        for quota in quotas.get(workload.namespace or "", ()):
            hard = amounts(mapping(quota.manifest, "spec", "hard"))
            defaults = fleet.limit_ranges.of(workload.namespace)
            for pod_set in workload.pod_sets if workload.parts_known else ():
                yield from _over(pod_set, quota, hard)
                limits = defaults.limits if defaults else {}
                yield from _unsaid(pod_set, quota, hard, {**(defaults.requests if defaults else {}), **limits}, limits)
            if workload.parts_known and workload.form in WORLDS and workload.units < 2:
                yield from _over_together(workload, quota, hard)


def _over(pod_set: PodSet, quota: Document, hard: Amounts) -> Iterator[Issue]:
    for name, allowed in hard.items():
        resource = name.removeprefix("requests.")
        asked = pod_set.requests.get(resource) if name in _PLAIN or name != resource else None
        if asked is not None and asked.value > allowed.value:
            document, path = pod_set.at(("spec", "containers"))
            message = f"one pod requests {asked} of {resource}, and ResourceQuota {quota.name} has {allowed}: refused"
            yield Issue(document, path, message, "ask for less, or raise the quota", related=(_place(quota, name),))


def _over_together(workload: Workload, quota: Document, hard: Amounts) -> Iterator[Issue]:
    """A run whose pods wait for each other, and do not fit together."""
    ranks = [item for item in workload.pod_sets if item.count and distributed(item.spec)]
    if sum(item.count for item in ranks) < 2 or any(elastic_minimum(spec_text(item.spec)) for item in ranks):
        return
    for name, allowed in hard.items():
        resource = name.removeprefix("requests.")
        counted = name in _PLAIN or name != resource
        asked = [item.requests.get(resource) for item in ranks if counted]
        if any(amount is not None and amount.value > allowed.value for amount in asked):
            continue  # told of the one pod
        total = Quantity(0)
        for item in ranks if counted else ():
            total = total + item.requests.get(resource, Quantity(0)) * item.count
        if name == "pods":
            total = Quantity(sum(item.count for item in ranks))
        if total.value > allowed.value:
            what = "pods" if name == "pods" else f"of {resource}"
            message = (
                f"the pods of the run request {total} {what} together, and ResourceQuota {quota.name} has {allowed}: "
            )
            message += "the first ones wait for those that are refused"
            document, path = ranks[0].at(("spec", "containers"))
            yield Issue(document, path, message, "ask for less, or raise the quota", related=(_place(quota, name),))


def _unsaid(pod_set: PodSet, quota: Document, hard: Amounts, requests: Amounts, limits: Amounts) -> Iterator[Issue]:
    for name in hard:
        field, _, resource = name.rpartition(".")
        resource, field = (name, "requests") if name in _PLAIN else (resource, field)
        if resource not in ("cpu", "memory") or field not in ("requests", "limits"):
            continue
        if resource in mapping(pod_set.spec, "resources", field):
            continue
        for path, container in (*pod_set.containers, *pod_set.init_containers):
            if not _says(container, field, resource) and resource not in (limits if field == "limits" else requests):
                document, where = pod_set.at((*path, "resources"))
                message = (
                    f'container "{text(container, "name")}" has no {field}.{resource}, which ResourceQuota '
                    f"{quota.name} counts: its pods are refused"
                )
                fix = f"write resources.{field}.{resource}, or give the namespace a LimitRange with defaults"
                yield Issue(document, where, message, fix, related=(_place(quota, name),))
                break


def _says(container: Node, field: str, resource: str) -> bool:
    resources = mapping(container, "resources")
    return resource in mapping(resources, "limits") or (field == "requests" and resource in mapping(resources, field))


def _place(quota: Document, name: str) -> tuple[str, Document, Path]:
    return "the quota", quota, ("spec", "hard", name)
