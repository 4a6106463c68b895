"""Changes to queued workloads that Kueue's webhooks refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import is_hook, replaces
from trainshed.checks.change_immutable import FAMILY, changed_pairs
from trainshed.checks.kueue_common import QUEUE_NAME
from trainshed.checks.kueue_gates import GATED_BY
from trainshed.checks.kueue_jobs import ELASTIC
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, strings, whole
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.kueue_tree import KUEUE
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_PRIORITY: Final = f"{KUEUE}/priority-class"
_KINDS: Final = frozenset(
    {
        ("batch", "Job"), ("jobset.x-k8s.io", "JobSet"), ("trainer.kubeflow.org", "TrainJob"), ("ray.io", "RayJob"),
        ("ray.io", "RayCluster"), ("kubeflow.org", "MPIJob"), ("kubeflow.org", "PyTorchJob"), ("", "Pod"),
        ("apps", "Deployment"), ("apps", "StatefulSet"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        ("workload.codeflare.dev", "AppWrapper"),
    }
)  # fmt: skip
_SIZE: Final[Path] = ("spec", "leaderWorkerTemplate", "size")
_LABELS: Final[Path] = ("metadata", "labels")
_ANNOTATIONS: Final[Path] = ("metadata", "annotations")

#: Path, what is wrong, what to do, and the severity where it is no error.
_Fault = tuple[Path, str, str, Severity | None]


@rule("change-queued-workload", severity="error", family=FAMILY, targets=("kueue",), baseline=True)
def queued_workload(fleet: Fleet) -> Iterator[Issue]:
    """The change edits what Kueue keeps fixed on a workload that is queued.

    Why: The webhooks refuse the update, and the sync fails (kueue v0.19.2, `pkg/controller/jobframework/validation.go`,
    `pkg/controller/jobs/{statefulset,leaderworkerset}`): a queued StatefulSet goes only to 0 replicas and back, the
    size of a queued LeaderWorkerSet stays, a priority class may be changed but not removed, `elastic-job` is set once,
    `admission-gated-by` is only shortened. The queue of a running workload stays; with a LocalQueue `default` in the
    namespace, the label cannot go.
    Fix: Give the changed workload a new name; or let Argo CD delete and create it with `Force=true,Replace=true`.
    """
    for before, after in changed_pairs(fleet):
        if (after.group, after.kind) not in _KINDS or replaces(after) or is_hook(after):
            continue
        if not _labels(before).get(QUEUE_NAME):
            continue
        for path, message, fix, severity in _faults(fleet, before, after):
            yield Issue(after, path, message, fix, severity, (("before", before, path),))


def _labels(document: Document) -> dict[str, str]:
    return strings(document.manifest, *_LABELS)


def _faults(fleet: Fleet, before: Document, after: Document) -> Iterator[_Fault]:
    yield from _queue(fleet, before, after)
    old, new = _labels(before), _labels(after)
    if _PRIORITY in old and _PRIORITY not in new:
        message = f"label priority-class (it was {old[_PRIORITY]}) is removed, which Kueue's webhook refuses"
        yield (*_LABELS, _PRIORITY), message, "name another class instead, such as one of value 0", None
    yield from _annotations(before, after)
    if after.kind == "StatefulSet":
        path: Path = ("spec", "replicas")
        was, now = whole(before.manifest, *path), whole(after.manifest, *path)
        was, now = 1 if was is None else was, 1 if now is None else now
        if was != now and was and now:
            message = f"a queued StatefulSet goes from {was} replicas to {now}: Kueue's webhook takes only 0 and back"
            yield path, message, "go to 0 first, or make a StatefulSet of another name", None
    if after.kind == "LeaderWorkerSet" and dig(before.manifest, *_SIZE) != dig(after.manifest, *_SIZE):
        was, now = dig(before.manifest, *_SIZE), dig(after.manifest, *_SIZE)
        message = f"the size of a queued LeaderWorkerSet changes from {was} to {now}, which Kueue's webhook refuses"
        yield _SIZE, message, "make a LeaderWorkerSet of another name", None


def _queue(fleet: Fleet, before: Document, after: Document) -> Iterator[_Fault]:
    old, new = _labels(before)[QUEUE_NAME], _labels(after).get(QUEUE_NAME)
    path: Path = (*_LABELS, QUEUE_NAME)
    if new is None:
        namespace = fleet.namespaces.of(after)
        if fleet.find(KUEUE, "LocalQueue", namespace, "default") is not None:
            message = "label queue-name is removed, which is refused in a namespace with a LocalQueue default"
            yield path, message, "keep the label, or make the workload anew", None
        else:
            message = "label queue-name is removed, which is refused while the workload runs"
            yield path, message, "make the workload anew under another name", "warning"
    elif new != old:
        message = f"the queue changes from {old} to {new}, which is refused while the workload runs"
        yield path, message, "make the workload anew under another name", "warning"


def _annotations(before: Document, after: Document) -> Iterator[_Fault]:
    old, new = strings(before.manifest, *_ANNOTATIONS), strings(after.manifest, *_ANNOTATIONS)
    if old.get(ELASTIC) != new.get(ELASTIC):
        message = "annotation elastic-job is set when the workload is made: Kueue's webhook refuses the change"
        yield (*_ANNOTATIONS, ELASTIC), message, "make the workload anew under another name", None
    gates, gated = old.get(GATED_BY, ""), new.get(GATED_BY, "")
    added = sorted({name for name in gated.split(",") if name} - set(gates.split(",")))
    if added:
        message = f"admission-gated-by gains {', '.join(added)}: Kueue's webhook lets it only be shortened"
        yield (*_ANNOTATIONS, GATED_BY), message, "make the workload anew under another name", None
