"""Levels of a topology that are nearly a label which every node has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mappings, text
from trainshed.spelling import distance, misspelt

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: Labels that the kubelet and cloud providers set (kubernetes 1.36, `k8s.io/api/core/v1/well_known_labels.go`).
_WELL_KNOWN: Final = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
)


@rule("kueue-topology-level-misspelt", severity="error", family="kueue topology", targets=("kueue",))
def topology_level_misspelt(fleet: Fleet) -> Iterator[Issue]:
    """A level of a Topology is nearly a label that Kubernetes puts on every node.

    Why: Kueue takes only nodes that have the labels of all levels. No node has a misspelt one, so no pod that asks for
    the topology is ever placed. Levels can't be changed: the Topology has to be made anew.

    Fix: Write the label as nodes have it.
    """
    for topology in fleet.of(("kueue.x-k8s.io", "Topology"), ("kai.scheduler", "Topology")):
        for index, level in mappings(topology.manifest, "spec", "levels"):
            label = text(level, "nodeLabel")
            meant = next((known for known in _WELL_KNOWN if _nearly(label, known)), "")
            if meant and not any(label in machine.labels for machine in fleet.capacity.machines):
                message = f'level "{label}" is no label that nodes have, "{meant}" is one: no pod is placed by it'
                path = ("spec", "levels", index, "nodeLabel")
                yield Issue(topology, path, message, f'did you mean "{meant}"?')


def _nearly(label: str, known: str) -> bool:
    """Whether one of the two parts of a label differs by a slip, or the name's letters only by case."""
    domain, _, name = label.partition("/")
    known_domain, _, known_name = known.partition("/")
    if domain == known_domain:
        return misspelt(name, known_name)
    return name == known_name and len(domain) < 64 and distance(domain.lower(), known_domain) <= 2
