"""Deployments, StatefulSets and DaemonSets: what the API server refuses, or never connects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import containers, issue, named
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import dig, mapping, mappings, text
from trainshed.fleet.addresses import headless
from trainshed.fleet.document import Document
from trainshed.fleet.pod_labels import pod_labels
from trainshed.fleet.selectors import matches
from trainshed.fleet.workload import Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "apps"
_KINDS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"})
#: Kinds whose models look for the volumes of mounts themselves, and those of which only a part is in the manifest.
_MOUNTS_JUDGED: Final = frozenset({"Job", "CronJob", "JobSet", "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"})


def _apps(fleet: Fleet) -> Iterator[Workload]:
    for workload in fleet.workloads:
        if workload.document.group == "apps" and workload.kind in _KINDS and workload.document.judged:
            yield workload


@rule("apps-selector", severity="error", family=FAMILY)
def selector(fleet: Fleet) -> Iterator[Issue]:
    """The selector of a Deployment, StatefulSet or DaemonSet does not match its own pods.

    Why: The API server refuses the object: "selector does not match template labels".
    Fix: Write the same labels in `spec.selector` and in the pod template.
    """
    for workload in _apps(fleet):
        wanted = dig(workload.manifest, "spec", "selector")
        for pod_set in workload.pod_sets:
            if isinstance(wanted, dict) and wanted and not matches(wanted, pod_set.labels):
                has = ", ".join(f"{key}={value}" for key, value in pod_set.labels.items()) or "no labels"
                message = f"the selector does not match the pod template, which has {has}"
                path = (*workload.path, "spec", "selector")
                yield Issue(workload.document, path, message, "write the same labels in both places")


@rule("apps-restart-policy", severity="error", family=FAMILY)
def restart_policy(fleet: Fleet) -> Iterator[Issue]:
    """Pods of a Deployment, StatefulSet or DaemonSet have a restart policy other than Always.

    Why: The API server refuses it: such pods run for ever. What is to end is a Job.
    Fix: Leave restartPolicy out, or make it a Job.
    """
    for workload in _apps(fleet):
        for pod_set in workload.pod_sets:
            written = text(pod_set.spec, "restartPolicy")
            if written in ("Never", "OnFailure"):
                message = f"restartPolicy is {written}, and pods of a {workload.kind} always restart"
                yield issue(pod_set, ("spec", "restartPolicy"), message, "leave it out, or make it a Job")


@rule("apps-strategy", severity="error", family=FAMILY)
def strategy(fleet: Fleet) -> Iterator[Issue]:
    """A Deployment's strategy contradicts itself.

    Why: The API server refuses `rollingUpdate` beside `type: Recreate`, and an update that may neither add nor remove a
    pod.
    Fix: Remove `rollingUpdate`, or allow one of the two.
    """
    for workload in _apps(fleet):
        if workload.kind != "Deployment":
            continue
        written = mapping(workload.manifest, "spec", "strategy")
        rolling = written.get("rollingUpdate")
        path = (*workload.path, "spec", "strategy", "rollingUpdate")
        if text(written, "type") == "Recreate" and isinstance(rolling, dict):
            yield Issue(workload.document, path, "rollingUpdate does not go with type Recreate", "remove it")
        elif isinstance(rolling, dict) and all(rolling.get(key) in (0, "0%") for key in ("maxSurge", "maxUnavailable")):
            message = "maxSurge and maxUnavailable are both 0, so that no pod can ever be replaced"
            yield Issue(workload.document, path, message, "allow one of them")


@rule("apps-service-name", severity="warning", family=FAMILY)
def service_name(fleet: Fleet) -> Iterator[Issue]:
    """A StatefulSet's `serviceName` is not the headless Service that selects its pods.

    Why: `<pod>.<serviceName>` resolves only below a headless Service of that very name. Nothing checks it.
    Fix: Write the name of the headless Service.
    """
    for workload in _apps(fleet):
        name = text(workload.manifest, "spec", "serviceName")
        if workload.kind != "StatefulSet" or not name or not workload.pod_sets:
            continue
        if fleet.namespaces.find("", "Service", workload.namespace, name):
            continue
        found = [item for item in fleet.of(("", "Service")) if headless(item) and _selects(fleet, item, workload)]
        if found:
            message = f'serviceName is "{name}", and the headless Service of its pods is "{found[0].name}"'
            related = (("the Service", found[0], ("metadata", "name")),)
            path = (*workload.path, "spec", "serviceName")
            yield Issue(workload.document, path, message, f"write serviceName: {found[0].name}", None, related)


def _selects(fleet: Fleet, service: Document, workload: Workload) -> bool:
    labels = pod_labels(workload, workload.pod_sets[0])
    here = fleet.namespaces.of(service) == workload.namespace
    return here and labels.selected(dig(service.manifest, "spec", "selector")) is True


@rule("apps-mount", severity="error", family=FAMILY)
def mount(fleet: Fleet) -> Iterator[Issue]:
    """A container mounts a volume that its pods do not have.

    Why: The object, or each pod made of its template, is refused: "volumeMounts[0].name: Not found".
    Fix: Add the volume, or correct the mount's name.
    """
    for workload in fleet.workloads:
        if workload.parts or not workload.document.judged or not _mounts_unjudged(workload):
            continue
        own = {
            text(item, "metadata", "name") for _, item in mappings(workload.manifest, "spec", "volumeClaimTemplates")
        }
        group = mapping(workload.manifest, "spec", "leaderWorkerTemplate")
        own |= {text(item, "metadata", "name") for _, item in mappings(group, "volumeClaimTemplates")}
        for pod_set in workload.pod_sets:
            volumes = own | {text(volume, "name") for _, volume in mappings(pod_set.spec, "volumes")}
            for path, container in containers(pod_set):
                for index, entry in mappings(container, "volumeMounts"):
                    name = text(entry, "name")
                    if name and name not in volumes:
                        message = f'{named(container)} mounts volume "{name}", which its pod does not have'
                        fix = nearest(name, volumes) or "add the volume"
                        yield issue(pod_set, (*path, "volumeMounts", index, "name"), message, fix)


def _mounts_unjudged(workload: Workload) -> bool:
    group = workload.document.group
    return workload.kind not in _MOUNTS_JUDGED and group in (
        "apps", "kubeflow.org", "ray.io", "leaderworkerset.x-k8s.io", "",
    )  # fmt: skip
