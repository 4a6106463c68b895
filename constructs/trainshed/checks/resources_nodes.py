"""Pods against the nodes of the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, strings
from trainshed.fleet.amounts import ZERO, Amounts
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "resources"
_GPU: Final = "nvidia.com/gpu"


@rule("resources-exceeds-every-node", severity="error", family=FAMILY)
def exceeds_every_node(fleet: Fleet) -> Iterator[Issue]:
    """A pod requests more than any node of the input offers.

    Why: A pod runs on one node. When each Node that its nodeSelector allows has less of some resource, it stays Pending
    for ever. (Workloads in a Kueue queue are judged by the rules on flavors.)
    Fix: Request less for each pod and run more pods, or correct the nodeSelector.
    """
    if not fleet.capacity.machines:
        return
    by_selector: dict[frozenset[tuple[str, str]], list[Amounts]] = {}
    for workload in fleet.workloads:
        for pod_set in workload.pod_sets if not workload.queue_name else ():
            selector = strings(pod_set.spec, "nodeSelector")
            if (key := frozenset(selector.items())) not in by_selector:
                found = [machine.allocatable for machine in fleet.capacity.machines_with(selector)]
                distinct = {tuple(sorted(shape.items())): shape for shape in found if shape}
                by_selector[key] = list(distinct.values())
            shapes = by_selector[key]
            if not shapes or not pod_set.count or any(_fits(pod_set.requests, shape) for shape in shapes):
                continue
            for name, amount in pod_set.requests.items():
                most = max(shape.get(name, ZERO) for shape in shapes)
                if amount > most:
                    where = " that its nodeSelector allows" if selector else ""
                    message = f"a pod requests {amount} of {name}, and no node{where} has more than {most}"
                    fix = (
                        f"request at most {most} in each pod"
                        if most > ZERO
                        else "correct the resource or the nodeSelector"
                    )
                    yield issue(pod_set, _requested(pod_set, name), message, fix)


def _fits(requests: Amounts, shape: Amounts) -> bool:
    return all(amount <= shape.get(name, ZERO) for name, amount in requests.items())


def _requested(pod_set: PodSet, name: str) -> Path:
    """The first place where a container names the resource."""
    for path, container in [*pod_set.containers, *pod_set.init_containers]:
        for field in ("requests", "limits"):
            if name in mapping(container, "resources", field):
                return (*path, "resources", field, name)
    return ("spec",)


@rule("resources-gpus-left-over", severity="info", family=FAMILY)
def gpus_left_over(fleet: Fleet) -> Iterator[Issue]:
    """Pods take a number of GPUs that leaves part of each node over.

    Why: Pods with 3, 5, 6 or 7 of a node's 8 GPUs leave GPUs that no second pod of the run fits into.
    Fix: Take a number that divides the node's.
    """
    sizes = {int(machine.allocatable[_GPU].value) for machine in fleet.capacity.machines if _GPU in machine.allocatable}
    sizes |= {int(pool.per_node[_GPU].value) for pool in fleet.capacity.pools.values() if _GPU in pool.per_node}
    sizes.discard(0)
    for workload in fleet.workloads if sizes else ():
        for pod_set in workload.pod_sets:
            amount = int(pod_set.requests[_GPU].value) if _GPU in pod_set.requests else 0
            if amount > 1 and pod_set.count > 1 and amount < max(sizes) and all(size % amount for size in sizes):
                size = max(sizes)
                message = (
                    f"{amount} of {size} GPUs in each of {pod_set.count} pods leave {size % amount} of each node over"
                )
                yield issue(pod_set, _requested(pod_set, _GPU), message, f"take a number that divides {size}")
