"""The size of torchrun's world against the pods and GPUs that there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue, named
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping
from trainshed.fleet.addresses import address_of, host_text, is_local
from trainshed.fleet.finding import Severity
from trainshed.fleet.launchers import Option
from trainshed.fleet.runs import Member, Run, gpu_path, gpus, on_tpu
from trainshed.fleet.words import literal, number, shown

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "torchrun"


def counted(run: Run, member: Member) -> str:
    """The pods of a run and the field that says how many: `parallelism is 2`."""
    form, pod_set = run.workload.form, member.pod_set
    if run.workload.kind == "TrainJob":
        return f"numNodes is {pod_set.count}"
    if form == "LeaderWorkerSet":
        return f"size is {run.pods}"
    if pod_set.job:
        field = str(pod_set.count_at[1][-1]) if pod_set.count_at else "parallelism"
        if pod_set.replicas > 1:
            return f"replicas times parallelism is {pod_set.count}"
        total = f"{field} is {pod_set.count // max(pod_set.replicas, 1)}"
        return total if run.pods == pod_set.count else f"{total} of {run.pods} pods in all"
    return f"the run has {run.pods} pods" if form != "StatefulSet" else f"replicas is {run.pods}"


@rule("torchrun-nodes", severity="error", family=FAMILY)
def nodes(fleet: Fleet) -> Iterator[Issue]:
    """torchrun's node count is not the number of pods.

    Why: With more nodes than pods the rendezvous waits for pods that never come, and fails after 10 minutes. With
    fewer, the pods that come last are refused. An elastic range (`2:4`) may have as many pods as lie in it. Replicas of
    a replicatedJob that all go to one address make one world, not one each.
    Fix: Write one number in both places.
    """
    together = _together(fleet)
    for run in fleet.runs:
        for member in run.members if run.named and run.worlds else ():
            option = member.launch.option("nnodes")
            if member.launch.kind not in ("torchrun", "accelerate") or option is None or member.nodes is None:
                continue
            if member.backend == "standalone" or not member.pod_set.count:
                continue
            low, high = member.nodes
            shared = together.get(_meeting_place(run, member) or ("", ""), 0)
            if high < 2 or any(low <= count <= high for count in (*_possible(run, member), shared)):
                continue
            shown_nodes = shown(option.word)
            message = f"{option.label} is {shown_nodes}, and {counted(run, member)}"
            if run.pods < low:
                message += f": the nodes wait for {low - run.pods} more"
            fix = f"write {run.pods} in both places, or as many pods as there are nodes"
            yield issue(member.pod_set, option.path, message, fix)


def _possible(run: Run, member: Member) -> set[int]:
    """The sizes that the member's world may have. Replicas of a replicatedJob are a world each only where each goes to
    an address of its own: one that is written out is the same in all of them."""
    replicas = member.pod_set.replicas
    address = address_of(member.launch, member.backend)
    host = host_text(address) if address is not None else ""
    if run.workload.form != "JobSet" or replicas < 2 or not host or is_local(host):
        return run.worlds
    together = {member.pod_set.count, run.workload.pods, sum(item.pod_set.count for item in run.torch)}
    return together if member.certain else run.worlds


def _together(fleet: Fleet) -> dict[tuple[str, str], int]:
    """How many pods meet at one address: those of a replicatedJob with a world of its own, or of several workloads, a
    master's Job and its workers'."""
    pods: dict[tuple[str, str], dict[int, int]] = {}
    for run in fleet.runs:
        for member in run.torch if run.named else ():
            if place := _meeting_place(run, member):
                pods.setdefault(place, {})[id(member.pod_set)] = member.pod_set.count
    return {place: sum(counts.values()) for place, counts in pods.items()}


def _meeting_place(run: Run, member: Member) -> tuple[str, str] | None:
    """(namespace, host) where a command meets others."""
    address = address_of(member.launch, member.backend)
    host = host_text(address) if address else ""
    return (run.workload.namespace or "", host) if host and not is_local(host) else None


@rule("torchrun-nodes-missing", severity="warning", family=FAMILY)
def nodes_missing(fleet: Fleet) -> Iterator[Issue]:
    """Several pods are to meet, and torchrun is told of one node.

    Why: Without `--nnodes` (or PET_NNODES) torchrun has one node, whatever the address and the number of pods: each pod
    trains by itself, with a world of its own processes, and reports success.
    Fix: Add `--nnodes` and each node's rank.
    """
    for run in fleet.runs:
        for member in run.torch if run.named and run.spread else ():
            if member.nodes != (1, 1) or not member.certain or member.backend == "standalone":
                continue
            address = address_of(member.launch, member.backend)
            rank = member.launch.option("node-rank")
            ranked = rank is not None and literal(rank.word) is None
            if not ranked and (address is None or not host_text(address) or is_local(host_text(address))):
                continue
            option = member.launch.option("nnodes")
            path = option.path if option else member.launch.path
            what = f"{option.label} is 1" if option else "there is no --nnodes, so it is 1"
            told = "have ranks" if ranked else f"meet at {host_text(address) if address else ''}"
            message = f"{what}, and the {run.pods} pods {told}: each of them trains by itself"
            severity: Severity | None = "error" if ranked else None
            yield issue(member.pod_set, path, message, f"write --nnodes={run.pods}", severity)


@rule("torchrun-processes", severity="error", family=FAMILY)
def processes(fleet: Fleet) -> Iterator[Issue]:
    """torchrun starts more or fewer processes than the container has GPUs.

    Why: Each process takes the GPU of its local rank. With more processes than GPUs some stop with "invalid device
    ordinal" while the others wait for them; with fewer, GPUs idle and nobody notices. Without `--nproc-per-node` (or
    PET_NPROC_PER_NODE) there is one process.
    Fix: Write the number of GPUs, or `gpu`.
    """
    for run in fleet.runs:
        for member in run.torch:
            option = member.launch.option("nproc-per-node")
            if run.workload.kind == "TrainJob" and not _own(member, option):
                continue
            injected = run.workload.kind in (
                "TrainingRuntime",
                "ClusterTrainingRuntime",
            )  # by Trainer, in each TrainJob
            devices = gpus(member.container)
            if devices is None or on_tpu(member.container) or (option is None and (injected or not member.certain)):
                continue
            yield from _compared(member, option, devices)


def _own(member: Member, option: Option | None) -> bool:
    """Whether a person wrote the number of processes of a TrainJob; otherwise Trainer derives it."""
    trainer = mapping(member.workload.document.manifest, "spec", "trainer")
    return "nproc-per-node" in member.launch.options or (
        option is not None and trainer.get("numProcPerNode") is not None
    )


def _compared(member: Member, option: Option | None, devices: int) -> Iterator[Issue]:
    text = literal(option.word) if option else "1"
    where = f"{named(member.container)} has {devices} GPU{'s' if devices != 1 else ''}"
    label, path = (option.label, option.path) if option else ("--nproc-per-node", member.launch.path)
    if text == "gpu" and devices == 0 and option and mapping(member.container, "resources", "limits"):
        message = f"{label} is gpu, and {named(member.container)} requests none: torchrun stops"
        yield issue(member.pod_set, path, message, "request GPUs, or write --nproc-per-node=cpu", "warning")
        return
    count = number((text,)) if text else None
    if count is None or count == devices or not devices:
        return
    document, at = member.pod_set.at(gpu_path(member.container, member.path))
    found = f"is {count}" if option else "is not written, so there is 1 process"
    related = (("the GPUs", document, at),)
    written, place = member.pod_set.at(path)
    if count > devices:
        message = f"{label} {found}, and {where}: {count - devices} of the processes find no device"
        yield Issue(written, place, message, f"write {devices}, or request {count} GPUs", None, related)
    else:
        message = f"{label} {found}, and {where}: {devices - count} idle"
        yield Issue(written, place, message, f"write --nproc-per-node={devices}", "warning", related)
