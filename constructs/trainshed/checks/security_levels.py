"""Pod Security levels of namespaces, and pods that they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pod_security import LEVELS, violations
from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import strings

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "security"
_PREFIX: Final = "pod-security.kubernetes.io/"
_MODES: Final = ("enforce", "audit", "warn")
_KEYS: Final = tuple(f"{_PREFIX}{mode}{end}" for mode in _MODES for end in ("", "-version"))
_ENFORCE: Final = "pod-security.kubernetes.io/enforce"


@rule("security-pod-security", severity="error", family=FAMILY)
def pod_security(fleet: Fleet) -> Iterator[Issue]:
    """A namespace enforces a Pod Security level that refuses the pods of a workload in it.

    Why: The API server takes the job and refuses its pods: the job stays without pods, and only an event of its
    controller tells.
    Fix: Bring the pod template to the level, or lower the namespace's level on purpose: RDMA's IPC_LOCK, for one, needs
    `privileged`.
    """
    levels = {
        item.name: strings(item.manifest, "metadata", "labels").get(_ENFORCE, "privileged")
        for item in fleet.of(("", "Namespace"))
    }
    if not any(level in LEVELS[1:] for level in levels.values()):
        return
    for workload in fleet.workloads:
        level = levels.get(workload.namespace or "", "privileged")
        for pod_set in workload.pod_sets if level in LEVELS[1:] else ():
            for path, wrong, right in violations(level, pod_set):
                message = f'{wrong}, which namespace "{workload.namespace}" refuses: it enforces {level}'
                yield issue(pod_set, path, message, right)


@rule("security-unknown-level", severity="error", family=FAMILY)
def unknown_level(fleet: Fleet) -> Iterator[Issue]:
    """A namespace names a Pod Security level that does not exist.

    Why: An unknown level is enforced as `restricted`, and pods are refused that were to be allowed.
    Fix: Write `privileged`, `baseline` or `restricted`.
    """
    for namespace in fleet.of(("", "Namespace")):
        labels = strings(namespace.manifest, "metadata", "labels")
        for mode in _MODES:
            key = f"pod-security.kubernetes.io/{mode}"
            if key in labels and labels[key] not in LEVELS:
                message = f'"{labels[key]}" is no Pod Security level'
                yield Issue(namespace, ("metadata", "labels", key), message, "write privileged, baseline or restricted")


@rule("security-level-key", severity="error", family=FAMILY)
def level_key(fleet: Fleet) -> Iterator[Issue]:
    """A Pod Security level stands under a key, or in a place, where nobody reads it.

    Why: Levels are labels of the Namespace: `pod-security.kubernetes.io/enforce`, `audit` or `warn`. An annotation or a
    misspelt mode is ignored without a word, and the namespace enforces nothing.
    Fix: Write the label `pod-security.kubernetes.io/enforce`.
    """
    for namespace in fleet.of(("", "Namespace")):
        for field in ("labels", "annotations"):
            for key in strings(namespace.manifest, "metadata", field):
                if not key.startswith(_PREFIX):
                    continue
                path = ("metadata", field, key)
                if key in _KEYS and field == "annotations":
                    message = f"{key} is an annotation, and only the label counts: the namespace enforces nothing"
                    yield Issue(namespace, path, message, "write it as a label")
                elif key not in _KEYS and field == "labels":
                    message = f"{key} is no key of Pod Security, so it is ignored"
                    yield Issue(namespace, path, message, nearest(key, _KEYS) or f"write {_ENFORCE}")
