"""References of pods: priority classes, service accounts, claims, ConfigMaps and Secrets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed
from trainshed.checks.pod_references import Reference, references
from trainshed.checks.pods import issue, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import mapping, text
from trainshed.fleet.finding import Severity
from trainshed.fleet.workload import PodSet
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "references"
_CLASS: Final = ("scheduling.k8s.io", "PriorityClass")
_SYSTEM_CLASSES: Final = ("system-cluster-critical", "system-node-critical")
#: Where these are, the platform's cluster-scoped objects are in the input, and a PriorityClass would be among them.
_PLATFORM: Final = (
    _CLASS,
    ("kueue.x-k8s.io", "ClusterQueue"),
    ("kueue.x-k8s.io", "ResourceFlavor"),
    ("scheduling.volcano.sh", "Queue"),
)


@rule("reference-priority-class", severity="error", family=FAMILY)
def priority_class(fleet: Fleet) -> Iterator[Issue]:
    """A pod template names a PriorityClass that does not exist.

    Why: The API server refuses pods whose class does not exist. Kueue needs its value and makes no Workload at all: the
    job stays suspended without an event (kueue#15175).
    Fix: Correct the name, add the PriorityClass, or leave it out and order runs by WorkloadPriorityClass.
    """
    known = fleet.names(*_CLASS)
    whole = any(fleet.has_kind(*kind) for kind in _PLATFORM)
    for _, pod_set in pod_sets(fleet):
        name = text(pod_set.spec, "priorityClassName")
        if name and name not in known and name not in _SYSTEM_CLASSES:
            fix = nearest(name, known) or "add the PriorityClass, or leave priorityClassName out"
            message = f'PriorityClass "{name}" is not in the input; where it does not exist, no pod is made'
            yield issue(pod_set, ("spec", "priorityClassName"), message, fix, None if whole else "info")


@rule("reference-service-account", severity="error", family=FAMILY)
def service_account(fleet: Fleet) -> Iterator[Issue]:
    """A pod template names a service account whose namespace has others, but not this one.

    Why: The API server refuses the pods, and the job's controller tries again for ever.
    Fix: Correct the name, or add the ServiceAccount.
    """
    for workload, pod_set in pod_sets(fleet):
        field = "serviceAccountName" if text(pod_set.spec, "serviceAccountName") else "serviceAccount"
        name = text(pod_set.spec, field)
        if not name or name == "default" or fleet.namespaces.find("", "ServiceAccount", workload.namespace, name):
            continue
        others = fleet.names("", "ServiceAccount", workload.namespace)
        near = near_miss(name, others)
        elsewhere = [item.namespace for item in fleet.named("", "ServiceAccount", name) if item.namespace]
        if elsewhere and workload.namespace:
            message = f'ServiceAccount "{name}" is in namespace "{elsewhere[0]}", the pod in "{workload.namespace}"'
            yield issue(pod_set, ("spec", field), message, "make it in the pod's namespace: pods reach no other")
        elif others:
            message = f'ServiceAccount "{name}" is not in the input, which has {listed(others)} in its namespace'
            fix = f'did you mean "{near}"?' if near else "add the ServiceAccount"
            yield issue(pod_set, ("spec", field), message, fix, None if near else "warning")


@rule("reference-volume-source", severity="error", family=FAMILY)
def volume_source(fleet: Fleet) -> Iterator[Issue]:
    """A pod refers to a claim, ConfigMap or Secret that its namespace does not have, but nearly.

    Why: The pod stays Pending or in ContainerCreating until an object of that name appears: with a typo, for ever. A
    name with the hash of cdk8s or kustomize changes with the construct's path or the content; kustomize writes the new
    one into built-in kinds only. Of a claim that is merely not in the input, though another namespace may have one of
    that name, it is a note: storage is often made apart.
    Fix: Correct the name.
    """
    for workload, pod_set in pod_sets(fleet):
        told: set[tuple[str, str]] = set()
        for reference in references(pod_set):
            key = (reference.kind, reference.name)
            found = fleet.namespaces.find("", reference.kind, workload.namespace, reference.name)
            if found is None and key not in told:
                told.add(key)
                yield from _missing(fleet, workload.namespace, reference, pod_set)


def _missing(fleet: Fleet, namespace: str | None, reference: Reference, pod_set: PodSet) -> Iterator[Issue]:
    near = near_miss(reference.name, fleet.names("", reference.kind, namespace))
    elsewhere = [item for item in fleet.named("", reference.kind, reference.name) if item.namespace != namespace]
    if near:
        message = f'{reference.kind} "{reference.name}" is not in the input, but "{near}" is'
        yield issue(pod_set, reference.path, message, f'did you mean "{near}"?')
    elif renamed := fleet.names("", reference.kind, namespace).rehashed(reference.name):
        message = f'{reference.kind} "{reference.name}" is not in the input, but "{renamed}" is: its hash has changed'
        yield issue(pod_set, reference.path, message, f'write "{renamed}", or give it a name without a hash')
    elif elsewhere and namespace and elsewhere[0].namespace:
        message = (
            f'{reference.kind} "{reference.name}" is in namespace "{elsewhere[0].namespace}", the pod in "{namespace}"'
        )
        # A claim of the same name in each namespace is a common layout, and claims are often made apart from the rest.
        apart = reference.kind == "PersistentVolumeClaim" and not fleet.names("", reference.kind, namespace)
        severity: Severity | None = "info" if apart else None
        yield issue(pod_set, reference.path, message, "make it in the pod's namespace: pods reach no other", severity)
    elif reference.kind == "PersistentVolumeClaim" and (others := fleet.names("", reference.kind, namespace)):
        has = ", ".join(sorted(others)[:4])
        message = f'claim "{reference.name}" is not in the input, which has {has} in its namespace: unless it is made'
        message += " elsewhere, the pod stays Pending"
        yield issue(pod_set, reference.path, message, "add the claim, or name one of these", "info")


@rule("reference-key", severity="error", family=FAMILY)
def missing_key(fleet: Fleet) -> Iterator[Issue]:
    """A pod wants a key that the ConfigMap or Secret does not have.

    Why: The container is not created (CreateContainerConfigError), or the volume not mounted, until the key is there.
    Fix: Correct the key, or mark the reference as optional.
    """
    for workload, pod_set in pod_sets(fleet):
        for reference in references(pod_set):
            if not reference.key:
                continue
            holder = fleet.namespaces.find("", reference.kind, workload.namespace, reference.name)
            if holder is None or not holder.judged:
                continue
            fields = ("data", "binaryData") if reference.kind == "ConfigMap" else ("data", "stringData")
            keys = [str(key) for field in fields for key in mapping(holder.manifest, field)]
            if reference.key not in keys:
                message = f'{reference.kind} "{reference.name}" has no key "{reference.key}"'
                fix = nearest(reference.key, keys) or (f"it has {', '.join(keys)}" if keys else "add the key")
                yield issue(pod_set, reference.key_path, message, fix)
