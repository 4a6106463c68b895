"""Every workload as a run: which containers start training processes, and how many pods make one world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from trainshed.fleet.access import Node, dig, mapping, text
from trainshed.fleet.amounts import amounts
from trainshed.fleet.commands import Box, box_of, launches
from trainshed.fleet.launchers import Launch
from trainshed.fleet.paths import Path
from trainshed.fleet.words import literal, number
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: Kinds whose pods find each other and count as one world.
WORLDS: Final = frozenset({"Job", "JobSet", "LeaderWorkerSet", "StatefulSet", "pytorch", "jax", "mpi"})
_DEVICES: Final = ("nvidia.com/mig-", "habana.ai/gaudi", "google.com/tpu", "huawei.com/Ascend", "aws.amazon.com/neuron")
#: Resources of GPU sharing: with them the number of devices says little.
_SHARED: Final = ("gpumem", "gpucores", "gpu-memory", "gpu.shared", "vgpu", "gpu-core", "gpu-percent")


@dataclass
class Member:
    """A command of one container, and the pod set that has it. `path` is the container's in the template."""

    workload: Workload
    pod_set: PodSet
    path: Path
    container: Node
    launch: Launch

    @cached_property
    def nodes(self) -> tuple[int, int] | None:
        """torchrun's node count as (least, most); None where it is not known. Without one it is 1."""
        option = self.launch.option("nnodes")
        if option is None:
            return None if self.launch.opaque or not self.launch.environment.complete else (1, 1)
        text_ = literal(option.word)
        if text_ is None:
            return None
        least, _, most = text_.partition(":")
        low, high = number((least,)), number((most or least,))
        return (low, high) if low is not None and high is not None else None

    @cached_property
    def backend(self) -> str | None:
        """torchrun's rendezvous backend; None where it is not known."""
        if "standalone" in self.launch.options or self.launch.option("standalone"):
            return "standalone"
        option = self.launch.option("rdzv-backend")
        if option is None:
            return None if self.launch.opaque else "static"
        return literal(option.word)

    @property
    def certain(self) -> bool:
        """Whether this command surely runs with just these options."""
        return not (self.launch.conditional or self.launch.opaque) and self.launch.environment.complete


@dataclass
class Run:
    """A workload (a part of one, for an AppWrapper), its regular containers and what they start. `named` is False for
    runtimes and templates, of which runs of any name are made."""

    workload: Workload
    members: list[Member] = field(default_factory=list)
    named: bool = True
    boxes: list[Box] = field(default_factory=list)

    @property
    def torch(self) -> list[Member]:
        """The members that start torchrun."""
        return [member for member in self.members if member.launch.kind == "torchrun"]

    @cached_property
    def worlds(self) -> set[int]:
        """How many pods one world may have; empty where the kind does not tell. Replicas of a replicatedJob, groups of
        a LeaderWorkerSet may be one world each; pod sets whose command only the image knows may belong to it."""
        if self.workload.form not in WORLDS and len(self.workload.members) < 2:
            return set()
        pod_sets = {id(member.pod_set): member.pod_set for member in self.torch}.values()
        launching = sum(pod_set.count for pod_set in pod_sets)
        counts = {launching, self.workload.pods}
        for pod_set in pod_sets:
            if pod_set.replicas > 1 and self.workload.units == 1:
                counts |= {pod_set.count, pod_set.count // pod_set.replicas}
        if self.workload.units > 1:
            counts = {count // self.workload.units for count in counts}
        subgroup = dig(self.workload.manifest, "spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
        if isinstance(subgroup, int):
            counts.add(subgroup)
        return counts

    @property
    def pods(self) -> int:
        """How many pods the whole run has, or one group of a LeaderWorkerSet."""
        return self.workload.pods // max(self.workload.units, 1)

    @property
    def spread(self) -> bool:
        """Whether it has several pods that make one world."""
        return self.workload.form in WORLDS and self.pods > 1


def runs_of(fleet: Fleet) -> Iterator[Run]:
    """The runs of a fleet: workloads, then runtimes and templates that nothing uses."""
    for workload in fleet.workloads:
        for part in parts_of(workload):
            yield _run(fleet, part, named=True)
    for workload in fleet.templates:
        yield _run(fleet, workload, named=False)


def parts_of(workload: Workload) -> Iterator[Workload]:
    """The workload, or what an AppWrapper or a JobFlow is made of."""
    if not workload.parts:
        yield workload
    for part in workload.parts:
        if part.namespace is None:
            part.namespace = text(part.manifest, "metadata", "namespace") or workload.namespace
        yield from parts_of(part)


def _run(fleet: Fleet, workload: Workload, *, named: bool) -> Run:
    run = Run(workload, named=named)
    for pod_set in workload.pod_sets:
        for path, container in pod_set.containers:
            box = box_of(fleet, workload, pod_set, path, container)
            run.boxes.append(box)
            for launch in launches(fleet, workload, box):
                run.members.append(Member(workload, pod_set, path, container, launch))
    return run


def is_device(resource: str) -> bool:
    """Whether a resource counts accelerators."""
    return resource.endswith("/gpu") or resource.startswith(_DEVICES)


def gpus(container: Node) -> int | None:
    """How many accelerators a container gets; None where that is not clear: shares of one, claims of DRA."""
    resources = mapping(container, "resources")
    if resources.get("claims"):
        return None
    found: dict[str, int] = {}
    for field_ in ("requests", "limits"):
        for name, amount in amounts(resources.get(field_)).items():
            if any(mark in name for mark in _SHARED):
                return None
            if is_device(name):
                found[name] = int(amount.value)
    return sum(found.values())


def on_tpu(container: Node) -> bool:
    """Whether its accelerators are TPU chips: one process, with no NCCL, may drive all of them."""
    fields = ("requests", "limits")
    return any("google.com/tpu" in mapping(container, "resources", field_) for field_ in fields)


def gpu_path(container: Node, path: Path) -> Path:
    """Where the number of accelerators is written."""
    for field_ in ("limits", "requests"):
        for name in mapping(container, "resources", field_):
            if isinstance(name, str) and is_device(name):
                return (*path, "resources", field_, name)
    return (*path, "resources")


def indexed(member: Member) -> bool | None:
    """Whether the pods have completion indexes; None for kinds without them."""
    if not member.pod_set.job:
        return None
    mode = member.pod_set.job.get("completionMode")
    return mode == "Indexed" or (mode is None and member.workload.form == "JobSet")


def grace_period(pod_set: PodSet) -> int | None:
    """terminationGracePeriodSeconds as written."""
    value = dig(pod_set.spec, "terminationGracePeriodSeconds")
    return value if isinstance(value, int) and not isinstance(value, bool) else None
