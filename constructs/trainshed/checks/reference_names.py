"""References of other objects: namespaces, roles, storage classes, scale targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mappings, text
from trainshed.spelling import Names, near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "references"
_RBAC: Final = "rbac.authorization.k8s.io"
#: What a platform makes in each tenant's namespace.
_OF_TENANTS: Final = (("kueue.x-k8s.io", "LocalQueue"), ("", "LimitRange"), ("", "ResourceQuota"))
_SYSTEM: Final = ("kube-", "default")


@rule("reference-namespace", severity="error", family=FAMILY)
def namespace(fleet: Fleet) -> Iterator[Issue]:
    """An object is in a namespace that the input nearly has.

    Why: An object in a namespace that does not exist is refused; in one with a slip, all its references fail.
    Fix: Correct the namespace.
    """
    known = fleet.names("", "Namespace")
    if not known:
        return
    yield from _without_namespace(fleet, known)
    unknown = {item.namespace or "" for item in fleet.documents}.difference(known)
    misspelt = {name: near_miss(name, known) for name in unknown}
    for document in fleet.documents:
        near = misspelt.get(document.namespace or "")
        if near and document.judged:
            message = f'Namespace "{document.namespace}" is not in the input, but "{near}" is'
            yield Issue(document, ("metadata", "namespace"), message, f'did you mean "{near}"?')


def _without_namespace(fleet: Fleet, known: Names) -> Iterator[Issue]:
    """Tenants' objects in a namespace that is not in the input, where those of two or more other tenants are."""
    for kind in _OF_TENANTS:
        objects = fleet.of(kind)
        declared = {item.namespace for item in objects if item.namespace in known}
        strangers = {item.namespace for item in objects if item.namespace not in known}
        if len(declared) < 2 or len(strangers) != 1:
            continue
        for document in objects:
            name = document.namespace
            if name and name not in known and not near_miss(name, known) and not name.startswith(_SYSTEM):
                message = f'Namespace "{name}" is not in the input, which has those of all other {kind[1]}s'
                yield Issue(document, ("metadata", "namespace"), message, "add the Namespace", "warning")


@rule("reference-role", severity="error", family=FAMILY)
def role(fleet: Fleet) -> Iterator[Issue]:
    """A RoleBinding refers to a Role that its namespace does not have.

    Why: The binding is accepted and grants nothing; nobody is told.
    Fix: Correct the name of the Role, or add it in the binding's namespace.
    """
    for binding in fleet.of((_RBAC, "RoleBinding"), (_RBAC, "ClusterRoleBinding")):
        kind, name = text(binding.manifest, "roleRef", "kind"), text(binding.manifest, "roleRef", "name")
        namespace = binding.namespace if kind == "Role" else None
        if not name or not fleet.has_kind(_RBAC, kind) or fleet.namespaces.find(_RBAC, kind, namespace, name):
            continue
        others = fleet.names(_RBAC, kind, namespace)
        near = near_miss(name, others)
        if kind == "ClusterRole" and not near:  # most of those come with Kubernetes and with operators
            continue
        has = f", which has {listed(others, 5)}" if others else ", which has Roles of other namespaces only"
        message = f'{kind} "{name}" is not in the input{has}: the binding grants nothing'
        fix = f'did you mean "{near}"?' if near else "add the Role, or name another"
        yield Issue(binding, ("roleRef", "name"), message, fix, None if near else "warning")


@rule("reference-subject", severity="error", family=FAMILY)
def subject(fleet: Fleet) -> Iterator[Issue]:
    """A binding grants rights to a service account that is not there, but nearly.

    Why: The binding is accepted; whoever needs the rights is refused with Forbidden.
    Fix: Correct the subject's name or namespace.
    """
    for binding in fleet.of((_RBAC, "RoleBinding"), (_RBAC, "ClusterRoleBinding")):
        for index, entry in mappings(binding.manifest, "subjects"):
            name, namespace = text(entry, "name"), text(entry, "namespace") or binding.namespace
            if text(entry, "kind") != "ServiceAccount" or fleet.namespaces.find("", "ServiceAccount", namespace, name):
                continue
            if near := near_miss(name, fleet.names("", "ServiceAccount", namespace)):
                message = f'ServiceAccount "{name}" is not in the input, but "{near}" is in its namespace'
                yield Issue(binding, ("subjects", index, "name"), message, f'did you mean "{near}"?')


@rule("reference-storage-class", severity="error", family=FAMILY)
def storage_class(fleet: Fleet) -> Iterator[Issue]:
    """A claim names a StorageClass that the input nearly has.

    Why: A claim whose class does not exist stays Pending for ever, and with it the pods that use it.
    Fix: Correct `storageClassName`.
    """
    known = fleet.names("storage.k8s.io", "StorageClass")
    for claim in fleet.of(("", "PersistentVolumeClaim")):
        name = text(claim.manifest, "spec", "storageClassName")
        if name and name not in known and (near := near_miss(name, known)):
            message = f'StorageClass "{name}" is not in the input, but "{near}" is'
            yield Issue(claim, ("spec", "storageClassName"), message, f'did you mean "{near}"?')


@rule("reference-scale-target", severity="error", family=FAMILY)
def scale_target(fleet: Fleet) -> Iterator[Issue]:
    """An autoscaler's target is not there, but nearly.

    Why: The HorizontalPodAutoscaler reports FailedGetScale and never scales.
    Fix: Correct `scaleTargetRef.name`.
    """
    for scaler in fleet.of(("autoscaling", "HorizontalPodAutoscaler")):
        group, slash, _ = text(scaler.manifest, "spec", "scaleTargetRef", "apiVersion").rpartition("/")
        kind = text(scaler.manifest, "spec", "scaleTargetRef", "kind")
        name = text(scaler.manifest, "spec", "scaleTargetRef", "name")
        known = fleet.names(group if slash else "", kind, scaler.namespace)
        if not name or name in known:
            continue
        if near := near_miss(name, known):
            message = f'{kind} "{name}" is not in the input, but "{near}" is'
            yield Issue(scaler, ("spec", "scaleTargetRef", "name"), message, f'did you mean "{near}"?')
        elif known:
            message = f'{kind} "{name}" is not in the input, which has {listed(known)} in the namespace'
            fix = "name one of these, unless it is made elsewhere"
            yield Issue(scaler, ("spec", "scaleTargetRef", "name"), message, fix, "warning")
