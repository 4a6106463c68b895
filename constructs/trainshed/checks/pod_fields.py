"""What pods read of themselves and of each other by name: labels, annotations, ports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import Node, dig, items, mapping, mappings, strings, text
from trainshed.fleet.paths import Path
from trainshed.fleet.pod_labels import pod_labels
from trainshed.fleet.workload import PodSet, Workload
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "pods"
_FIELD: Final = re.compile(r"metadata\.(labels|annotations)\[['\"]([^'\"]+)['\"]\]")
#: Prefixes of keys that only the controllers of workloads write.
_OWNED: Final = (
    "batch.kubernetes.io/", "jobset.sigs.k8s.io/", "jobset.x-k8s.io/", "leaderworkerset.sigs.k8s.io/",
    "leaderworkerset.x-k8s.io/", "volcano.sh/task", "training.kubeflow.org/", "apps.kubernetes.io/",
    "statefulset.kubernetes.io/", "trainer.kubeflow.org/",
)  # fmt: skip
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_JOB: Final = frozenset(f"batch.kubernetes.io/{key}" for key in ("controller-uid", "job-name", "job-completion-index"))
_JOB_ANNOTATIONS: Final = frozenset(
    f"batch.kubernetes.io/{key}"
    for key in ("job-completion-index", "job-index-failure-count", "job-index-ignored-failure-count", "job-tracking")
)
_JOBSET: Final = frozenset(
    f"jobset.sigs.k8s.io/{key}"
    for key in (
        "jobset-name", "jobset-uid", "replicatedjob-name", "replicatedjob-replicas", "job-index", "job-global-index",
        "global-replicas", "job-key", "restart-attempt", "group-name", "group-replicas", "job-group-index",
    )
)  # fmt: skip
_COORDINATOR: Final = "jobset.sigs.k8s.io/coordinator"
_ORDINAL: Final = frozenset({"apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name"})
_LWS: Final = "leaderworkerset.sigs.k8s.io/"
_LWS_LABELS: Final = frozenset(
    f"{_LWS}{key}" for key in ("name", "group-index", "worker-index", "group-key", "template-revision-hash")
) | frozenset(f"{_LWS}{key}" for key in ("subgroup-index", "subgroup-key"))
_LWS_ANNOTATIONS: Final = frozenset(
    f"{_LWS}{key}"
    for key in (
        "size", "replicas", "leader-name", "subgroup-size", "subgroup-policy-type", "subdomainPolicy",
        "exclusive-topology", "subgroup-exclusive-topology", "experimental-recreate-group-after-start",
    )
)  # fmt: skip
_VOLCANO: Final = frozenset({"volcano.sh/task-spec", "volcano.sh/task-index"})
_KUBEFLOW: Final = frozenset(
    f"training.kubeflow.org/{key}" for key in ("job-name", "replica-type", "replica-index", "operator-name", "job-role")
)


def _given(workload: Workload, pod_set: PodSet) -> tuple[frozenset[str], frozenset[str]] | None:
    """The (labels, annotations) with such prefixes that the controllers give the pods; None where that is not known."""
    form = workload.form
    if form == "JobSet":
        coordinator = mapping(workload.manifest, "spec", "coordinator")
        both = _JOBSET | ({_COORDINATOR} if coordinator else set())
        return _JOB | both, _JOB_ANNOTATIONS | both
    if form == "Job":
        return (_JOB, _JOB_ANNOTATIONS) if pod_set.job else (_VOLCANO, _VOLCANO)
    if form == "LeaderWorkerSet":
        return _LWS_LABELS | _ORDINAL, _LWS_ANNOTATIONS
    if form == "StatefulSet":
        return _ORDINAL, frozenset()
    if form in ("Deployment", "DaemonSet"):
        return frozenset(), frozenset()
    return (_KUBEFLOW, frozenset()) if form in ("pytorch", "tf", "jax", "xgb", "paddle") else None


@rule("pod-field-missing", severity="error", family=FAMILY)
def field_missing(fleet: Fleet) -> Iterator[Issue]:
    """A container reads a label or annotation of its pod that no controller sets.

    Why: A `fieldRef` to a key that the pod does not have is an empty text, without an error: torchrun refuses an empty
    rank, and an empty address is localhost. Each kind has keys of its own; `jobset.sigs.k8s.io/coordinator` is there
    only with `spec.coordinator`.
    Fix: Correct the key, or add it to the pod template.
    """
    for workload, pod_set in pod_sets(fleet):
        for path, written in _field_paths(pod_set):
            match = _FIELD.fullmatch(written)
            given = _given(workload, pod_set) if match and match[2].startswith(_OWNED) else None
            if match is None or given is None:
                continue
            field, key = match[1], match[2]
            there = given[0] if field == "labels" else given[1]
            own = strings(pod_set.template, "metadata", field)
            if key in there or key in own or (key == _INDEX and pod_set.job):
                continue
            what = "label" if field == "labels" else "annotation"
            message = f'pods of this {workload.kind} have no {what} "{key}", so the value is empty'
            yield issue(pod_set, path, message, _field_fix(key, field, given, there))


def _field_fix(key: str, field: str, given: tuple[frozenset[str], frozenset[str]], there: frozenset[str]) -> str:
    if key == _COORDINATOR:
        return "add spec.coordinator, or write the address"
    if key in given[0] | given[1]:
        other = "annotation" if field == "labels" else "label"
        return f"read the {other}: metadata.{other}s['{key}']"
    same = [other for other in sorted(there) if other.rpartition("/")[2] == key.rpartition("/")[2]]
    if same:
        return f'did you mean "{same[0]}"?'
    return nearest(key, sorted(there)) or "correct the key, or add it to the pod template"


def _field_paths(pod_set: PodSet) -> Iterator[tuple[Path, str]]:
    for path, container in containers(pod_set):
        for index, variable in mappings(container, "env"):
            if written := text(variable, "valueFrom", "fieldRef", "fieldPath"):
                yield (*path, "env", index, "valueFrom", "fieldRef", "fieldPath"), written
    for index, volume in mappings(pod_set.spec, "volumes"):
        for position, item in mappings(volume, "downwardAPI", "items"):
            if written := text(item, "fieldRef", "fieldPath"):
                yield ("spec", "volumes", index, "downwardAPI", "items", position, "fieldRef", "fieldPath"), written


@rule("pod-port-missing", severity="error", family=FAMILY)
def port_missing(fleet: Fleet) -> Iterator[Issue]:
    """A probe or hook names a port that its container does not declare.

    Why: The kubelet looks the name up in the container's own `ports`; without it the probe fails each time, and the pod
    never gets ready or is killed.
    Fix: Correct the name, or write the number.
    """
    probes = (("readinessProbe",), ("livenessProbe",), ("startupProbe",), ("lifecycle", "preStop"))
    for _, pod_set in pod_sets(fleet):
        for path, container in containers(pod_set):
            names = _port_names(container)
            for probe in (*probes, ("lifecycle", "postStart")):
                for action in ("httpGet", "tcpSocket"):
                    at = (*probe, action, "port")
                    port = dig(container, *at)
                    if isinstance(port, str) and port and not port.isdigit() and port not in names:
                        message = f'{named(container)} has no port called "{port}"'
                        fix = nearest(port, names) or "write the number of the port, or name it in ports"
                        yield issue(pod_set, (*path, *at), message, fix)


def _port_names(container: Node) -> list[str]:
    return [text(port, "name") for _, port in mappings(container, "ports") if text(port, "name")]


@rule("pod-service-port", severity="error", family=FAMILY)
def service_port(fleet: Fleet) -> Iterator[Issue]:
    """A Service leads to a port by a name that none of its pods has.

    Why: A `targetPort` in letters is looked up in the ports of each selected pod. Where no container has it, the
    Service has no endpoints, and every connection is refused.
    Fix: Correct targetPort, or name the container's port.
    """
    wanted = [
        (service, index, port)
        for service in fleet.of(("", "Service"))
        for index, entry in mappings(service.manifest, "spec", "ports")
        if isinstance(port := entry.get("targetPort"), str) and port and not port.isdigit()
    ]
    near: dict[str | None, list[tuple[Workload, PodSet]]] = {}
    for workload in fleet.workloads if wanted else ():
        near.setdefault(workload.namespace, []).extend((workload, pod_set) for pod_set in workload.pod_sets)
    for service, index, port in wanted:
        selector = dig(service.manifest, "spec", "selector")
        taken = [
            pod_set
            for workload, pod_set in near.get(fleet.namespaces.of(service), ())
            if pod_labels(workload, pod_set).selected(selector) is not False
        ]
        names = {name for pod_set in taken for _, container in containers(pod_set) for name in _port_names(container)}
        injected = any("sidecar.istio.io/inject" in (*item.annotations, *item.labels) for item in taken)
        if taken and port not in names and not injected and all(items(item.spec, "containers") for item in taken):
            document, at = taken[0].at(("spec", "containers"))
            message = f'none of the pods that the Service selects has a port called "{port}"'
            found = near_miss(port, sorted(names))
            fix = f'did you mean "{found}"?' if found else f"write {' or '.join(sorted(names))}" if names else ""
            path: Path = ("spec", "ports", index, "targetPort")
            fix = fix or "write the number of the port, or name it in the container's ports"
            yield Issue(service, path, message, fix, None, (("the pods", document, at),))
