"""Parts of a TrainJob that name parts of its runtime: initializers, patches, torchtune's model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.rule import Issue, rule
from trainshed.checks.trainer_common import jobs, nodes_of, policy_of, train_jobs
from trainshed.faults import nearest
from trainshed.fleet.access import Node, dig, items, mapping, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "trainer"
_TUNED: Final = {"llama3.2": ("1b", "3b"), "llama3.3": ("70b",), "qwen2.5": ("1.5b",)}
_TUNE_ARGS: Final = ("output_dir", "tokenizer.path", "tokenizer.merges_file", "checkpointer.checkpoint_dir")


@rule("trainer-initializer", severity="error", family=FAMILY, targets=("trainer",))
def initializer(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob wants data that its runtime has no initializer for.

    Why: `spec.initializer.dataset` (model) goes to the job and container `dataset-initializer` (`model-initializer`) of
    the runtime, which must mount a volume called `initializer`. Trainer's webhook refuses the TrainJob otherwise.
    Fix: Use a runtime with that job, container and mount, or remove `spec.initializer`.
    """
    for workload, runtime in train_jobs(fleet):
        for part in ("dataset", "model") if runtime is not None else ():
            path: Path = ("spec", "initializer", part)
            if not isinstance(dig(workload.document.manifest, *path), dict) or runtime is None:
                continue
            if problem := _unready(runtime, f"{part}-initializer"):
                related = (("the runtime", runtime, ("spec", "template")),)
                fix = "use a runtime that has them, or remove it"
                yield Issue(
                    workload.document, path, f'{runtime.kind} "{runtime.name}" has {problem}', fix, None, related
                )


def _unready(runtime: Document, name: str) -> str:
    job = next((job for job in jobs(runtime) if job.name == name), None)
    if job is None:
        return f'no job called "{name}"'
    containers = [item for _, item in mappings(job.spec, "containers") if text(item, "name") == name]
    if not containers:
        return f'no container called "{name}" in its job "{name}"'
    mounts = [text(mount, "name") for _, mount in mappings(containers[0], "volumeMounts")]
    if "initializer" not in mounts:
        return f'no volumeMount called "initializer" in its container "{name}"'
    return ""


@rule("trainer-patch-target", severity="error", family=FAMILY, targets=("trainer",))
def patch_target(fleet: Fleet) -> Iterator[Issue]:
    """A patch of a TrainJob names a job or container that its runtime does not have.

    Why: Trainer's webhook refuses patches for jobs, containers and init containers that do not exist.
    Fix: Correct the name.
    """
    for workload, runtime in train_jobs(fleet):
        if runtime is None:
            continue
        known = {job.name: job.spec for job in jobs(runtime)}
        for number, _ in mappings(workload.document.manifest, "spec", "runtimePatches"):
            root: Path = ("spec", "runtimePatches", number, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
            for index, patch in mappings(workload.document.manifest, *root):
                at = (*root, index)
                name = text(patch, "name")
                if name and name not in known:
                    message = f'"{name}" is not a job of {runtime.kind} "{runtime.name}"'
                    fix = nearest(name, list(known)) or f"name one of {', '.join(known)}"
                    yield Issue(workload.document, (*at, "name"), message, fix)
                elif name:
                    yield from _containers(workload.document, runtime, patch, at, known[name])


def _containers(document: Document, runtime: Document, patch: Node, at: Path, spec: Node) -> Iterator[Issue]:
    for field in ("containers", "initContainers"):
        there = [text(item, "name") for _, item in mappings(spec, field)]
        root: Path = ("template", "spec", "template", "spec", field)
        for index, item in mappings(patch, *root):
            name = text(item, "name")
            if name and name not in there:
                what = "a container" if field == "containers" else "an init container"
                message = f'"{name}" is not {what} of {runtime.kind} "{runtime.name}"'
                fix = nearest(name, there) or (f"name one of {', '.join(there)}" if there else "remove it")
                yield Issue(document, (*at, *root, index, "name"), message, fix)


@rule("trainer-torchtune", severity="error", family=FAMILY, targets=("trainer",))
def torchtune(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob runs torchtune in a way that Trainer refuses.

    Why: With the command `[tune, run]` Trainer takes the model from the runtime's name, three parts joined by "-":
    torchtune-llama3.2-1b, -3b, torchtune-llama3.3-70b or torchtune-qwen2.5-1.5b. Only 70b runs on several nodes, and
    paths are Trainer's to set.
    Fix: Use a runtime of such a name; leave out the arguments that Trainer sets.
    """
    for workload, runtime in train_jobs(fleet):
        trainer = mapping(workload.document.manifest, "spec", "trainer")
        if trainer.get("command") != ["tune", "run"] or (runtime is not None and policy_of(runtime) != "torch"):
            continue
        name = text(workload.document.manifest, "spec", "runtimeRef", "name")
        parts = name.lower().split("-")
        sizes = _TUNED.get(parts[1], ()) if len(parts) == 3 else ()
        if not sizes or parts[2] not in sizes:
            message = f'[tune, run] takes the model from the runtime\'s name, and "{name}" names none that Trainer has'
            fix = "use a runtime called torchtune-<model>-<size>, such as torchtune-llama3.2-1b"
            yield Issue(workload.document, ("spec", "runtimeRef", "name"), message, fix)
        elif parts[2] != "70b" and (nodes_of(workload.document, runtime) or 1) > 1:
            message = f"{parts[1]} {parts[2]} runs on one node only"
            yield Issue(workload.document, ("spec", "trainer", "numNodes"), message, "write numNodes: 1")
        for index, argument in enumerate(items(trainer, "args")):
            if _own(argument):
                message = f"Trainer sets {str(argument).partition('=')[0]} itself"
                yield Issue(workload.document, ("spec", "trainer", "args", index), message, "remove the argument")


def _own(argument: Any) -> bool:
    return isinstance(argument, str) and argument.partition("=")[0] in _TUNE_ARGS
