"""Order inside a sync: waves, and Argo CD's own order within one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.argocd import FAMILY, INTEGER, WAVE, folder, is_hook, wave
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mappings, text
from trainshed.fleet.document import Document

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


def placed(document: Document) -> str:
    """How messages name the wave of an object."""
    return f"wave {wave(document)}" if WAVE in document.annotations else "wave 0, the default"


@rule("argocd-wave-not-integer", severity="error", family=FAMILY)
def wave_not_integer(fleet: Fleet) -> Iterator[Issue]:
    """A sync wave is not an integer.

    Why: Argo CD takes it for 0 without a word, and the object comes in the wrong order.
    Fix: Write a whole number in quotes, such as "-10".
    """
    for document in fleet.documents:
        given = document.annotations.get(WAVE)
        if given is not None and document.judged and not INTEGER.fullmatch(given):
            message = f'sync wave "{given}" is not an integer, so it counts as 0'
            yield Issue(document, ("metadata", "annotations", WAVE), message, 'write a whole number, such as "-10"')


@rule("argocd-runtime-after-trainjob", severity="error", family=FAMILY)
def runtime_after_trainjob(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob is applied before the runtime that it refers to.

    Why: Trainer's webhook refuses a TrainJob whose runtime does not exist, and the sync fails. Within one wave Argo CD
    sorts custom resources by name alone, so TrainJob "a" goes before runtime "b".
    Fix: Put the runtime into an earlier wave with the annotation `argocd.argoproj.io/sync-wave`.
    """
    for workload in fleet.workloads:
        run, runtime = workload.document, workload.runtime
        if runtime is None or run.kind != "TrainJob" or is_hook(run) or folder(run) != folder(runtime):
            continue
        if (wave(run), run.name) < (wave(runtime), runtime.name):
            order = (
                f'TrainJob "{run.name}" ({placed(run)}) is applied before {runtime.kind} "{runtime.name}" '
                f"({placed(runtime)})"
            )
            path = ("metadata", "annotations", WAVE)
            fix = f'give {runtime.kind} "{runtime.name}" an earlier sync-wave, such as "{wave(run) - 5}"'
            yield Issue(run, path, f"{order}, and refused without it", fix, None, (("the runtime", runtime, path),))


@rule("argocd-claim-waits-for-consumer", severity="error", family=FAMILY)
def claim_waits_for_consumer(fleet: Fleet) -> Iterator[Issue]:
    """A claim that binds only when a pod uses it stands in an earlier wave than its users.

    Why: With `volumeBindingMode: WaitForFirstConsumer` the claim stays Pending until a pod is scheduled, and Argo CD
    does not go on to the pod's wave before the claim is healthy: the sync never ends.
    Fix: Put the claim and its users into one wave.
    """
    waiting = {
        item.name
        for item in fleet.of(("storage.k8s.io", "StorageClass"))
        if text(item.manifest, "volumeBindingMode") == "WaitForFirstConsumer"
    }
    users = _claim_users(fleet) if waiting else {}
    for claim in fleet.of(("", "PersistentVolumeClaim")):
        storage_class = text(claim.manifest, "spec", "storageClassName")
        consumers = users.get((claim.namespace, claim.name), [])
        consumers = [item for item in consumers if folder(item) == folder(claim)]
        if storage_class not in waiting or not consumers or is_hook(claim):
            continue
        first = min(consumers, key=wave)
        if wave(claim) < wave(first):
            message = (
                f'claim "{claim.name}" ({placed(claim)}) waits for its first consumer (WaitForFirstConsumer), '
                f'{first.kind} "{first.name}", which comes in wave {wave(first)}: the sync never gets there'
            )
            path = ("metadata", "annotations", WAVE)
            fix = f'put both into one sync-wave, "{wave(first)}"'
            yield Issue(claim, path, message, fix, None, (("its first consumer", first, path),))


def _claim_users(fleet: Fleet) -> dict[tuple[str | None, str], list[Document]]:
    users: dict[tuple[str | None, str], list[Document]] = {}
    for workload in fleet.workloads:
        for pod_set in workload.pod_sets:
            for _, volume in mappings(pod_set.spec, "volumes"):
                if name := text(volume, "persistentVolumeClaim", "claimName"):
                    users.setdefault((workload.document.namespace, name), []).append(workload.document)
    return users
