"""Runs beside the queue: they take GPUs that the quota of others counts on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import is_hook
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.workload import Workload
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "kueue labels"
_QUEUE: Final = "kueue.x-k8s.io/queue-name"
#: Kinds that run to completion: services such as a Deployment are often left out of queues on purpose.
_RUNS: Final = frozenset(
    "CronJob JAXJob Job JobSet MPIJob PaddleJob PyTorchJob RayJob TFJob TrainJob XGBoostJob".split()  # noqa: SIM905
)


@rule("kueue-run-without-queue", severity="info", family=_FAMILY, targets=("kueue",))
def run_without_queue(fleet: Fleet) -> Iterator[Issue]:
    """A run asks for devices that Kueue hands out, but names no queue.

    Why: Unless Kueue is told to manage jobs without a queue name, such a run starts at once and outside of every quota:
    it takes GPUs that admitted workloads were promised.

    Fix: Write the label `kueue.x-k8s.io/queue-name` on the run, or call the namespace's LocalQueue `default`.
    """
    if fleet.kueue.config.manage_without_queue:
        return
    queues: dict[str | None, list[str]] = {}
    offered: dict[str | None, set[str]] = {}
    for local in fleet.kueue.local_queues.values():
        namespace = local.document.namespace
        queues.setdefault(namespace, []).append(local.document.name)
        queue = fleet.kueue.cluster_queues.get(local.cluster_queue)
        if queue is not None:
            offered.setdefault(namespace, set()).update(name for name in queue.covered if "/" in name)
    for workload in fleet.workloads:
        document = workload.document
        if (
            workload.queue_name
            or document.kind not in _RUNS
            or document.group == "batch.volcano.sh"
            or is_hook(document)
        ):
            continue
        names = queues.get(workload.namespace, [])
        devices = sorted(offered.get(workload.namespace, set()).intersection(workload.requests))
        if not devices or "default" in names or _names_a_queue(document.manifest, _runtime(workload)):
            continue
        if any(pod_set.scheduler not in ("", "default-scheduler") for pod_set in workload.pod_sets):
            continue
        message = (
            f"it requests {devices[0]}, which Kueue hands out here, but names no queue: it runs outside of every quota"
        )
        fix = f"add the label {_QUEUE}: {names[0]}" if len(names) == 1 else f"add the label {_QUEUE}"
        yield Issue(document, workload.labels_path, message, fix)


def _runtime(workload: Workload) -> object:
    return workload.runtime.manifest if workload.runtime else None


def _names_a_queue(*manifests: object) -> bool:
    """Whether a queue's name stands anywhere, misplaced or misspelt: that is another rule's to tell."""
    stack = list(manifests)
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            for key in node:
                last = str(key).rpartition("/")[2]
                if last == "queue-name" or ("kueue" in str(key) and near_miss(last, ["queue-name"])):
                    return True
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return False
