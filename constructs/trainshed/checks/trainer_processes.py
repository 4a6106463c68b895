"""How many processes Trainer starts for a TrainJob that does not say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.checks.trainer_common import policy_of, train_jobs
from trainshed.fleet.access import Node, mapping, whole
from trainshed.fleet.amounts import amounts
from trainshed.fleet.runs import gpus
from trainshed.fleet.workload import Workload
from trainshed.fleet.workloads.trainjob_policy import processes

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "trainer"
_OF_GPUS: Final = ("gpumem", "gpucores", "gpu-memory", "gpu-core", "gpu-percent")


@rule("trainer-processes", severity="warning", family=FAMILY, targets=("trainer",))
def derived_processes(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob starts a number of processes that is not that of its accelerators.

    Why: Without numProcPerNode Trainer looks for a resource with "gpu" in its name in the TrainJob's resourcesPerNode
    alone, if that is written, otherwise in the runtime; without one it takes the number of CPUs, or 1 (trainer#3974).
    The GPUs of the runtime, MIG slices, TPUs and the like do not count; memory and cores of a shared GPU do.
    Fix: Set `spec.trainer.numProcPerNode`, and give all resources in one place.
    """
    told = _told(fleet)
    for workload, runtime in train_jobs(fleet):
        trainer = mapping(workload.document.manifest, "spec", "trainer")
        if runtime is None or policy_of(runtime) != "torch" or not trainer:
            continue
        container = _node(workload)
        if container is None or whole(trainer, "numProcPerNode") is not None or id(workload) in told:
            continue
        written = mapping(trainer, "resourcesPerNode")
        count = processes(trainer, written or mapping(container, "resources"))
        devices = gpus(container)
        shared = [name for name in amounts(mapping(container, "resources", "limits")) if _shared(name)]
        if shared:
            message = f'Trainer may take the amount of "{shared[0]}" for the number of processes'
            yield Issue(workload.document, ("spec", "trainer"), message, "set numProcPerNode")
        elif devices and devices > 1 and count.isdigit() and int(count) != devices:
            more = int(count) > devices
            what = "more than there are devices" if more else f"{devices - int(count)} devices idle"
            source = "resourcesPerNode names none of them" if written else "their name has no gpu in it"
            message = (
                f"each node starts {count} process{'es' if count != '1' else ''} for {devices} accelerators: {source}, "
            )
            at = ("spec", "trainer", "resourcesPerNode") if written else ("spec", "trainer")
            fix = f"set numProcPerNode: {devices}"
            yield Issue(workload.document, at, message + what, fix, "error" if more else None)


def _shared(name: str) -> bool:
    return any(mark in name.lower() for mark in _OF_GPUS)


def _node(workload: Workload) -> Node | None:
    for pod_set in workload.pod_sets:
        if pod_set.name == "node":
            for _, container in pod_set.containers:
                if container.get("name") == "node":
                    return container
    return None


def _told(fleet: Fleet) -> set[int]:
    """The workloads whose torchrun is told the number on its command line."""
    return {
        id(run.workload) for run in fleet.runs for member in run.members if "nproc-per-node" in member.launch.options
    }


@rule("trainer-no-accelerators", severity="info", family=FAMILY, targets=("trainer",))
def no_accelerators(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob with the torch policy requests no accelerator, neither itself nor through its runtime.

    Why: The runtimes that Trainer ships request nothing: without resourcesPerNode the pods get no GPU and run one
    process each (trainer#2363).
    Fix: Set `spec.trainer.resourcesPerNode`, unless the run is for CPUs.
    """
    for workload, runtime in train_jobs(fleet):
        reference = mapping(workload.document.manifest, "spec", "runtimeRef")
        shipped = runtime is None and reference.get("name") == "torch-distributed"
        if not shipped and (runtime is None or policy_of(runtime) != "torch"):
            continue
        if mapping(workload.document.manifest, "spec", "trainer", "resourcesPerNode"):
            continue
        container = _node(workload)
        if container is not None and gpus(container) == 0:
            message = f"neither the TrainJob nor the runtime {reference.get('name')} requests an accelerator"
            path = ("spec", "trainer") if workload.document.has(("spec", "trainer")) else ("spec",)
            yield Issue(workload.document, path, message, "set spec.trainer.resourcesPerNode")
