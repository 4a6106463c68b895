"""Objects that need another one to be there when they are made, and do not recover when it comes later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import FAMILY, WAVE, folder, is_hook, wave
from trainshed.checks.argocd_order import placed
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_tree import KUEUE
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_WAVE: Final[Path] = ("metadata", "annotations", WAVE)
_PRIORITY: Final = f"{KUEUE}/priority-class"
_DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")


@rule("argocd-made-too-early", severity="error", family=FAMILY)
def made_too_early(fleet: Fleet) -> Iterator[Issue]:
    """A custom resource comes before its definition, or a queued workload before its WorkloadPriorityClass.

    Why: The API server does not know a kind whose CustomResourceDefinition comes in a later wave, so the sync fails.
    Kueue makes no Workload for a job whose WorkloadPriorityClass is missing, and does not look again when it comes.
    Fix: Give what is needed an earlier `argocd.argoproj.io/sync-wave`.
    """
    for workload in fleet.workloads:
        name = workload.labels.get(_PRIORITY)
        needed = fleet.find(KUEUE, "WorkloadPriorityClass", None, name) if name else None
        if needed is not None and workload.queue_name:
            yield from _early(workload.document, needed, "Kueue makes no Workload for it, and does not look again")
    definitions = {
        (text(item.manifest, "spec", "group"), text(item.manifest, "spec", "names", "kind")): item
        for item in fleet.of(_DEFINITION)
    }
    for document in fleet.documents if definitions else ():
        definition = definitions.get((document.group, document.kind))
        if definition is not None and document.judged:
            yield from _early(document, definition, "the API server does not know the kind before, and the sync fails")


def _early(document: Document, needed: Document, why: str) -> Iterator[Issue]:
    if wave(document) >= wave(needed) or is_hook(document) or is_hook(needed) or folder(document) != folder(needed):
        return
    message = (
        f'{document.kind} "{document.name}" ({placed(document)}) comes before {needed.kind} "{needed.name}" '
        f"({placed(needed)}): {why}"
    )
    fix = f'give {needed.kind} "{needed.name}" an earlier sync-wave, such as "{wave(document) - 5}"'
    yield Issue(document, _WAVE, message, fix, None, (("what it needs", needed, _WAVE),))
