"""Changes that take something away: pruned queues, claims under a new name, quota that strands workloads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import sync_options
from trainshed.checks.differences import first_difference
from trainshed.checks.pods import pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_feasibility import feasibilities

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "changes"
_KUEUE: Final = "kueue.x-k8s.io"
_CLAIM: Final = ("", "PersistentVolumeClaim")
_KEPT: Final = frozenset({"Prune=false", "Prune=confirm", "Delete=false"})
_HASH: Final = re.compile(r"-[a-z0-9]{5,10}$")


def removed(fleet: Fleet, *kinds: tuple[str, str]) -> Iterator[Document]:
    """The objects of these kinds, or of all, that are there before the change and not after it."""
    if fleet.baseline is None:
        return
    for document in fleet.baseline.of(*kinds) if kinds else fleet.baseline.documents:
        if (
            document.name
            and document.judged
            and fleet.find(document.group, document.kind, document.namespace, document.name) is None
        ):
            yield document


@rule("change-removed-queue", severity="warning", family=FAMILY, baseline=True)
def removed_queue(fleet: Fleet) -> Iterator[Issue]:
    """The change removes a ClusterQueue that was in use.

    Why: Kueue's finalizer `resource-in-use` keeps it until its workloads are gone, and Argo CD's sync stays Running as
    long, which blocks every later sync.
    Fix: Set `stopPolicy: HoldAndDrain` first, sync, and remove it with a second change.
    """
    if fleet.baseline is None:
        return
    users: dict[str, list[Document]] = {}
    for user in fleet.baseline.of((_KUEUE, "LocalQueue")):
        users.setdefault(text(user.manifest, "spec", "clusterQueue"), []).append(user)
    for queue in removed(fleet, (_KUEUE, "ClusterQueue")):
        if text(queue.manifest, "spec", "stopPolicy") == "HoldAndDrain" or queue.name not in users:
            continue
        named = ", ".join(f"{user.namespace or ''}/{user.name}".lstrip("/") for user in users[queue.name][:3])
        message = (
            f'ClusterQueue "{queue.name}", used by {named}, is removed: Kueue holds it until its workloads are gone'
        )
        fix = "set stopPolicy: HoldAndDrain first, and remove it with a later change"
        yield Issue(queue, ("metadata", "name"), message, fix)


@rule("change-renamed-claim", severity="error", family=FAMILY, baseline=True)
def renamed_claim(fleet: Fleet) -> Iterator[Issue]:
    """The change gives a claim another name, so the old one is pruned with its data.

    Why: Names that are derived from a construct's path or a hash change when code moves. To Kubernetes that is a new,
    empty claim; the old one is pruned, and with reclaim policy Delete its volume goes too.
    Fix: Give the claim an explicit name, or annotate it with `argocd.argoproj.io/sync-options: Prune=false`.
    """
    for old, new in _renamed(fleet):
        if not _KEPT.intersection(sync_options(old)):
            message = f'claim "{old.name}" becomes "{new.name}": the old one is pruned with its data, this one is empty'
            fix = f'keep the name "{old.name}", or keep the old claim with sync-options Prune=false'
            related = (("the old claim", old, ("metadata", "name")),)
            yield Issue(new, ("metadata", "name"), message, fix, None, related)


def _renamed(fleet: Fleet) -> Iterator[tuple[Document, Document]]:
    """(old, new) of claims that are likely one and the same under two names."""
    if fleet.baseline is None:
        return
    known = {item.identity for item in fleet.baseline.of(_CLAIM)}
    added = [item for item in fleet.of(_CLAIM) if item.identity not in known]
    for old in removed(fleet, _CLAIM):
        for new in added:
            same = first_difference(old.manifest.get("spec"), new.manifest.get("spec")) is None
            if new.namespace == old.namespace and (same or _HASH.sub("", new.name) == _HASH.sub("", old.name)):
                yield old, new
                break


@rule("change-removed-claim", severity="error", family=FAMILY, baseline=True)
def removed_claim(fleet: Fleet) -> Iterator[Issue]:
    """The change removes a claim.

    Why: Pruning deletes the claim, and with reclaim policy Delete its data. Runs that still mount it, an error, wait
    for a claim that is gone; where nothing does, it is a warning.
    Fix: Keep the claim as long as something mounts it; annotate it with `Prune=false` or `Prune=confirm` where its data
    is worth something.
    """
    gone = {(item.namespace, item.name): item for item in removed(fleet, _CLAIM)}
    renamed = {id(old) for old, _ in _renamed(fleet)} if gone else set()
    for workload, pod_set in pod_sets(fleet) if gone else ():
        for index, volume in mappings(pod_set.spec, "volumes"):
            claim = text(volume, "persistentVolumeClaim", "claimName")
            old = gone.get((workload.namespace, claim))
            if old is not None:
                renamed.add(id(old))
                path = ("spec", "volumes", index, "persistentVolumeClaim", "claimName")
                document, where = pod_set.at(path)
                message = f'claim "{claim}" is removed by this change, and {workload.kind} still mounts it'
                related = (("the removed claim", old, ("metadata", "name")),)
                yield Issue(document, where, message, "keep the claim, or mount another", None, related)
    for old in gone.values():
        if id(old) not in renamed and not _KEPT.intersection(sync_options(old)):
            message = f'claim "{old.name}" is removed by this change: pruning it deletes its data'
            fix = "annotate it with argocd.argoproj.io/sync-options: Prune=false first, if the data is to stay"
            yield Issue(old, ("metadata", "name"), message, fix, "warning")


@rule("change-strands-workload", severity="error", family=FAMILY, baseline=True)
def strands_workload(fleet: Fleet) -> Iterator[Issue]:
    """After the change a workload can never be admitted; before it could.

    Why: Less quota, a lower limit, a flavor less: what was only a wait becomes for ever. The workload's own manifest
    may not have changed at all.
    Fix: Keep enough quota, or make the workload smaller in the same change.
    """
    if fleet.baseline is None:
        return
    earlier = {found.workload.document.identity: found for found in feasibilities(fleet.baseline)}
    for found in feasibilities(fleet):
        before = earlier.get(found.workload.document.identity)
        if found.verdict == "never" and before is not None and before.verdict != "never":
            document = found.workload.document
            message = f'{document.kind} "{document.name}" could be admitted before this change, and never can after it'
            fix = "keep the quota it needs, or make the run smaller in the same change"
            yield Issue(document, ("metadata", "name"), message, fix)
