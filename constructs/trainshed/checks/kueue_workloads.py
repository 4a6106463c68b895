"""Workloads: what Kueue makes for each job, and nobody else should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import is_live
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import items, mapping
from trainshed.fleet.kueue_tree import KUEUE

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "kueue jobs"


@rule("kueue-workload-by-hand", severity="warning", family=_FAMILY, targets=("kueue",))
def workload_by_hand(fleet: Fleet) -> Iterator[Issue]:
    """A manifest holds a Workload, which Kueue makes.

    Why: Kueue makes a Workload for each queued job and writes it all the time: its admission, its pod sets, whether it
    is active. One that a GitOps tool applies holds quota for no job, or fights with Kueue over every field.
    Fix: Leave it out; write the job, and give it the label `kueue.x-k8s.io/queue-name`.
    """
    for document in fleet.of((KUEUE, "Workload")):
        owned = items(document.manifest, "metadata", "ownerReferences") or mapping(document.manifest, "status")
        if not owned and not is_live(document):
            message = f'Workload "{document.name}" is an object that Kueue makes and writes by itself'
            yield Issue(document, ("kind",), message, "leave it out, and label the job with its queue")
