"""Every pod template of a fleet once, for rules that judge pods whatever makes them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from trainshed.checks.rule import Issue
from trainshed.fleet.access import Node
from trainshed.fleet.finding import Severity
from trainshed.fleet.once import once
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


@once
def pod_sets(fleet: Fleet) -> list[tuple[Workload, PodSet]]:
    """(workload, pod set) for each pod template that is written in the input; one that several workloads share, such as
    a runtime's, comes once."""
    found: dict[tuple[int, Path], tuple[Workload, PodSet]] = {}
    for workload in chain(fleet.workloads, fleet.templates):
        for pod_set in workload.pod_sets:
            found.setdefault((id(pod_set.document), pod_set.path), (workload, pod_set))
    return list(found.values())


def containers(pod_set: PodSet) -> list[tuple[Path, Node]]:
    """(path in the template, container) of init and regular containers."""
    return pod_set.init_containers + pod_set.containers


def issue(pod_set: PodSet, path: Path, message: str, fix: str = "", severity: Severity | None = None) -> Issue:
    """An issue on a field of a pod template, at the document and line where that field is written."""
    document, written = pod_set.at(path)
    return Issue(document, written, message, fix, severity)


def named(container: Node) -> str:
    """How messages name a container: `container "node"`."""
    name: Any = container.get("name")
    return f'container "{name}"' if isinstance(name, str) and name else "a container without a name"
