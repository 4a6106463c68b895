"""Amounts that are valid quantities and cannot be meant: memory in thousandths of a byte, gigabytes of CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, mapping, mappings
from trainshed.fleet.amounts import quantity
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "resources"
_BYTES: Final = ("memory", "ephemeral-storage", "storage")
_MEBIBYTE: Final = 2**20
#: The largest nodes there are have fewer cores and less memory than that.
_MOST_CORES: Final = 4096
_MOST_BYTES: Final = 2**50
_PLAIN: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|)")
_CPU: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKMGTPE]i?)")


def _of_bytes(name: str) -> bool:
    return name in _BYTES or name.removeprefix("requests.").removeprefix("limits.") in _BYTES


def small(value: Any) -> str:
    """What was likely meant by an amount of bytes below one mebibyte; empty for larger amounts and for 0."""
    amount = quantity(value)
    if amount is None or not 0 < amount.value < _MEBIBYTE:
        return ""
    match = _PLAIN.fullmatch(str(value))
    if match is None:
        return "a suffix such as Mi or Gi"
    return f"{match[1]}Mi" if match[2] or len(match[1]) > 3 else f"{match[1]}Gi"


def large_cpu(value: Any) -> str:
    """What was likely meant by an amount of CPU that no machine has; empty for others."""
    amount = quantity(value)
    if amount is None or amount.value <= _MOST_CORES:
        return ""
    if match := _CPU.fullmatch(str(value)):
        return match[1]
    return f"{value}m"


def _listed(pod_spec: Node) -> Iterator[tuple[Path, str, Any]]:
    """(path, name, value) of the pod-level resources and the overhead."""
    for root in (("resources", "requests"), ("resources", "limits"), ("overhead",)):
        for name, value in mapping(pod_spec, *root).items():
            if isinstance(name, str):
                yield ("spec", *root, name), name, value


def _others(fleet: Fleet) -> Iterator[tuple[Document, Path, str, Any]]:
    """(document, path, resource, value) in claims, LimitRanges and ResourceQuotas."""
    for claim in fleet.of(("", "PersistentVolumeClaim")):
        for name, value in mapping(claim.manifest, "spec", "resources", "requests").items():
            yield claim, ("spec", "resources", "requests", name), name, value
    for quota in fleet.of(("", "ResourceQuota")):
        for name, value in mapping(quota.manifest, "spec", "hard").items():
            yield quota, ("spec", "hard", name), name, value
    for limits in fleet.of(("", "LimitRange")):
        for index, item in mappings(limits.manifest, "spec", "limits"):
            for field in ("max", "default", "defaultRequest", "min"):
                for name, value in mapping(item, field).items():
                    yield limits, ("spec", "limits", index, field, name), name, value


@rule("resources-bytes-unit", severity="error", family=FAMILY)
def bytes_unit(fleet: Fleet) -> Iterator[Issue]:
    """An amount of memory or storage is smaller than any program needs.

    Why: `m` is thousandths in every quantity: `512m` of memory is half a byte. A number without a suffix is bytes. The
    API server takes both; the sandbox does not start, or the pod is evicted.
    Fix: Write Mi or Gi.
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in containers(pod_set):
            for field in ("requests", "limits"):
                for name, value in mapping(container, "resources", field).items():
                    if isinstance(name, str) and _of_bytes(name) and (meant := small(value)):
                        message = f"{field}.{name} of {named(container)} is {value}: {_size(value)}"
                        yield issue(pod_set, (*path, "resources", field, name), message, f"did you mean {meant}?")
        for path, name, value in _listed(pod_set.spec):
            if _of_bytes(name) and (meant := small(value)):
                yield issue(pod_set, path, f"{name} of the pod is {value}: {_size(value)}", f"did you mean {meant}?")
        for index, volume in mappings(pod_set.spec, "volumes"):
            value = mapping(volume, "emptyDir").get("sizeLimit")
            if value is not None and (meant := small(value)):
                path = ("spec", "volumes", index, "emptyDir", "sizeLimit")
                yield issue(pod_set, path, f"sizeLimit is {value}: {_size(value)}", f"did you mean {meant}?")
    for document, path, name, value in _others(fleet):
        if isinstance(name, str) and _of_bytes(name) and (meant := small(value)):
            yield Issue(document, path, f"{name} is {value}: {_size(value)}", f"did you mean {meant}?")


def _size(value: Any) -> str:
    amount = quantity(value)
    size = amount.value if amount else 0
    if size < 1:
        return "less than one byte"
    return f"{int(size)} byte{'' if size == 1 else 's'}, less than 1 MiB"


@rule("resources-cpu-unit", severity="error", family=FAMILY)
def cpu_unit(fleet: Fleet) -> Iterator[Issue]:
    """An amount of CPU is larger than any machine.

    Why: CPU counts cores: `96Gi` are 103 billion of them, `64000` were to be thousandths. No node has that much, and
    the pod stays Pending for ever.
    Fix: Write cores (`96`) or thousandths (`500m`).
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in containers(pod_set):
            for field in ("requests", "limits"):
                value = mapping(container, "resources", field).get("cpu")
                if value is not None and (meant := large_cpu(value)):
                    message = f"{field}.cpu of {named(container)} is {value}, more cores than any machine has"
                    yield issue(pod_set, (*path, "resources", field, "cpu"), message, f"did you mean {meant}?")


@rule("resources-memory-beyond-machines", severity="error", family=FAMILY)
def memory_beyond(fleet: Fleet) -> Iterator[Issue]:
    """A container wants more memory than any machine has.

    Why: Above one pebibyte a unit is wrong; the pod stays Pending for ever.
    Fix: Correct the unit.
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in containers(pod_set):
            for field in ("requests", "limits"):
                value = mapping(container, "resources", field).get("memory")
                amount = quantity(value)
                if amount is not None and amount.value > _MOST_BYTES:
                    message = f"{field}.memory of {named(container)} is {value}, more than any machine has"
                    yield issue(pod_set, (*path, "resources", field, "memory"), message, "correct the unit")


@rule("resources-extended-limit", severity="error", family=FAMILY)
def extended_limit(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob and its runtime together give a GPU different requests and limits.

    Why: Trainer 2.3 merges `resourcesPerNode` into the runtime's resources key by key. The API server takes an extended
    resource only with a limit that equals the request: the Job is made, and its pods are refused.
    Fix: Write requests and limits of the resource in one place.
    """
    for workload in fleet.workloads:
        for pod_set in workload.pod_sets if workload.kind == "TrainJob" else ():
            for path, container in containers(pod_set):
                requests, limits = (mapping(container, "resources", field) for field in ("requests", "limits"))
                for name, value in requests.items():
                    if not isinstance(name, str) or "/" not in name or name.startswith("kubernetes.io/"):
                        continue
                    wanted, limit = quantity(value), quantity(limits.get(name))
                    if wanted is None or wanted == limit:
                        continue
                    there = [pod_set.at((*path, "resources", field, name)) for field in ("limits", "requests")]
                    merged = next((at for at in there if at[0] is workload.document), None)
                    if merged is not None:
                        has = f"the limit {limit}" if limit is not None else "no limit"
                        message = f"{name} gets the request {wanted} and {has}, with {named(container)} of the runtime"
                        yield Issue(*merged, message, f"write {name} in requests and limits, with one number")
