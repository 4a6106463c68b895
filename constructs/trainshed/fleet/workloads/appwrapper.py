"""AppWrapper: any objects in one envelope, admitted together (workload.codeflare.dev/v1beta2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from trainshed.fleet.access import Node, mapping, mappings, text
from trainshed.fleet.paths import Path, parse_path
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.workloads.at import At, counted

#: Envelopes in envelopes are allowed; nobody nests them deeper than this.
_DEEPEST: Final = 30


def app_wrapper(kinds: Mapping[tuple[str, str], Callable[[At], Workload]]) -> Callable[[At], Workload]:
    """The function for AppWrappers, which reads the components of these `kinds`. Of other kinds the pod sets are known
    as far as the component lists them. Kueue reads the labels of the AppWrapper; those of components count for
    nothing."""

    def read(at: At) -> Workload:
        parts: list[Workload] = []
        others: list[PodSet] = []
        if len(at.path) <= _DEEPEST:
            for index, component in mappings(at.manifest, "spec", "components"):
                inner = at.inside("spec", "components", index, "template")
                group = text(inner.manifest, "apiVersion").rpartition("/")[0]
                make = kinds.get((group, text(inner.manifest, "kind")))
                if make is not None:
                    parts.append(make(inner))
                else:
                    others += _listed(at, index, component)
        pod_sets = [_named(part, pod_set) for part in parts for pod_set in part.pod_sets]
        known = all(part.parts_known for part in parts)
        return at.workload("AppWrapper", pod_sets + others, parts=parts, parts_known=known)

    return read


def _named(part: Workload, pod_set: PodSet) -> PodSet:
    """Pod sets of several components may have one name; the component's goes before it."""
    name = text(part.manifest, "metadata", "name")
    if name:
        pod_set.name = f"{name}/{pod_set.name}"
    return pod_set


def _listed(at: At, index: int, component: Node) -> list[PodSet]:
    """The `podSets` of a component whose kind is not known; `path` leads from the component to a pod template."""
    found: list[PodSet] = []
    root: Path = ("spec", "components", index)
    for number, listed in mappings(component, "podSets"):
        path = parse_path(text(listed, "path").lstrip("."))
        name = text(mapping(component, "template"), "metadata", "name") or f"component{index}"
        count = counted(listed, "replicas")
        place: Path = (*root, "podSets", number, "replicas")
        if path:
            found.append(at.pod_set(f"{name}/{number}", count, *root, *path, count_path=place))
    return found
