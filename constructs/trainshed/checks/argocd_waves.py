"""Waves that a sync never gets past, and hooks that wait for what comes after them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import FAMILY, WAVE, folder, is_hook, is_live, runs_before_sync, wave
from trainshed.checks.argocd_order import placed
from trainshed.checks.pod_references import references
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_WAVE: Final[Path] = ("metadata", "annotations", WAVE)
#: Kinds whose health Argo CD knows and waits for before the next wave (argo-cd 3.5, `gitops-engine/pkg/health`).
_WAITED_FOR: Final = frozenset({
    ("", "Pod"), ("apps", "DaemonSet"), ("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"),
    ("batch", "Job"),
})  # fmt: skip
#: First in Argo CD's order within a wave.
_NAMESPACE: Final = ("", "Namespace")


def _needed(fleet: Fleet, workload: Workload) -> Iterator[Document]:
    """Objects of the input that the workload's pods cannot start without."""
    for pod_set in workload.pod_sets:
        wanted = [(item.kind, item.name) for item in references(pod_set)]
        if account := text(pod_set.spec, "serviceAccountName"):
            wanted.append(("ServiceAccount", account))
        for kind, name in dict.fromkeys(wanted):
            found = fleet.namespaces.find("", kind, workload.namespace, name)
            if found is not None and found.judged:
                yield found
        name = text(pod_set.spec, "priorityClassName")
        priority = fleet.find("scheduling.k8s.io", "PriorityClass", None, name) if name else None
        if priority is not None and priority.judged:
            yield priority


@rule("argocd-needed-in-later-wave", severity="error", family=FAMILY)
def needed_in_later_wave(fleet: Fleet) -> Iterator[Issue]:
    """A workload comes in an earlier wave than something its pods need.

    Why: Argo CD goes on to the next wave when all of this one is healthy. A Job, Pod or Deployment that waits for a
    ConfigMap, Secret, claim or service account of a later wave never is, so the sync never ends.
    Fix: Put what is needed into the same or an earlier `argocd.argoproj.io/sync-wave`.
    """
    for workload in fleet.workloads:
        run = workload.document
        if (run.group, run.kind) not in _WAITED_FOR or is_hook(run):
            continue
        at = wave(run)
        for needed in _needed(fleet, workload):
            if wave(needed) > at and not is_hook(needed) and folder(needed) == folder(run):
                message = (
                    f'{run.kind} "{run.name}" ({placed(run)}) needs {needed.kind} "{needed.name}", which comes in wave '
                    f"{wave(needed)}: the sync never gets there"
                )
                fix = f'give {needed.kind} "{needed.name}" the sync-wave "{at}" or an earlier one'
                yield Issue(run, _WAVE, message, fix, None, (("what it needs", needed, _WAVE),))


@rule("argocd-namespace-in-later-wave", severity="error", family=FAMILY)
def namespace_in_later_wave(fleet: Fleet) -> Iterator[Issue]:
    """An object comes in an earlier wave than its Namespace.

    Why: The API server refuses an object whose namespace does not exist, and the sync fails.
    Fix: Give the Namespace the earliest `argocd.argoproj.io/sync-wave`.
    """
    namespaces = {item.name: (item, wave(item)) for item in fleet.of(_NAMESPACE) if not is_hook(item)}
    for document in fleet.documents if namespaces else ():
        namespace, its_wave = namespaces.get(document.namespace or "", (None, 0))
        if namespace is None or not document.judged:
            continue
        early = runs_before_sync(document) or (not is_hook(document) and wave(document) < its_wave)
        if early and folder(document) == folder(namespace):
            when = "in a hook before the sync" if is_hook(document) else f"in wave {wave(document)}"
            message = (
                f'{document.kind} "{document.name}" is applied {when}, and its Namespace "{namespace.name}" only in '
                f"wave {its_wave} of the sync"
            )
            fix = f'give Namespace "{namespace.name}" an earlier sync-wave, such as "-40"'
            if is_hook(document):
                fix = "make the namespace elsewhere, or with the sync option CreateNamespace=true"
            yield Issue(document, _WAVE, message, fix, None, (("the Namespace", namespace, _WAVE),))


@rule("argocd-hook-needs-later-object", severity="error", family=FAMILY)
def hook_needs_later_object(fleet: Fleet) -> Iterator[Issue]:
    """A hook that runs before the sync needs an object that the sync brings.

    Why: At the first sync that object is not there, the hook's pod cannot start, and the sync waits for the hook.
    Fix: Make the object a PreSync hook of an earlier wave, too, or let the hook run as `Sync` or `PostSync`.
    """
    for workload in fleet.workloads:
        hook = workload.document
        if not runs_before_sync(hook) or is_live(hook):
            continue
        for needed in _needed(fleet, workload):
            if folder(needed) != folder(hook) or runs_before_sync(needed):
                continue
            message = f'the hook runs before the sync and needs {needed.kind} "{needed.name}", which the sync brings'
            fix = f"make {needed.kind} a PreSync hook of an earlier wave, or make this a Sync or PostSync hook"
            path = ("metadata", "annotations")
            yield Issue(hook, path, message, fix, None, (("what it needs", needed, ("metadata", "name")),))


@rule("argocd-queued-run-holds-sync", severity="error", family=FAMILY, targets=("argocd",))
def queued_run_holds_sync(fleet: Fleet) -> Iterator[Issue]:
    """A Job that waits in a Kueue queue is not in the last wave.

    Why: Kueue suspends the Job until there is quota. Argo CD calls it Suspended, goes on to the next wave only when it
    is Healthy, and so waits as long as the queue and the whole run take (argo-cd#10600). What comes in later waves,
    such as the queue itself, is not applied.
    Fix: Put queued runs into the last wave, or into an Application of their own.
    """
    queued = [item for item in fleet.workloads if item.queue_name and _holds_the_sync(item.document)]
    folders = {folder(item.document) for item in queued}
    last: dict[str, tuple[int, Document]] = {}
    for document in fleet.documents if queued else ():
        where = folder(document)
        if where in folders and not is_hook(document) and (where not in last or wave(document) > last[where][0]):
            last[where] = wave(document), document
    for workload in queued:
        run = workload.document
        at, later = last[folder(run)]
        if wave(run) < at:
            message = (
                f'the Job waits in queue "{workload.queue_name}" ({placed(run)}), and Argo CD waits for it before wave '
                f'{at}, where {later.kind} "{later.name}" is'
            )
            fix = f'give the Job the sync-wave "{at}" or a later one, or an Application of its own'
            yield Issue(run, _WAVE, message, fix, None, (("comes after it", later, _WAVE),))


def _holds_the_sync(document: Document) -> bool:
    return (document.group, document.kind) == ("batch", "Job") and not is_hook(document) and not is_live(document)
