"""PyTorchJobs, MPIJobs and their relatives: what the training operators refuse, or run with idle GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import dig, mapping, mappings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import Member, Run, gpus
from trainshed.fleet.words import literal

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "kubeflow"
_GROUP: Final = "kubeflow.org"
#: Field of the replicas, replica types, and the container that the operator looks for.
_KINDS: Final[dict[str, tuple[str, tuple[str, ...], str]]] = {
    "PyTorchJob": ("pytorchReplicaSpecs", ("Master", "Worker"), "pytorch"),
    "TFJob": ("tfReplicaSpecs", ("Chief", "Master", "Evaluator", "PS", "Worker"), "tensorflow"),
    "XGBoostJob": ("xgbReplicaSpecs", ("Master", "Worker"), "xgboost"),
    "PaddleJob": ("paddleReplicaSpecs", ("Master", "Worker"), "paddle"),
    "JAXJob": ("jaxReplicaSpecs", ("Worker",), "jax"),
    "MPIJob": ("mpiReplicaSpecs", ("Launcher", "Worker"), ""),
}
#: Replica types of which there is one.
_ONE: Final = ("Master", "Launcher", "Chief")
_ENUMS: Final[dict[Path, tuple[str, ...]]] = {
    ("mpiImplementation",): ("OpenMPI", "Intel", "MPICH"),
    ("runPolicy", "cleanPodPolicy"): ("None", "Running", "All"),
    ("launcherCreationPolicy",): ("AtStartup", "WaitForWorkersReady"),
}
_COUNTED_OTHERWISE: Final = ("-N", "-npernode", "--npernode", "--map-by", "-host", "--host", "-H", "--oversubscribe")


def _jobs(fleet: Fleet) -> Iterator[tuple[Document, str, tuple[str, ...], str]]:
    """(job, field of its replicas, replica types, container's name)."""
    for kind, (field, types, container) in _KINDS.items():
        for document in fleet.of((_GROUP, kind)):
            if document.judged:
                yield document, field, types, container


@rule("kubeflow-replicas", severity="error", family=FAMILY)
def replicas(fleet: Fleet) -> Iterator[Issue]:
    """The replicas of a training operator's job are not those that the operator takes.

    Why: Each kind has its own replica types, with one Master or Launcher; an MPIJob needs a Launcher. The webhook
    refuses others, or the job fails at once.
    Fix: Write the types of the kind, and `replicas: 1` for Master and Launcher.
    """
    for document, field, types, _ in _jobs(fleet):
        at: Path = ("spec", field)
        if dig(document.manifest, *at) is None:
            near = nearest(field, [str(key) for key in mapping(document.manifest, "spec")])
            yield Issue(document, ("spec",), f"{field} is missing", (near and f"write {field}; {near}") or "add it")
            continue
        named = {text_.lower(): text_ for text_ in types}
        written = {str(key).lower(): key for key in mapping(document.manifest, *at)}
        for lower, key in written.items():
            if lower not in named:
                message = f'"{key}" is no replica type of a {document.kind}, which has {" and ".join(types)}'
                yield Issue(document, (*at, key), message, nearest(str(key), types) or f"write {types[-1]}")
            elif named[lower] in _ONE and (whole(document.manifest, *at, key, "replicas") or 1) != 1:
                message = f"{key} has more than one replica, and there is one rank 0"
                yield Issue(document, (*at, key, "replicas"), message, "write replicas: 1, and more Workers")
        if document.kind == "MPIJob" and written and "launcher" not in written:
            yield Issue(document, at, "an MPIJob has a Launcher, which starts mpirun", "add mpiReplicaSpecs.Launcher")


@rule("kubeflow-container-name", severity="error", family=FAMILY)
def container_name(fleet: Fleet) -> Iterator[Issue]:
    """No container of a replica has the name by which the operator finds it.

    Why: The training operator sets ranks, address and port in the container called `pytorch` (`tensorflow`, `jax` and
    so on) and refuses replicas without it.
    Fix: Call the training container by that name.
    """
    for document, field, _, wanted in _jobs(fleet):
        for key, replica in mapping(document.manifest, "spec", field).items() if wanted else ():
            found = mappings(replica, "template", "spec", "containers")
            names = [text(container, "name") for _, container in found]
            if found and wanted not in names:
                at = ("spec", field, key, "template", "spec", "containers", found[0][0], "name")
                message = f'no container of {key} is called "{wanted}", in which the operator sets ranks and address'
                yield Issue(document, at, message, f'call the training container "{wanted}"')


@rule("kubeflow-field-type", severity="error", family=FAMILY)
def field_type(fleet: Fleet) -> Iterator[Issue]:
    """A field of a training operator's job has a value of another type or spelling.

    Why: The CRDs take `nprocPerNode` as text ("8" or "auto"), `slotsPerWorker` as a number, and words as they are
    spelt.
    Fix: Write the value as the CRD wants it.
    """
    for document, _, _, _ in _jobs(fleet):
        spec = mapping(document.manifest, "spec")
        value: Any = spec.get("nprocPerNode")
        if document.kind == "PyTorchJob" and value is not None and not isinstance(value, str):
            yield Issue(document, ("spec", "nprocPerNode"), f"nprocPerNode is {value}, and must be text", "quote it")
        slots: Any = spec.get("slotsPerWorker")
        if slots is not None and (isinstance(slots, bool) or not isinstance(slots, int)):
            message = f"slotsPerWorker is {slots!r}, and must be a number"
            yield Issue(document, ("spec", "slotsPerWorker"), message, "write it without quotes")
        for path, words in _ENUMS.items():
            written = text(spec, *path)
            if written and written not in words:
                message = f'{path[-1]} is "{written}", and must be {", ".join(words[:-1])} or {words[-1]}'
                near = next((word for word in words if word.lower() == written.lower()), "")
                yield Issue(document, ("spec", *path), message, f"write {near}" if near else f"write {words[0]}")


@rule("kubeflow-mpi-slots", severity="error", family=FAMILY)
def mpi_slots(fleet: Fleet) -> Iterator[Issue]:
    """An MPIJob starts other than one process for each GPU.

    Why: mpirun has `slotsPerWorker` (1 by default) slots on each worker. With a larger `-np` it stops ("not enough
    slots available"); with fewer slots or processes than GPUs, GPUs idle.
    Fix: Write the workers' GPUs as slotsPerWorker, and -np as workers times slots, or leave -np out.
    """
    for run in fleet.runs:
        if run.workload.form != "mpi" or run.workload.document.group != _GROUP:
            continue
        manifest, document = run.workload.manifest, run.workload.document
        written = whole(manifest, "spec", "slotsPerWorker")
        slots = 1 if written is None else written
        workers = [item for item in run.workload.pod_sets if item.name == "worker"]
        if len(workers) != 1:
            continue
        (worker,) = workers
        devices = [count for _, container in worker.containers if (count := gpus(container))]
        if len(devices) == 1 and devices[0] != slots:
            severity: Severity | None = None if slots > devices[0] else "warning"
            message = f"slotsPerWorker is {slots}, and each worker has {devices[0]} GPUs"
            path = (*run.workload.path, "spec", "slotsPerWorker")
            yield Issue(document, path, message, f"write slotsPerWorker: {devices[0]}", severity)
            continue
        yield from _processes(run, slots, worker.count * slots)


def _processes(run: Run, slots: int, total: int) -> Iterator[Issue]:
    runs_too = dig(run.workload.manifest, "spec", "runLauncherAsWorker") is True
    for member in run.members if not runs_too else ():
        found = _np(member)
        if found is not None and found != total:
            severity: Severity | None = None if found > total else "warning"
            message = f"mpirun starts {found} processes, and the workers have {total} slots, {slots} each"
            yield issue(member.pod_set, member.launch.path, message, f"write -np {total}, or leave -np out", severity)


def _np(member: Member) -> int | None:
    """The number after -np of a certain mpirun that places processes by slots."""
    if member.launch.kind != "mpi" or not member.certain:
        return None
    words = [literal(word) or "" for word in member.launch.rest]
    options = words[: next((i for i, word in enumerate(words) if word.startswith("python")), len(words))]
    if any(word.startswith(_COUNTED_OTHERWISE) for word in options):
        return None
    for index, word in enumerate(options[:-1]):
        if word in ("-np", "-n", "--np", "-c"):
            number = options[index + 1]
            return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else None
    return None
