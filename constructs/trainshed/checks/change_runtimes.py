"""Changes to runtimes that TrainJobs were made from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.change_immutable import changed_pairs
from trainshed.checks.differences import first_difference, shown
from trainshed.checks.kueue_versions import trainer_release
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text
from trainshed.fleet.document import Document, Identity
from trainshed.fleet.paths import show_path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "changes"
_GROUP: Final = "trainer.kubeflow.org"
_KINDS: Final = ("TrainingRuntime", "ClusterTrainingRuntime")


@rule("change-edited-runtime", severity="warning", family=FAMILY, targets=("trainer",), baseline=True)
def edited_runtime(fleet: Fleet) -> Iterator[Issue]:
    """The change edits a runtime that TrainJobs were made from.

    Why: Trainer builds a TrainJob's JobSet from the runtime. Before 2.3 it does so again when the TrainJob is suspended
    or resumed, and the JobSet refuses what is immutable: the TrainJob hangs there. From 2.3 on a TrainJob keeps the
    runtime as it was (a ConfigMap `NAME-runtime-snapshot`): a note that the change reaches new ones only, while Kueue
    counts those that are there by the new one.
    Fix: Give the changed runtime a new name (a hash of its spec in it), and let new TrainJobs name that.
    """
    if fleet.baseline is None:
        return
    edited = {
        after.identity: (before, after)
        for before, after in changed_pairs(fleet)
        if after.group == _GROUP and after.kind in _KINDS
    }
    keeps = trainer_release(fleet) >= (2, 3)
    told: set[Identity] = set()
    for job in fleet.of((_GROUP, "TrainJob")) if edited else ():
        if not job.name or fleet.baseline.find(_GROUP, "TrainJob", job.namespace, job.name) is None:
            continue
        found = edited.get(_runtime(fleet, job))
        if found is None or found[1].identity in told:
            continue
        told.add(found[1].identity)
        yield from _issue(job, *found, keeps=keeps)


def _runtime(fleet: Fleet, job: Document) -> Identity:
    kind = text(job.manifest, "spec", "runtimeRef", "kind") or "ClusterTrainingRuntime"
    namespace = (fleet.namespaces.of(job) or "") if kind == "TrainingRuntime" else ""
    return _GROUP, kind, namespace, text(job.manifest, "spec", "runtimeRef", "name")


def _issue(job: Document, before: Document, after: Document, *, keeps: bool) -> Iterator[Issue]:
    difference = first_difference(before.manifest.get("spec"), after.manifest.get("spec"), ("spec",))
    if difference is None:
        return
    path, was, now = difference
    message = f'{show_path(path)} of {after.kind} "{after.name}" changes from {shown(was)} to {shown(now)}: TrainJob '
    message += f'"{job.name}", which was made from it, '
    message += "keeps what it has" if keeps else "hangs when it is suspended or resumed, because its JobSet is fixed"
    fix = "give the changed runtime a new name, and let new TrainJobs name that"
    related = ((f"TrainJob {job.name}", job, ("spec", "runtimeRef", "name")), ("before", before, path))
    yield Issue(after, path, message, fix, "info" if keeps else None, related)
