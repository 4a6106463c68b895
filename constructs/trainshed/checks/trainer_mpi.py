"""MPI runtimes: their slots, and the job of their workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.checks.trainer_common import JOBS, Job, jobs, policy_of, runtimes, train_jobs
from trainshed.fleet.access import mappings, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import gpus

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "trainer"


@rule("trainer-mpi-slots", severity="warning", family=FAMILY, targets=("trainer",))
def mpi_slots(fleet: Fleet) -> Iterator[Issue]:
    """An MPI runtime starts fewer processes on each node than it has GPUs.

    Why: MPI's slots come from `mlPolicy.mpi.numProcPerNode` (or the TrainJob's numProcPerNode), not from the GPUs: the
    others idle.
    Fix: Write the number of GPUs.
    """
    for runtime in runtimes(fleet):
        if policy_of(runtime) == "mpi":
            slots = whole(runtime.manifest, "spec", "mlPolicy", "mpi", "numProcPerNode")
            devices = max((_devices(job) for job in jobs(runtime)), default=0)
            at: Path = ("spec", "mlPolicy", "mpi", "numProcPerNode")
            if slots is not None and 0 < slots < devices:
                yield _slots(runtime, at, slots, devices)
    for workload, found in train_jobs(fleet):
        slots = whole(workload.document.manifest, "spec", "trainer", "numProcPerNode")
        if found is None or slots is None or policy_of(found) != "mpi":
            continue
        counts = [gpus(container) or 0 for item in workload.pod_sets for _, container in item.containers]
        if 0 < slots < max(counts, default=0):
            yield _slots(workload.document, ("spec", "trainer", "numProcPerNode"), slots, max(counts))


def _slots(document: Document, at: Path, slots: int, devices: int) -> Issue:
    message = f"numProcPerNode is {slots}, and the containers have {devices} GPUs: {devices - slots} idle"
    return Issue(document, at, message, f"write {devices}")


def _devices(job: Job) -> int:
    return max((gpus(container) or 0 for _, container in mappings(job.spec, "containers")), default=0)


@rule("trainer-mpi-node", severity="error", family=FAMILY, targets=("trainer",))
def mpi_node(fleet: Fleet) -> Iterator[Issue]:
    """An MPI runtime has no job called `node`, or none called `launcher`.

    Why: Trainer gives numNodes to the replicatedJob `node` and writes the hostfile from its pods; the job `launcher`
    gets the hostfile and the ssh key. Under another name they stay with what the runtime says.
    Fix: Call the workers' job `node`, and the one that runs mpirun `launcher`.
    """
    for runtime in runtimes(fleet):
        found = jobs(runtime)
        if policy_of(runtime) == "mpi" and found and not any(job.name == "node" for job in found):
            names = ", ".join(job.name for job in found)
            message = f'mpi needs a job called "node" for its workers, and here are {names}'
            yield Issue(runtime, JOBS, message, "call the workers' job node")
        elif policy_of(runtime) == "mpi" and found and not any(job.name == "launcher" for job in found):
            names = ", ".join(job.name for job in found)
            message = f'mpi needs a job called "launcher" that runs mpirun, and here is only {names}'
            yield Issue(runtime, JOBS, message, "add the job launcher")
