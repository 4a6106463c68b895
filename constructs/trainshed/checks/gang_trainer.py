"""Trainer's podGroupPolicy: gangs that Trainer makes for the pods of a runtime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, dig, items, mapping, mappings, text
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
    """
    for runtime, policy, _ in _runtimes(fleet):
        topology = dig(policy, "volcano", "networkTopology")
        hard = isinstance(topology, dict) and text(topology, "mode") in ("", "hard")
        if isinstance(topology, dict) and hard and topology.get("highestTierAllowed") is None:
            message = "networkTopology without a tier means hard and highestTierAllowed 1"
            yield Issue(runtime, (*_POLICY, "volcano", "networkTopology"), message, "write highestTierAllowed")


def _jobs(runtime: Document) -> Iterator[tuple[Path, Node]]:
    """(path, replicated job) of a runtime."""
    path: Path = ("spec", "template", "spec", "replicatedJobs")
    for index, job in mappings(runtime.manifest, *path):
        yield (*path, index), job


@rule("trainer-gang-scheduler-name", severity="error", family=_FAMILY, targets=("trainer", "volcano"))
def gang_scheduler_name(fleet: Fleet) -> Iterator[Issue]:
    """A runtime's podGroupPolicy makes PodGroups, and the pods go to another scheduler.

    Why: Trainer makes the PodGroup and marks the pods, but does not write schedulerName, and TrainJobs cannot set it.
    The default scheduler then places the pods one by one, and the PodGroup waits for ever.
    Fix: Write schedulerName in the pod template of each replicated job of the runtime.
    """
    for runtime, _, sources in _runtimes(fleet):
        if len(sources) != 1:
            continue
        (source,) = sources
        for path, job in _jobs(runtime):
            name = text(job, "template", "spec", "template", "spec", "schedulerName")
            if name == "volcano" or (name and source != "volcano"):
                continue
            has = f'is "{name}"' if name else "is unset"
            message = f'"{text(job, "name")}": schedulerName {has}, while podGroupPolicy makes a PodGroup for {source}'
            wanted = "volcano" if source == "volcano" else "the one whose profile has Coscheduling"
            where: Path = (*path, "template", "spec", "template", "spec", "schedulerName")
            fix = f"write schedulerName: {wanted} in the pod template"
            yield Issue(runtime, where, message, fix, None, (("the policy", runtime, _POLICY),))


@rule("trainer-gang-waits-for-itself", severity="error", family=_FAMILY, targets=("trainer", "volcano"))
def gang_waits_for_itself(fleet: Fleet) -> Iterator[Issue]:
    """A runtime's gang counts pods that are made only after others of the gang have ended.

    Why: The PodGroup's minMember counts the pods of all replicated jobs, initializers among them. The initializer is
    not started before the gang is complete, and the trainers are not made before it has ended: nothing starts.
    Fix: Leave podGroupPolicy out, or prepare the data elsewhere: in a claim, or in an init container of the trainer.
    """
    for runtime, _, _ in _runtimes(fleet):
        for path, job in _jobs(runtime):
            waits = [text(item, "name") for item in items(job, "dependsOn") if isinstance(item, dict)]
            if waits:
                message = (
                    f'the gang counts the pods of "{waits[0]}" and of "{text(job, "name")}", and the latter start only '
                    f"after the former (dependsOn): minMember is never reached"
                )
                fix = "leave podGroupPolicy out, or prepare the data before the run"
                yield Issue(
                    runtime, _POLICY, message, fix, None, (("what starts later", runtime, (*path, "dependsOn")),)
                )
