"""Trainer's podGroupPolicy: gangs that Trainer makes for the pods of a runtime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, dig, mapping, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "gang scheduling"
_POLICY: Final[Path] = ("spec", "podGroupPolicy")
_SOURCES: Final = ("coscheduling", "volcano")


def _runtimes(fleet: Fleet) -> Iterator[tuple[Document, Node, list[str]]]:
    """(runtime, podGroupPolicy, its sources) of runtimes that have one."""
    for kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
        for runtime in fleet.of(("trainer.kubeflow.org", kind)):
            policy = mapping(runtime.manifest, *_POLICY)
            sources = [source for source in _SOURCES if isinstance(policy.get(source), dict)]
            if sources:
                yield runtime, policy, sources


@rule("trainer-gang-two-sources", severity="error", family=_FAMILY, targets=("trainer", "volcano"))
def two_sources(fleet: Fleet) -> Iterator[Issue]:
    """A runtime's podGroupPolicy names both Coscheduling and Volcano.

    Why: Nothing forbids it, and Trainer makes two PodGroups; each scheduler waits for pods of the other.
    Fix: Keep the one whose scheduler places the pods.
    Bad:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainingRuntime
        metadata: {name: torch, namespace: team-a}
        spec:
          mlPolicy: {numNodes: 2, torch: {}}
          podGroupPolicy: {coscheduling: {}, volcano: {networkTopology: {highestTierAllowed: 2}}}
          template: {spec: {replicatedJobs: []}}
    Good:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainingRuntime
        metadata: {name: torch, namespace: team-a}
        spec:
          mlPolicy: {numNodes: 2, torch: {}}
          podGroupPolicy: {volcano: {networkTopology: {highestTierAllowed: 2}}}
          template: {spec: {replicatedJobs: []}}
    """
    for runtime, _, sources in _runtimes(fleet):
        if len(sources) > 1:
            message = f"podGroupPolicy names {' and '.join(sources)}: Trainer makes two PodGroups"
            yield Issue(runtime, _POLICY, message, "keep the one whose scheduler places the pods")


@rule("trainer-gang-topology", severity="warning", family=_FAMILY, targets=("trainer", "volcano"))
def gang_topology(fleet: Fleet) -> Iterator[Issue]:
    """A runtime's `networkTopology` leaves out its tier.

    Why: Trainer's defaults are mode hard and highestTierAllowed 1: `networkTopology: {}` demands that all pods fit
    under one HyperNode of the lowest tier, which a larger run never does.
    Fix: Write highestTierAllowed, or leave networkTopology out.
    Bad:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainingRuntime
        metadata: {name: torch, namespace: team-a}
        spec:
          mlPolicy: {numNodes: 2, torch: {}}
          podGroupPolicy: {volcano: {networkTopology: {}}}
          template: {spec: {replicatedJobs: []}}
    Good:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainingRuntime
        metadata: {name: torch, namespace: team-a}
        spec:
          mlPolicy: {numNodes: 2, torch: {}}
          podGroupPolicy: {volcano: {networkTopology: {mode: hard, highestTierAllowed: 2}}}
          template: {spec: {replicatedJobs: []}}
    """
    for runtime, policy, _ in _runtimes(fleet):
        topology = dig(policy, "volcano", "networkTopology")
        hard = isinstance(topology, dict) and text(topology, "mode") in ("", "hard")
        if isinstance(topology, dict) and hard and topology.get("highestTierAllowed") is None:
            message = "networkTopology without a tier means hard and highestTierAllowed 1"
            yield Issue(runtime, (*_POLICY, "volcano", "networkTopology"), message, "write highestTierAllowed")
