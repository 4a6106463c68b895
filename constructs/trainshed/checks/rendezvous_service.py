"""The headless Service below which the pods of a run resolve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rendezvous_common import meeting
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, text
from trainshed.fleet.addresses import Domain, domain, headless, host_text, labels_of, pod_names, service_of
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.paths import Path
from trainshed.fleet.pod_labels import pod_labels
from trainshed.fleet.runs import Run
from trainshed.fleet.services import Services, services_of
from trainshed.fleet.workload import PodSet
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"
_BY_HAND: Final = frozenset({"Job", "Pod"})


def _below(fleet: Fleet) -> Iterator[tuple[Run, PodSet, Domain, bool]]:
    """Pod sets whose Service people write themselves, with their subdomain and whether the run uses their names."""
    used: dict[int, set[str]] = {}
    for run, _, address in meeting(fleet):
        used.setdefault(id(run), set()).add(host_text(address))
    for run in fleet.runs:
        for pod_set in run.workload.pod_sets if run.named and run.workload.form in _BY_HAND else ():
            found = domain(run.workload, pod_set)
            if found is None or found.managed or found.off:
                continue
            names = pod_names(run.workload, pod_set)
            hosts = [labels_of(host, run.workload.namespace) for host in used.get(id(run), ()) if host]
            uses = any(len(host) == 2 and names is not None and names.has(host[0]) for host in hosts)
            yield run, pod_set, found, uses


@rule("rendezvous-subdomain-missing", severity="error", family=FAMILY)
def subdomain_missing(fleet: Fleet) -> Iterator[Issue]:
    """A run uses the host names of its pods, and the pods have no subdomain.

    Why: A Job gives its pods host names, but they resolve only below a headless Service that `subdomain` names.
    Fix: Write the headless Service's name in the pod template's `subdomain`.
    """
    for run, member, address in meeting(fleet):
        labels = labels_of(host_text(address), run.workload.namespace)
        names, below = pod_names(run.workload, member.pod_set), domain(run.workload, member.pod_set)
        if run.workload.form not in _BY_HAND or below is None or below.off or below.name or names is None:
            continue
        if len(labels) == 2 and names.has(labels[0]):
            message = f"{address.label} names the pod {labels[0]}, but the pods have no subdomain, so it never resolves"
            yield issue(
                member.pod_set, ("spec", "subdomain"), message, f"add subdomain: {labels[1]} to the pod template"
            )


@rule("rendezvous-service-missing", severity="error", family=FAMILY)
def service_missing(fleet: Fleet) -> Iterator[Issue]:
    """The subdomain of a run's pods is not the name of a headless Service in their namespace.

    Why: Pods have DNS names only below a headless Service of that very name that selects them, in the same namespace.
    Fix: Write the Service's name in `subdomain`, or add the Service.
    """
    services = services_of(fleet)
    for run, pod_set, below, uses in _below(fleet):
        namespace = run.workload.namespace
        if not below.name or service_of(fleet, namespace, below.name):
            continue
        there = services.get(namespace) or Services()
        selecting = there.selecting(pod_labels(run.workload, pod_set))
        elsewhere = next((item for item in fleet.named("", "Service", below.name) if item.judged), None)
        where = f"namespace {namespace}" if namespace else "its namespace"
        message = f'the pods\' subdomain is "{below.name}", and {where} has no headless Service of that name'
        related: tuple[tuple[str, Document, Path], ...] = ()
        severity: Severity | None = None
        if selecting:
            message += f'; Service "{selecting.name}" selects these pods'
            fix = f"write subdomain: {selecting.name}, or rename the Service"
            related = (("the Service that selects them", selecting, ("metadata", "name")),)
        elif elsewhere:
            message += f"; the one in {elsewhere.namespace or 'no namespace'} does not count"
            fix = "move the Service into the namespace of the pods"
            related = (("the Service of that name", elsewhere, ("metadata", "namespace")),)
        elif near := near_miss(below.name, there.names):
            fix = f'did you mean "{near}"?'
        elif uses:
            fix = f'add a headless Service "{below.name}" that selects the pods'
            if not there.all:
                severity, message = "warning", f"{message} in the input; without one the pods' names do not resolve"
        else:
            continue
        yield Issue(below.document, below.path, message, fix, severity, related)


@rule("rendezvous-service-not-headless", severity="error", family=FAMILY)
def service_not_headless(fleet: Fleet) -> Iterator[Issue]:
    """The Service that a run's pods have as their subdomain is not headless.

    Why: A Service with a cluster IP has one name for all its pods; names of single pods need `clusterIP: None`.
    Fix: Write `clusterIP: None`. The field is immutable: the Service has to be made anew.
    """
    for run, _, below, uses in _below(fleet):
        service = service_of(fleet, run.workload.namespace, below.name)
        if service is None or not service.judged or headless(service) or not (uses or run.pods > 1):
            continue
        if text(service.manifest, "spec", "type") == "ExternalName":
            continue
        shown = text(service.manifest, "spec", "clusterIP") or "not written"
        message = f'clusterIP is {shown}; pods of {run.workload.kind} "{run.workload.document.name}" resolve below it'
        message += " only when it is headless"
        path = ("spec", "clusterIP") if service.has(("spec", "clusterIP")) else ("spec",)
        yield Issue(
            service, path, message, "write clusterIP: None", None, (("their subdomain", below.document, below.path),)
        )


@rule("rendezvous-selector-mismatch", severity="error", family=FAMILY)
def selector_mismatch(fleet: Fleet) -> Iterator[Issue]:
    """The headless Service of a run's pods does not select them.

    Why: A Service gives names only to pods that its selector matches. The labels are those of the template and those
    that the controller adds: `batch.kubernetes.io/job-name` (and, older, `job-name`) with the Job's name.
    Fix: Correct the selector.
    """
    for run, pod_set, below, _ in _below(fleet):
        service = service_of(fleet, run.workload.namespace, below.name)
        if service is None or not service.judged or not headless(service):
            continue
        selector = mapping(service.manifest, "spec", "selector")
        known = pod_labels(run.workload, pod_set)
        if known.selected(selector) is not False:
            continue
        if not selector:
            if any(fleet.find(group, kind, service.namespace, service.name) for group, kind in _ENDPOINTS):
                continue
            message, fix = "it has no selector, so no pod has a name below it", "add a selector"
            path: Path = ("spec",)
        else:
            wrong = next(key for key in selector if known.labels.get(key) != selector[key] and key not in known.varying)
            has = f'have "{known.labels[wrong]}"' if wrong in known.labels else "have no such label"
            message = f'the selector wants {wrong}: "{selector[wrong]}", and the pods of {run.workload.kind} '
            message += f'"{run.workload.document.name}" {has}, so their names do not resolve'
            fix = f"write {wrong}: {known.labels[wrong]}" if wrong in known.labels else _selector_fix(run)
            path = ("spec", "selector", wrong)
        yield Issue(service, path, message, fix, None, (("their subdomain", below.document, below.path),))


_ENDPOINTS: Final = (("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice"))


def _selector_fix(run: Run) -> str:
    name = text(run.workload.manifest, "metadata", "name")
    if run.workload.form == "Job" and name:
        return f"select batch.kubernetes.io/job-name: {name}"
    return "select a label of the pod template"
