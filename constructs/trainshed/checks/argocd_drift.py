"""Drift: what never compares equal to the live object, and objects that land where nobody meant them to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.api.registry import scope_of
from trainshed.checks.argocd import (
    APPLICATION,
    FAMILY,
    destination_namespace,
    folder,
    is_live,
    sources_of,
    under_argocd,
)
from trainshed.checks.pods import containers, issue, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, mapping, mappings, strings, text
from trainshed.fleet.amounts import quantity
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet
from trainshed.fleet.workloads import KINDS

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_QUOTA_KINDS: Final = (("kueue.x-k8s.io", "ClusterQueue"), ("kueue.x-k8s.io", "Cohort"))
#: Groups of custom resources with pod templates whose webhooks write the object again.
_COMPARED_AS_TEXT: Final = frozenset({"jobset.x-k8s.io", "leaderworkerset.x-k8s.io", "trainer.kubeflow.org"})
#: The largest amount that the API server keeps.
_MOST: Final = str(2**63 - 1)
_INSTANCE: Final = "app.kubernetes.io/instance"
_TRACKING: Final = "argocd.argoproj.io/tracking-id"
_QUOTA_FIELDS: Final = ("nominalQuota", "borrowingLimit", "lendingLimit")


@rule("argocd-quantity-not-canonical", severity="warning", family=FAMILY)
def quantity_not_canonical(fleet: Fleet) -> Iterator[Issue]:
    """A quota is not written as Kubernetes writes it back.

    Why: Kueue's webhook reads the object and writes it again, so `12000m` becomes `12` and `1024Mi` becomes `1Gi`. Argo
    CD compares custom resources as text and shows the queue as OutOfSync for ever. The same holds for the pod templates
    of JobSets, TrainJobs and LeaderWorkerSets, and for numbers in place of strings; both are looked at where the input
    shows Argo CD.
    Fix: Write the canonical form.
    """
    queues = fleet.of(*_QUOTA_KINDS)
    argocd = under_argocd(fleet) if fleet.workloads or queues else False
    for document in queues:
        for path, value in _quotas(document):
            if amount := _stored(value):
                if amount == _MOST:
                    yield Issue(document, path, *_beyond(path[-1], value))
                    continue
                message = f'{path[-1]} "{value}" is stored in its canonical form "{amount}", so Argo CD shows drift'
                yield Issue(document, path, message, f'write "{amount}"')
            elif argocd and isinstance(value, int | float) and (number := quantity(value)) is not None:
                message = f'{path[-1]} {value} is a number, stored in its canonical form, the string "{number}": '
                yield Issue(document, path, message + "Argo CD shows drift", f'write "{number}", in quotes')
    for workload, pod_set in pod_sets(fleet) if argocd else ():
        if workload.document.group in _COMPARED_AS_TEXT:
            for path, container in containers(pod_set):
                yield from _amounts(pod_set, path, container)


def _beyond(field: Any, value: Any) -> tuple[str, str]:
    """Message and fix for an amount that no quantity can hold."""
    return f'{field} "{value}" is beyond the maximum, {_MOST}, and stored as that', "write the amount that is meant"


def _stored(value: Any) -> str:
    """How the API server gives a quantity back, where that differs."""
    amount = quantity(value) if isinstance(value, str) else None
    return str(amount) if amount is not None and str(amount) != value else ""


def _amounts(pod_set: PodSet, path: Path, container: Node) -> Iterator[Issue]:
    for kind in ("requests", "limits"):
        for name, value in mapping(container, "resources", kind).items():
            if (amount := _stored(value)) == _MOST:
                yield issue(pod_set, (*path, "resources", kind, name), *_beyond(name, value))
            elif amount:
                message = f'{name} "{value}" is stored in its canonical form "{amount}", so Argo CD shows drift'
                yield issue(pod_set, (*path, "resources", kind, name), message, f'write "{amount}"')


def _quotas(document: Document) -> Iterator[tuple[Path, Any]]:
    for group, item in mappings(document.manifest, "spec", "resourceGroups"):
        for flavor, entry in mappings(item, "flavors"):
            for resource, amounts in mappings(entry, "resources"):
                for field in _QUOTA_FIELDS:
                    if field in amounts:
                        path = ("spec", "resourceGroups", group, "flavors", flavor, "resources", resource, field)
                        yield path, amounts[field]


@rule("argocd-instance-label", severity="info", family=FAMILY, targets=("argocd",))
def instance_label(fleet: Fleet) -> Iterator[Issue]:
    """An object carries the label that Argo CD tracked objects by before 3.0.

    Why: With label tracking Argo CD overwrites `app.kubernetes.io/instance` with the Application's name; operators that
    copy labels then spread it to objects that look like the Application's own. With annotation tracking, the default
    since 3.0, it is harmless.
    Fix: Leave the label out, or make sure that tracking is by annotation.
    """
    names = {application.name for application in fleet.of(APPLICATION)}
    for document in fleet.documents if names else ():
        label = strings(document.manifest, "metadata", "labels").get(_INSTANCE)
        if label and label not in names and document.judged and document.group != "argoproj.io":
            message = f'label {_INSTANCE} is "{label}", which label tracking would overwrite'
            path = ("metadata", "labels", _INSTANCE)
            yield Issue(document, path, message, "leave it out, or track by annotation (the default since Argo CD 3.0)")


@rule("argocd-tracking-in-git", severity="warning", family=FAMILY)
def tracking_in_git(fleet: Fleet) -> Iterator[Issue]:
    """A manifest in Git carries Argo CD's own tracking annotation.

    Why: Argo CD writes it itself; copied from a live object it makes this one look like another Application's.
    Fix: Remove the annotation.
    """
    for document in fleet.documents:
        if document.judged and _TRACKING in document.annotations and not is_live(document):
            message = f"{_TRACKING} is Argo CD's own and does not belong into Git"
            yield Issue(document, ("metadata", "annotations", _TRACKING), message, "remove it")


@rule("argocd-namespace-omitted", severity="warning", family=FAMILY)
def namespace_omitted(fleet: Fleet) -> Iterator[Issue]:
    """An object names no namespace, and would land in another than the one rendered beside it.

    Why: Argo CD puts an object without a namespace into the Application's destination namespace, kubectl into that of
    its context. When the manifests make a namespace of their own, that is mostly where it was meant to be.
    Fix: Write `metadata.namespace`.
    """
    destinations = {destination_namespace(application) for application in fleet.of(APPLICATION)}
    rendered = {item.name: folder(item) for item in fleet.of(("", "Namespace")) if item.name != "default"}
    if len(destinations) > 1 or (destinations & rendered.keys()):
        return
    known = destinations - {""}
    lost = [item for item in fleet.documents if item.namespace is None and item.judged and _namespaced(item)]
    told: set[int] = set()
    for document in lost if len(rendered) == 1 or known else ():
        near = next((name for name, where in rendered.items() if where == folder(document)), "")
        if near and (known or any(item.namespace == near for item in fleet.documents)):
            told.add(id(document))
            yield _omitted(document, near, known)
    rest = [document for document in lost if id(document) not in told and fleet.namespaces.of(document) is None]
    if rest and not _applied_from_elsewhere(fleet):
        yield from _alone(fleet, rest)


def _applied_from_elsewhere(fleet: Fleet) -> bool:
    """Whether an Application with a destination namespace may bring any object: its folder is not in the input."""
    for application in fleet.of(APPLICATION):
        paths = [text(source, "path").strip("/") for _, source in sources_of(mapping(application.manifest, "spec"))]
        there = any(fleet.folders.called(path) for path in paths)
        if destination_namespace(application) and not there:
            return True
    return False


def _alone(fleet: Fleet, lost: list[Document]) -> Iterator[Issue]:
    """Objects without a namespace in a folder whose two or more others all name one."""
    beside: dict[str, list[str]] = {}
    for item in fleet.documents:
        if item.namespace and item.group != "argoproj.io":
            beside.setdefault(folder(item), []).append(item.namespace)
    for document in lost:
        names = beside.get(folder(document), [])
        if len(names) > 1 and len(set(names)) == 1:
            message = (
                f"namespace is missing, while all {len(names)} other objects beside it name "
                f'"{names[0]}": it lands in the namespace of whoever applies it'
            )
            yield Issue(document, ("metadata", "namespace"), message, f'write "namespace: {names[0]}"')


def _omitted(document: Document, near: str, destinations: set[str]) -> Issue:
    lands = "it lands in the namespace of whoever applies it"
    if destinations:
        (destination,) = destinations
        lands = f'the Application puts it into "{destination}"'
    message = f'namespace is missing, and {lands}, while Namespace "{near}" is rendered beside it'
    return Issue(document, ("metadata", "namespace"), message, f'write "namespace: {near}"')


def _namespaced(document: Document) -> bool:
    return (document.group, document.kind) in KINDS or scope_of(document.api_version, document.kind) == "Namespaced"
