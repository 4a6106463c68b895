"""Runs to completion under Argo CD: what is deleted comes back, what is immutable cannot be patched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import FAMILY, HOOK_DELETE, OPTIONS, is_hook, is_live, replaces, sync_options
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, items, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: Where each kind says how long after its end it is deleted itself, not only its pods.
_TTL: Final[dict[tuple[str, str], Path]] = {
    ("batch", "Job"): ("spec", "ttlSecondsAfterFinished"),
    ("batch.volcano.sh", "Job"): ("spec", "ttlSecondsAfterFinished"),
    ("jobset.x-k8s.io", "JobSet"): ("spec", "ttlSecondsAfterFinished"),
    ("kubeflow.org", "JAXJob"): ("spec", "runPolicy", "ttlSecondsAfterFinished"),
    ("kubeflow.org", "MPIJob"): ("spec", "runPolicy", "ttlSecondsAfterFinished"),
    ("kubeflow.org", "PaddleJob"): ("spec", "runPolicy", "ttlSecondsAfterFinished"),
    ("kubeflow.org", "PyTorchJob"): ("spec", "runPolicy", "ttlSecondsAfterFinished"),
    ("kubeflow.org", "TFJob"): ("spec", "runPolicy", "ttlSecondsAfterFinished"),
    ("kubeflow.org", "XGBoostJob"): ("spec", "runPolicy", "ttlSecondsAfterFinished"),
    ("sparkoperator.k8s.io", "SparkApplication"): ("spec", "timeToLiveSeconds"),
}
_HOOK_TTL_SECONDS: Final = 60
_TEMPLATE_FIXED: Final = (
    ("batch", "Job"),
    ("batch.volcano.sh", "Job"),
    ("jobset.x-k8s.io", "JobSet"),
    ("trainer.kubeflow.org", "TrainJob"),
)
#: Kinds of runs whose end Argo CD cannot see: it has no health check for them.
_WITHOUT_HEALTH: Final = frozenset({
    "batch.volcano.sh", "jobset.x-k8s.io", "kubeflow.org", "leaderworkerset.x-k8s.io", "trainer.kubeflow.org",
})  # fmt: skip
#: A hook of an hour is a smoke test; what may take longer is a run.
_HOOK_SECONDS: Final = 3600


def _owned(document: Document) -> bool:
    return bool(items(document.manifest, "metadata", "ownerReferences"))


@rule("argocd-ttl-recreates", severity="error", family=FAMILY)
def ttl_recreates(fleet: Fleet) -> Iterator[Issue]:
    """A run that stands in Git deletes itself after its end.

    Why: When the TTL controller has deleted the object, Argo CD finds it missing and creates it again: the training
    runs once more, and again after that (argo-cd#8586, #13851).
    Fix: Leave `ttlSecondsAfterFinished` out of runs in Git and retire them with a commit; or submit runs instead of
    committing them. A CronJob's jobTemplate may have one: its Jobs are not in Git.
    """
    for document in fleet.of(*_TTL):
        path = _TTL[document.group, document.kind]
        seconds = whole(document.manifest, *path)
        if seconds is None or document.generated or is_hook(document) or _owned(document) or is_live(document):
            continue
        message = (
            f"the {document.kind} is deleted {seconds} s after its end (TTL); Argo CD then creates and runs it again"
        )
        yield Issue(document, path, message, f"leave {path[-1]} out of what stands in Git")


@rule("argocd-hook-ttl", severity="warning", family=FAMILY, targets=("argocd",))
def hook_ttl(fleet: Fleet) -> Iterator[Issue]:
    """A sync hook deletes itself before Argo CD may have seen how it ended.

    Why: Without the finalizer that newer releases of Argo CD put on hooks, a Job that is gone a moment after its end
    leaves the sync waiting (argo-cd#6880).
    Fix: Remove the TTL and let `argocd.argoproj.io/hook-delete-policy` clean up.
    """
    for document in fleet.of(*_TTL):
        path = _TTL[document.group, document.kind]
        seconds = whole(document.manifest, *path)
        if seconds is not None and seconds < _HOOK_TTL_SECONDS and is_hook(document):
            message = f"the hook is deleted {seconds} s after its end (TTL), maybe before Argo CD has seen it succeed"
            yield Issue(document, path, message, f"remove the TTL; {HOOK_DELETE} deletes hooks", "warning")


@rule("argocd-generate-name", severity="error", family=FAMILY)
def generate_name(fleet: Fleet) -> Iterator[Issue]:
    """An object with `generateName` is to be applied.

    Why: Apply finds objects by name. kubectl apply refuses such an object, and Argo CD takes it only as a hook
    (argo-cd#1639).
    Fix: Give it a name; for a run, a name with a hash of its spec.
    """
    for document in fleet.documents:
        if document.generated and document.judged and not is_hook(document) and not _owned(document):
            message = f'generateName "{document.name}" works with kubectl create and in hooks only, not with apply'
            fix = "give it a name, such as one with a hash of its spec; or make it a hook"
            yield Issue(document, ("metadata", "generateName"), message, fix)


@rule("argocd-replace-without-force", severity="warning", family=FAMILY)
def replace_without_force(fleet: Fleet) -> Iterator[Issue]:
    """A run is to be replaced on change, but only in place.

    Why: `Replace=true` alone updates the object, and the immutable pod template refuses the update (argo-cd#14910).
    Only with `Force=true` is it deleted and created again.
    Fix: Write `Force=true,Replace=true` when a changed run shall kill the old one; otherwise give each change a new
    name.
    """
    for document in fleet.of(*_TEMPLATE_FIXED):
        if "Replace=true" in sync_options(document) and not replaces(document):
            message = "Replace=true without Force=true updates in place, and the pod template cannot be updated"
            path = ("metadata", "annotations", OPTIONS)
            yield Issue(document, path, message, 'write "Force=true,Replace=true", or use a new name for each change')


@rule("argocd-queued-hook", severity="error", family=FAMILY)
def queued_hook(fleet: Fleet) -> Iterator[Issue]:
    """A sync hook waits in a Kueue queue.

    Why: Kueue suspends the Job until it is admitted, and a sync waits for its hooks: with Suspended, which is neither
    success nor failure, it waits for ever (argo-cd#10600).
    Fix: Keep queued runs out of hooks and early waves; run hooks in a namespace without a queue.
    """
    for workload in fleet.workloads:
        if workload.queue_name and is_hook(workload.document):
            message = f'the hook waits in queue "{workload.queue_name}", and the sync waits for the hook'
            where = (*workload.labels_path, "kueue.x-k8s.io/queue-name")
            yield Issue(workload.document, where, message, "take the queue-name label off hooks")
        elif (
            workload.kind == "Job"
            and workload.namespace
            and is_hook(workload.document)
            and (queue := fleet.find("kueue.x-k8s.io", "LocalQueue", workload.namespace, "default"))
        ):
            message = f'the hook has no queue, but namespace {workload.namespace} has a LocalQueue "default", which '
            message += "takes it: the sync waits until it is admitted"
            related = (("the LocalQueue", queue, ("metadata", "name")),)
            fix = "run hooks in a namespace without a LocalQueue called default"
            yield Issue(workload.document, ("metadata", "namespace"), message, fix, "warning", related)


@rule("argocd-run-as-hook", severity="warning", family=FAMILY, targets=("argocd",))
def run_as_hook(fleet: Fleet) -> Iterator[Issue]:
    """A training run is a sync hook.

    Why: A hook runs at every sync: each commit trains again, and the sync stays open, blocking all others, until the
    run has ended. Of JobSets, TrainJobs and Volcano Jobs Argo CD knows no health: it takes the hook for done at once,
    and deletes it where the policy is HookSucceeded.
    Fix: Make the run an ordinary object of the last wave with a name of its own; keep hooks for what takes minutes and
    say so with `activeDeadlineSeconds`.
    """
    for workload in fleet.workloads:
        document = workload.document
        if not is_hook(document) or is_live(document):
            continue
        path: Path = ("metadata", "annotations")
        if document.group in _WITHOUT_HEALTH:
            message = (
                f"the {document.kind} is a hook, and Argo CD, which knows no health of it, takes it for done at once"
            )
            yield Issue(document, path, message, "make it an ordinary object of the last wave, or a Job")
        elif document.group == "batch" and _takes_gpus(workload) and not _is_short(document):
            message = "a run with GPUs is a hook: it runs again at every sync, and the sync waits for its end"
            fix = "make it an ordinary object of the last wave, or set activeDeadlineSeconds to a few minutes"
            yield Issue(document, path, message, fix)


def _takes_gpus(workload: Workload) -> bool:
    return any(name.endswith("/gpu") or "/mig-" in name for name in workload.requests)


def _is_short(document: Document) -> bool:
    seconds = dig(document.manifest, "spec", "activeDeadlineSeconds")
    return isinstance(seconds, int) and 0 < seconds <= _HOOK_SECONDS
