"""TrainJobs: the runtime they name, the numbers and variables they set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.checks.trainer_common import GROUP, SHIPPED, jobs, nodes_of, policy_of, runtimes, train_jobs
from trainshed.fleet.access import dig, mapping, mappings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import gpus
from trainshed.fleet.workload import Workload
from trainshed.naming_budgets import budget_trainjob, trainjob_name_errors, worst
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "trainer"


@rule("trainer-runtime-missing", severity="error", family=FAMILY, targets=("trainer",))
def runtime_missing(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob names a runtime that is not there, or not of that kind.

    Why: Without `kind` a runtimeRef means a ClusterTrainingRuntime; a TrainingRuntime is looked up in the TrainJob's
    own namespace. Trainer's webhook refuses the TrainJob when the runtime does not exist.
    Fix: Correct the name, or write the kind.
    """
    for workload, runtime in train_jobs(fleet):
        job = workload.document
        reference = mapping(job.manifest, "spec", "runtimeRef")
        name, kind = text(reference, "name"), text(reference, "kind") or "ClusterTrainingRuntime"
        if runtime is not None or not name or kind not in ("ClusterTrainingRuntime", "TrainingRuntime"):
            continue
        at: Path = ("spec", "runtimeRef")
        if (text(reference, "apiGroup") or GROUP) != GROUP or _unjudged(fleet, kind, workload.namespace, name):
            continue
        other = "TrainingRuntime" if kind == "ClusterTrainingRuntime" else "ClusterTrainingRuntime"
        defaulted = ", the default kind," if "kind" not in reference else ""
        missing = f'ClusterTrainingRuntime{defaulted} "{name}"' if kind.startswith("C") else f'TrainingRuntime "{name}"'
        twin = _named(fleet, other, workload.namespace, name)
        if twin is not None and name not in SHIPPED:
            message = f'runtimeRef means {missing}, which is not in the input; the {other} "{name}" is'
            related = (("the runtime of that name", twin, ("metadata", "name")),)
            yield Issue(job, at, message, f"write kind: {other}", None, related)
            continue
        if kind == "ClusterTrainingRuntime":
            if name not in SHIPPED and (near := near_miss(name, [*fleet.names(GROUP, kind), *SHIPPED])):
                message = f'ClusterTrainingRuntime "{name}" is not in the input'
                yield Issue(job, (*at, "name"), message, f'did you mean "{near}"?')
            elif name not in SHIPPED and "kind" not in reference:
                yield from _elsewhere(fleet, job, name)
            continue
        there = [item for item in fleet.of((GROUP, kind)) if fleet.namespaces.of(item) == workload.namespace]
        elsewhere = [item for item in fleet.of((GROUP, kind)) if item.name == name]
        near = near_miss(name, [item.name for item in there])
        if elsewhere or there:
            message = f'TrainingRuntime "{name}" is not in namespace {workload.namespace or "of the TrainJob"}'
            if elsewhere:
                message += f", but in {elsewhere[0].namespace}: TrainJobs use runtimes of their own namespace"
            fix = f'did you mean "{near}"?' if near else "add the runtime to the namespace, or name another"
            yield Issue(job, (*at, "name"), message, fix)


def _elsewhere(fleet: Fleet, job: Document, name: str) -> Iterator[Issue]:
    """A runtimeRef without kind whose only namesake is a TrainingRuntime of another namespace."""
    others = [item for item in fleet.of((GROUP, "TrainingRuntime")) if item.name == name and item.namespace]
    if others:
        message = f'runtimeRef means ClusterTrainingRuntime, the default kind, "{name}", which is not in the input; '
        message += f'the TrainingRuntime "{name}" is in namespace {others[0].namespace}: '
        message += "TrainJobs use runtimes of their own namespace"
        related = (("the runtime of that name", others[0], ("metadata", "name")),)
        fix = "add the runtime to the TrainJob's namespace and write kind: TrainingRuntime, or name another"
        yield Issue(job, ("spec", "runtimeRef", "name"), message, fix, None, related)


def _unjudged(fleet: Fleet, kind: str, namespace: str | None, name: str) -> bool:
    return (
        fleet.find(GROUP, kind, None if kind.startswith("C") else namespace, name) is not None
    )  # a template or a patch: it is there, and cannot be read


def _named(fleet: Fleet, kind: str, namespace: str | None, name: str) -> Document | None:
    if kind == "ClusterTrainingRuntime":
        return fleet.find(GROUP, kind, None, name)
    return fleet.namespaces.find(GROUP, kind, namespace, name)


@rule("trainer-reserved-variable", severity="error", family=FAMILY, targets=("trainer",))
def reserved_variable(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob sets a variable that Trainer sets itself.

    Why: Trainer's webhook refuses such TrainJobs. Which names are reserved depends on the runtime's policy: for torch
    PET_NNODES, PET_NPROC_PER_NODE, PET_NODE_RANK, PET_MASTER_ADDR and PET_MASTER_PORT.
    Fix: Use the field (numNodes, numProcPerNode), and remove the variable.
    """
    fields = {"PET_NNODES": "numNodes", "PET_NPROC_PER_NODE": "numProcPerNode", "DMLC_NUM_WORKER": "numNodes"}
    fields["OMPI_MCA_orte_set_default_slots"] = "numProcPerNode"
    for workload, runtime in train_jobs(fleet):
        name = text(workload.document.manifest, "spec", "runtimeRef", "name")
        policy = policy_of(runtime) if runtime else SHIPPED.get(name, "")
        reserved = _reserved(policy if policy or runtime else None)
        for index, variable in mappings(workload.document.manifest, "spec", "trainer", "env"):
            written = text(variable, "name")
            if written in reserved:
                field = fields.get(written)
                fix = f"use spec.trainer.{field} in its place" if field else "remove it"
                message = f"{written} is reserved: Trainer sets it from the runtime, and refuses the TrainJob"
                yield Issue(workload.document, ("spec", "trainer", "env", index, "name"), message, fix)


def _reserved(policy: str | None) -> set[str]:
    """The variables that Trainer sets itself under a policy; under any where it is not known."""
    from trainshed.api.trainer.trainjob import RESERVED_ENV  # with its models a tenth of the start

    return {name for one, names in RESERVED_ENV.items() if policy in (None, one) for name in names}


@rule("trainer-without-trainer", severity="error", family=FAMILY, targets=("trainer",))
def without_trainer(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob has no `spec.trainer`, so that its nodes are told nothing.

    Why: Trainer injects torchrun's PET_ variables only into TrainJobs that have `spec.trainer`, if only with numNodes.
    Without it each pod runs one process in a world of its own, and all report success.
    Fix: Write `trainer: {numNodes: …}`.
    """
    for workload, runtime in train_jobs(fleet):
        if runtime is None or policy_of(runtime) != "torch" or dig(workload.document.manifest, "spec", "trainer"):
            continue
        nodes = nodes_of(workload.document, runtime) or 1
        if nodes > 1 and "trainer" not in mapping(workload.document.manifest, "spec"):
            message = (
                f"there is no spec.trainer, so Trainer injects no PET_ variables: {nodes} pods train by themselves"
            )
            yield Issue(workload.document, ("spec",), message, f"add trainer: {{numNodes: {nodes}}}")
        elif nodes == 1 and (devices := _lone_process(fleet, workload)) and "trainer" not in workload.manifest["spec"]:
            message = "there is no spec.trainer, so Trainer injects no PET_NPROC_PER_NODE: torchrun starts one process "
            message += f"on {devices} GPUs"
            yield Issue(
                workload.document, ("spec",), message, f"add trainer: {{numNodes: 1, numProcPerNode: {devices}}}"
            )


def _lone_process(fleet: Fleet, workload: Workload) -> int:
    """The GPUs of a container in which torchrun is not told how many processes to start; 0 where there is none."""
    for run in fleet.runs:
        for member in run.torch if run.workload.document is workload.document else ():
            devices = gpus(member.container) or 0
            if devices > 1 and member.certain and member.launch.option("nproc-per-node") is None:
                return devices
    return 0


@rule("trainer-no-nodes", severity="error", family=FAMILY, targets=("trainer",))
def no_nodes(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob or a runtime has no nodes.

    Why: With numNodes 0 the JobSet completes at once and the TrainJob is Complete without having run (trainer#3805); a
    negative number is refused when the Job is made.
    Fix: Write 1 or more.
    """
    places: list[tuple[Document, Path]] = []
    for workload, _ in train_jobs(fleet):
        places += [(workload.document, ("spec", "trainer", field)) for field in ("numNodes", "numProcPerNode")]
    places += [(runtime, ("spec", "mlPolicy", "numNodes")) for runtime in runtimes(fleet)]
    for document, path in places:
        count = whole(document.manifest, *path)
        if count is not None and count < 1:
            what = "the TrainJob is complete without having run" if path[-1] == "numNodes" else "no process is started"
            yield Issue(document, path, f"{path[-1]} is {count}: {what}", "write 1 or more")


@rule("trainer-name-too-long", severity="error", family=FAMILY, targets=("trainer",))
def name_too_long(fleet: Fleet) -> Iterator[Issue]:
    """The pods of a TrainJob cannot be named.

    Why: Trainer makes a JobSet of the TrainJob's name. Its pods are `<trainjob>-<job>-0-<index>-<5 letters>`, at most
    63 characters: up to 48 for the TrainJob with at most 10 nodes, 33 with a dataset-initializer. The API server takes
    longer names; the JobSet is refused, which only an event tells (trainer#2351).
    Fix: Shorten the name.
    """
    for workload, runtime in train_jobs(fleet):
        job = workload.document
        if job.generated or not job.name or len(job.name) > 63:
            continue
        names: tuple[str, ...] = ("node",)
        claims: list[str] = []
        if runtime is not None:
            names = tuple(one.name for one in jobs(runtime) if one.name) or names
            spec = mapping(runtime.manifest, "spec", "template", "spec")
            for _, policy in mappings(spec, "volumeClaimPolicies"):
                claims += [text(item, "metadata", "name") for _, item in mappings(policy, "templates")]
        nodes, claims = nodes_of(job, runtime) or 1, [claim for claim in claims if claim]
        for error in worst(trainjob_name_errors(job.name, nodes, names, claims)):
            most = budget_trainjob(nodes, names, claims)
            fix = f"shorten the name to {most} characters" if 0 < most < len(job.name) else "correct the name"
            yield Issue(job, ("metadata", "name"), error, fix)
