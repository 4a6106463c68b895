"""What one pod requests, as the scheduler and Kueue count it.

k8s.io/component-helpers v0.36, `resource/helpers.go` (PodRequests); kubernetes v1.36, `pkg/apis/core/v1/defaults.go`
(limits without requests, pod-level requests); Kueue v0.19, `pkg/workload/resources.go` (kueue.md 4.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trainshed.fleet.access import Node, text
from trainshed.fleet.amounts import Amounts, add, amounts, quantity, raise_to

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet
    from trainshed.fleet.limit_ranges import Defaults

_POD_LEVEL: Final = ("cpu", "memory", "hugepages-")


def container_requests(container: Node, defaults: Defaults | None = None) -> Amounts:
    """One container: its requests; a limit without a request is the request; then the namespace's LimitRange."""
    resources = container.get("resources")
    if resources.__class__ is not dict:
        return dict(defaults.requests) if defaults else {}
    requests = amounts(resources.get("requests"))
    limits = resources.get("limits")
    if limits.__class__ is dict:
        for name, value in limits.items():
            if name not in requests and (amount := quantity(value)) is not None:
                requests[name] = amount
    if defaults:
        for name, amount in defaults.requests.items():
            requests.setdefault(name, amount)
    return requests


def pod_requests(spec: Node, defaults: Defaults | None = None, overhead: Amounts | None = None) -> Amounts:
    """One pod: the larger of what its containers and sidecars request together and what the init containers request
    as they run, each with the sidecars started before it; pod-level requests instead where they are set; plus
    `overhead`. Whatever is no quantity is left out."""
    total = _containers(spec, defaults)
    resources = spec.get("resources")
    if resources.__class__ is dict:
        total |= _pod_level(resources, total)
    if overhead:
        add(total, overhead)
    return total


def _containers(spec: Node, defaults: Defaults | None) -> Amounts:
    total: Amounts = {}
    containers = spec.get("containers")
    if containers.__class__ is list:
        for container in containers:
            if container.__class__ is dict:
                requested = container_requests(container, defaults)
                if total:
                    add(total, requested)
                else:
                    total = requested
    init_containers = spec.get("initContainers")
    if init_containers.__class__ is list and init_containers:
        _with_init(total, init_containers, defaults)
    return total


def _with_init(total: Amounts, init_containers: list[Any], defaults: Defaults | None) -> None:
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in init_containers:
        if container.__class__ is not dict:
            continue
        running = container_requests(container, defaults)
        if container.get("restartPolicy") == "Always":
            add(total, running)
            add(sidecars, running)
            running = sidecars
        else:
            add(running, sidecars)
        raise_to(peak, running)
    raise_to(total, peak)


def _pod_level(resources: Node, containers: Amounts) -> Amounts:
    """The pod-level requests. Where only a limit is set, the containers' requests count, and the limit without them."""
    requests = amounts(resources.get("requests"))
    for name, amount in amounts(resources.get("limits")).items():
        requests.setdefault(name, containers.get(name, amount))
    return {name: amount for name, amount in requests.items() if name.startswith(_POD_LEVEL)}


def overhead_of(fleet: Fleet, spec: Node) -> Amounts:
    """The pod's overhead: as written, otherwise its RuntimeClass's, where that is in the input."""
    if "overhead" not in spec and "runtimeClassName" not in spec:
        return {}
    written = spec.get("overhead")
    if written.__class__ is dict:
        return amounts(written)
    name = text(spec, "runtimeClassName")
    found = fleet.find("node.k8s.io", "RuntimeClass", None, name) if name else None
    overhead = found.manifest.get("overhead") if found else None
    return amounts(overhead.get("podFixed")) if isinstance(overhead, dict) else {}
