"""Which scheduler makes a gang: LeaderWorkerSet's provider, two owners of quota, Kubernetes' own API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import KAI, VOLCANO, VOLCANO_QUEUE, called
from trainshed.checks.kai_common import queue_of
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import strings, text
from trainshed.fleet.document import Document
from trainshed.fleet.embedded import embedded
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "gang scheduling"
_LWS: Final = "config.lws.x-k8s.io/"
_NATIVE: Final = {"v1alpha1": (35, 35), "v1alpha2": (36, 36), "v1alpha3": (37, 99)}


def _providers(fleet: Fleet) -> Iterator[tuple[Document, Path, str]]:
    """(document, path, provider) of LeaderWorkerSet's configurations: objects, or texts in ConfigMaps."""
    field = ("gangSchedulingManagement", "schedulerProvider")
    for document in fleet.of(("config.lws.x-k8s.io", "Configuration")):
        if provider := text(document.manifest, *field):
            yield document, field, provider
    for document in fleet.of(("", "ConfigMap")):
        for key, value in strings(document.manifest, "data").items():
            if _LWS in value and field[1] in value and (provider := text(embedded(value).data, *field)):
                yield document, ("data", key), provider


@rule("lws-gang-scheduler-name", severity="warning", family=_FAMILY, targets=("volcano",))
def lws_scheduler_name(fleet: Fleet) -> Iterator[Issue]:
    """LeaderWorkerSet makes PodGroups for Volcano, but the pods go to another scheduler.

    Why: `gangSchedulingManagement.schedulerProvider: volcano` only makes the PodGroups. Without
    `schedulerName: volcano` in the templates the default scheduler places the pods one by one; the PodGroup stays
    Inqueue (lws #630).
    Fix: Write `schedulerName: volcano` in the leader's and the workers' template.
    """
    found = list(_providers(fleet))
    for document, path, provider in found:
        if provider != VOLCANO:
            message = f'schedulerProvider is "{provider}", and LeaderWorkerSet knows volcano only'
            yield Issue(document, path, message, nearest(provider, (VOLCANO,)) or "write volcano, or leave it out")
    provider_at = next((item for item in found if item[2] == VOLCANO), None)
    for workload in fleet.workloads if provider_at else ():
        if workload.kind != "LeaderWorkerSet" or provider_at is None:
            continue
        for pod_set in workload.pod_sets:
            if pod_set.scheduler != VOLCANO:
                place, where = pod_set.at(("spec", "schedulerName"))
                has = f'is "{pod_set.scheduler}"' if pod_set.scheduler else "is unset"
                message = (
                    f"schedulerName {has}, while the LeaderWorkerSet configuration makes PodGroups for volcano: "
                    "no gang scheduling happens"
                )
                related = (("schedulerProvider", provider_at[0], provider_at[1]),)
                yield Issue(place, where, message, "write schedulerName: volcano in both templates", None, related)


@rule("gang-two-quota-owners", severity="warning", family=_FAMILY, targets=("kueue", "volcano", "kai"))
def two_quota_owners(fleet: Fleet) -> Iterator[Issue]:
    """A workload is admitted by Kueue and then held by a limit of another scheduler's queue.

    Why: Kueue counts its quota as used from admission on, while the second queue makes the pods wait: quota lies idle
    and nobody sees why (kueue #6796).
    Fix: Keep one owner of quota: below Kueue use a queue of Volcano or KAI without capability or limit.
    """
    for workload in fleet.workloads:
        if not workload.queue_name:
            continue
        for pod_set in workload.pod_sets:
            owner = _second_owner(fleet, workload, pod_set)
            if owner is not None:
                path = (*workload.labels_path, "kueue.x-k8s.io/queue-name")
                message = (
                    f'Kueue admits it through LocalQueue "{workload.queue_name}", and {called(owner)} of '
                    f"{pod_set.scheduler} limits it once more: two owners of quota"
                )
                related = (("the other queue", owner, ("spec",)),)
                fix = (
                    "keep one owner of quota: give the scheduler's queue no capability or limit, or drop Kueue's label"
                )
                yield Issue(workload.document, path, message, fix, None, related)
                break


def _second_owner(fleet: Fleet, workload: Workload, pod_set: PodSet) -> Document | None:
    if pod_set.scheduler == VOLCANO:
        for node in fleet.volcano.line(pod_set.annotations.get(VOLCANO_QUEUE, "")):
            if node.capability:
                return node.document
    elif pod_set.scheduler == KAI:
        for queue in fleet.kai.line(queue_of(workload)):
            if any(shares.limit >= 0 for shares in queue.shares.values()):
                return queue.document
    return None


@rule("gang-api-version", severity="error", family=_FAMILY)
def api_version(fleet: Fleet) -> Iterator[Issue]:
    """A Workload or PodGroup of Kubernetes' own gang scheduling has a version that the target does not serve.

    Why: `scheduling.k8s.io` changed incompatibly in each of 1.35 (v1alpha1), 1.36 (v1alpha2) and 1.37 (v1alpha3), and
    serves no older version. All are alpha and off by default.
    Fix: Write the version of the cluster's minor release, or use another gang scheduler.
    """
    minor = fleet.target.kubernetes.partition(".")[2].partition(".")[0]
    if not (minor.isascii() and minor.isdigit()):
        return
    for kind in ("Workload", "PodGroup", "CompositePodGroup"):
        for document in fleet.of(("scheduling.k8s.io", kind)):
            span = _NATIVE.get(document.version)
            if span is not None and not span[0] <= int(minor) <= span[1]:
                served = next((name for name, ends in _NATIVE.items() if ends[0] <= int(minor) <= ends[1]), "")
                message = f"{document.api_version} {kind} is not served by Kubernetes {fleet.target.kubernetes}"
                fix = f"write scheduling.k8s.io/{served}" if served else "use another gang scheduler"
                yield Issue(document, ("apiVersion",), message, fix)
