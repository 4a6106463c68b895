"""Which workloads bear marks of a gang scheduler: found in one pass, so that its rules cost others nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trainshed.fleet.access import strings
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_KAI: Final = "kai-scheduler"
_YUNIKORN: Final = "yunikorn"
_YUNIKORN_KEYS: Final = "yunikorn.apache.org/"
_KAI_KEYS: Final = ("kai.scheduler/", "runai")
_GROUP_KEYS: Final = (
    "scheduling.volcano.sh/",
    "scheduling.k8s.io/group-name",
    "scheduling.x-k8s.io/pod-group",
    "pod-group-name",
)


class GangMarks:
    """`kai`: workloads with pods for KAI or with its keys; `yunikorn`: pod sets for YuniKorn, by name or, where no
    schedulerName is written, by key; `grouped`: pod sets with a key of Volcano's or of a PodGroup; `queued`: workloads
    with such a key in their own metadata."""

    def __init__(self, fleet: Fleet) -> None:
        self.kai: list[Workload] = []
        self.yunikorn: list[tuple[Workload, PodSet]] = []
        self.grouped: list[tuple[Workload, PodSet]] = []
        self.queued: list[Workload] = []
        for workload in fleet.workloads:
            own = (*workload.labels, *workload.annotations)
            to_kai = _has(own, _KAI_KEYS)
            if _has(own, _GROUP_KEYS):
                self.queued.append(workload)
            for pod_set in workload.pod_sets:
                keys = (*pod_set.labels, *pod_set.annotations)
                scheduler = pod_set.scheduler
                to_kai = to_kai or scheduler == _KAI or _has(keys, _KAI_KEYS)
                if scheduler == _YUNIKORN or (not scheduler and _has(keys, (_YUNIKORN_KEYS,))):
                    self.yunikorn.append((workload, pod_set))
                if _has(keys, _GROUP_KEYS):
                    self.grouped.append((workload, pod_set))
            if to_kai or (workload.path and _has(tuple(_outer(workload)), _KAI_KEYS)):
                self.kai.append(workload)

    @property
    def yunikorn_workloads(self) -> list[Workload]:
        """The workloads of `yunikorn`, each once."""
        return list({id(workload): workload for workload, _ in self.yunikorn}.values())


def _outer(workload: Workload) -> dict[str, str]:
    """Annotations of the object around the one that makes the pods: a CronJob's own."""
    return strings(workload.document.manifest, "metadata", "annotations")


def _has(keys: tuple[str, ...], prefixes: tuple[str, ...]) -> bool:
    return any(key.startswith(prefixes) for key in keys)
