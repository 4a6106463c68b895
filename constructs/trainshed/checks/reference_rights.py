"""Rights on kinds that do not exist: rules of Roles whose words are misspelt."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import items, mappings, text
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "references"
_RBAC: Final = "rbac.authorization.k8s.io"
_VERBS: Final = (
    "approve", "bind", "create", "delete", "deletecollection", "escalate", "get", "impersonate", "list", "patch",
    "sign", "update", "use", "watch",
)  # fmt: skip
_RESOURCES: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "bindings", "configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes",
        "persistentvolumeclaims", "persistentvolumes", "pods", "podtemplates", "replicationcontrollers",
        "resourcequotas", "secrets", "serviceaccounts", "services",
    ),
    "apps": ("controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"),
    "batch": ("cronjobs", "jobs"),
    "batch.volcano.sh": ("cronjobs", "jobs"),
    "jobset.x-k8s.io": ("jobsets",),
    "kubeflow.org": ("jaxjobs", "mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"),
    "kueue.x-k8s.io": (
        "admissionchecks", "clusterqueues", "cohorts", "localqueues", "multikueueclusters", "multikueueconfigs",
        "provisioningrequestconfigs", "resourceflavors", "topologies", "workloadpriorityclasses", "workloads",
    ),
    "leaderworkerset.x-k8s.io": ("leaderworkersets",),
    "ray.io": ("rayclusters", "raycronjobs", "rayjobs", "rayservices"),
    "scheduling.volcano.sh": ("podgroups", "queues"),
    "trainer.kubeflow.org": ("clustertrainingruntimes", "trainingruntimes", "trainjobs"),
    "visibility.kueue.x-k8s.io": ("clusterqueues", "localqueues"),
}  # fmt: skip


@rule("reference-right", severity="warning", family=FAMILY)
def right(fleet: Fleet) -> Iterator[Issue]:
    """A Role's rule names a verb, an API group or a resource that does not exist, but nearly.

    Why: The API server takes any word; the right is simply not granted, and whoever needs it gets Forbidden.
    Fix: Write the verb, the group, the resource in plural and lower case.
    """
    for role in fleet.of((_RBAC, "Role"), (_RBAC, "ClusterRole")):
        for index, entry in mappings(role.manifest, "rules"):
            groups = [group for group in items(entry, "apiGroups") if isinstance(group, str)]
            known = [resource for group in groups for resource in _RESOURCES.get(group, ())]
            complete = all(group in _RESOURCES for group in groups)
            for field, words in (
                ("apiGroups", _RESOURCES),
                ("resources", known if complete else ()),
                ("verbs", _VERBS),
            ):
                for position, word in enumerate(items(entry, field)):
                    if isinstance(word, str) and word not in words and (wrong := _meant(word, words)):
                        message = f'{field} names "{word}", which grants nothing'
                        yield Issue(role, ("rules", index, field, position), message, f'did you mean "{wrong}"?')


def _meant(word: str, known: Collection[str]) -> str:
    """The known word that was meant by `word`, which is none of them."""
    if not known or word in ("", "*"):
        return ""
    words = list(known)
    main = word.partition("/")[0]
    if main in words or main == "*":
        return ""
    plurals = (f"{main.lower()}s", f"{main.lower()}es", f"{main.lower().removesuffix('y')}ies", main.lower())
    from difflib import get_close_matches  # seldom needed, and it costs 3 ms of the start

    close = get_close_matches(main, words, n=1, cutoff=0.9) if "." in main else [near_miss(main, words)]
    return next((plural for plural in plurals if plural in words), "") or "".join(close)


@rule("reference-subject-namespace", severity="error", family=FAMILY)
def subject_namespace(fleet: Fleet) -> Iterator[Issue]:
    """A ClusterRoleBinding's service account has no namespace.

    Why: A ClusterRoleBinding lies in no namespace in which the account could be looked up: the API server refuses it. A
    RoleBinding's account without one is that of the binding's own namespace.
    Fix: Write the namespace of the service account.
    """
    for binding in fleet.of((_RBAC, "ClusterRoleBinding")):
        for index, subject in mappings(binding.manifest, "subjects"):
            if text(subject, "kind") == "ServiceAccount" and text(subject, "name") and not subject.get("namespace"):
                message = (
                    f'ServiceAccount "{text(subject, "name")}" has no namespace, and a ClusterRoleBinding has none'
                )
                yield Issue(binding, ("subjects", index), message, "write the namespace of the service account")
