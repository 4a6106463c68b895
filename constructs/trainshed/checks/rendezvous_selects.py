"""A Service by whose own name the processes of a run meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rendezvous_common import Meeting, meeting
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping
from trainshed.fleet.addresses import host_text, labels_of, service_of
from trainshed.fleet.document import Document
from trainshed.fleet.pod_labels import pod_labels
from trainshed.spelling import misspelt

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"
_NAMES_THE_RUN: Final = frozenset({
    "batch.kubernetes.io/job-name", "job-name", "jobset.sigs.k8s.io/jobset-name", "volcano.sh/job-name",
    "training.kubeflow.org/job-name", "leaderworkerset.sigs.k8s.io/name",
})  # fmt: skip


@rule("rendezvous-service-selects-none", severity="error", family=FAMILY)
def service_selects_none(fleet: Fleet) -> Iterator[Issue]:
    """The Service by whose name a run meets misses the run's pods by one label, and selects no others.

    Why: A name resolves to the pods that the Service selects. Where there are none nobody answers, and all nodes wait
    until the timeout.
    Fix: Correct the selector, or write the name of the pod of rank 0.
    """
    hosts: dict[int, tuple[Document, Meeting]] = {}
    for meets in meeting(fleet):
        run, _, address = meets
        labels = labels_of(host_text(address), run.workload.namespace)
        service = service_of(fleet, run.workload.namespace, labels[0]) if len(labels) == 1 else None
        if service is not None and service.judged and mapping(service.manifest, "spec", "selector"):
            hosts.setdefault(id(service), (service, meets))
    taken = _selecting(fleet, [service for service, _ in hosts.values()]) if hosts else set()
    for service, (run, member, address) in hosts.values():
        if id(service) in taken:
            continue
        selector = mapping(service.manifest, "spec", "selector")
        known = pod_labels(run.workload, member.pod_set).labels
        key = next((key for key in selector if _slip(key, selector[key], known)), "")
        if not key:
            continue
        message = f'the pods of {run.workload.kind} "{run.workload.document.name}" meet at {host_text(address)}, whose '
        message += f'selector wants {key}: "{selector[key]}", and theirs is "{known[key]}": it selects no pod'
        written, at = member.pod_set.at(address.path)
        related = (("the address", written, at),)
        yield Issue(service, ("spec", "selector", key), message, f"write {key}: {known[key]}", None, related)


def _slip(key: str, wanted: object, labels: dict[str, str]) -> bool:
    """Whether a selector wants another value of a label that the run's pods have, and means theirs: it is nearly that,
    or the label is one that a controller fills with the name of its object."""
    own = labels.get(key, "")
    if not isinstance(wanted, str) or not own or own == wanted:
        return False
    return key in _NAMES_THE_RUN or misspelt(wanted, own)


def _selecting(fleet: Fleet, services: list[Document]) -> set[int]:
    """Which of the Services select pods of the input, perhaps; each pod set is looked at once."""
    by_label: dict[tuple[str, object], list[Document]] = {}
    by_key: dict[str, list[Document]] = {}
    for service in services:
        key, value = next(iter(mapping(service.manifest, "spec", "selector").items()))
        by_label.setdefault((key, value if isinstance(value, str) else None), []).append(service)
        by_key.setdefault(key, []).append(service)
    found: set[int] = set()
    for workload in (*fleet.workloads, *fleet.templates):
        for pod_set in workload.pod_sets:
            known = pod_labels(workload, pod_set)
            likely = [service for label in known.labels.items() for service in by_label.get(label, ())]
            likely += [service for key in known.varying for service in by_key.get(key, ())]
            for service in likely:
                near = None in (service.namespace, workload.namespace) or service.namespace == workload.namespace
                if near and known.selected(mapping(service.manifest, "spec", "selector")) is not False:
                    found.add(id(service))
    return found
