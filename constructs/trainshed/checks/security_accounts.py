"""Service accounts: tokens that a run carries without need, rights that every pod or a run gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import is_live
from trainshed.checks.pod_security import violations
from trainshed.checks.pods import issue, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, items, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "security"
_RBAC: Final = "rbac.authorization.k8s.io"
_BINDINGS: Final = ((_RBAC, "RoleBinding"), (_RBAC, "ClusterRoleBinding"))
_EVERYBODY: Final = ("system:serviceaccounts", "system:authenticated", "system:unauthenticated")
#: Services and operators, which may need rights; everything else that makes pods is a run.
_SERVICES: Final = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})


def account_of(pod_set: PodSet) -> str:
    """The service account of the pods."""
    return text(pod_set.spec, "serviceAccountName") or text(pod_set.spec, "serviceAccount") or "default"


@rule("security-default-token", severity="warning", family=FAMILY)
def default_token(fleet: Fleet) -> Iterator[Issue]:
    """A run carries the token of the namespace's default service account.

    Why: Code from a dataset or a model that runs in the pod can talk to the API server with it, and whatever is ever
    granted to `default` is granted to every run. Reported where the mount is written down, where the input grants
    `default` something, and where the pod is otherwise as strict as Pod Security's `restricted`.
    Fix: Set `automountServiceAccountToken: false`, or give the run a service account of its own.
    """
    granted: dict[str | None, Document] | None = None
    for workload, pod_set in pod_sets(fleet):
        written = pod_set.spec.get("automountServiceAccountToken")
        if workload.kind in _SERVICES or account_of(pod_set) != "default" or written is False:
            continue
        if granted is None:
            granted = _rights_of_default(fleet)
        fix = "set automountServiceAccountToken to false, or name a service account of its own"
        at = ("spec", "automountServiceAccountToken") if written else ("spec",)
        binding = granted.get(workload.namespace)
        if written is not True and _off(fleet, workload):
            continue
        if binding is not None:
            message = (
                f'the pod carries the token of service account "default", to which {binding.kind} "{binding.name}" '
                f"grants {text(binding.manifest, 'roleRef', 'name')}"
            )
            yield issue(pod_set, at, message, fix)
        elif written is True:
            yield issue(pod_set, at, "the token of the namespace's default service account is mounted", fix)
        elif pod_set.spec.get("containers") and not any(violations("restricted", pod_set)):
            message = (
                "the pod is restricted in everything else, and still carries the token of the default service account"
            )
            yield issue(pod_set, at, message, fix)


def _off(fleet: Fleet, workload: Workload) -> bool:
    account = fleet.namespaces.find("", "ServiceAccount", workload.namespace, "default")
    return account is not None and account.manifest.get("automountServiceAccountToken") is False


def _rights_of_default(fleet: Fleet) -> dict[str | None, Document]:
    """Namespace → a binding that grants its default service account something."""
    found: dict[str | None, Document] = {}
    for binding in fleet.of(*_BINDINGS):
        for _, subject in mappings(binding.manifest, "subjects"):
            if text(subject, "kind") == "ServiceAccount" and text(subject, "name") == "default":
                found.setdefault(text(subject, "namespace") or binding.namespace, binding)
    return found


@rule("security-rights-for-everybody", severity="warning", family=FAMILY)
def rights_for_everybody(fleet: Fleet) -> Iterator[Issue]:
    """A binding grants rights to pods that did not ask for any.

    Why: `default` is the account of every pod that names none, `system:serviceaccounts` is every pod, and
    `system:authenticated` is everybody. Code from a dataset or a model in any run then has these rights.
    Fix: Bind the role to a service account that only the pods name that need it.
    """
    for binding in fleet.of(*_BINDINGS):
        role = text(binding.manifest, "roleRef", "name")
        if is_live(binding) or role.startswith("system:"):
            continue
        for index, subject in mappings(binding.manifest, "subjects"):
            if who := _everybody(subject):
                message = f'{binding.kind} "{binding.name}" grants {role} to {who}'
                severe = _all_powerful(fleet, binding)
                fix = "bind it to a service account of its own"
                yield Issue(binding, ("subjects", index, "name"), message, fix, "error" if severe else None)


def _everybody(subject: Node) -> str:
    kind, name = text(subject, "kind"), text(subject, "name")
    if kind == "ServiceAccount" and name == "default":
        return 'the service account "default": every pod that names no other'
    if kind == "Group" and (name in _EVERYBODY or name.startswith("system:serviceaccounts:")):
        return f'the group "{name}"'
    return f'the user "{name}"' if kind == "User" and name == "system:anonymous" else ""


@rule("security-run-with-all-rights", severity="error", family=FAMILY)
def run_with_all_rights(fleet: Fleet) -> Iterator[Issue]:
    """A run's service account may do everything.

    Why: Whatever code the run executes, a dataset's and a model's included, is then administrator of the cluster or of
    the namespace. Training needs no right at all in the API server.
    Fix: Bind a Role with the verbs and resources that the run needs, or none.
    """
    bound: dict[tuple[str | None, str], Document] = {}
    for binding in fleet.of(*_BINDINGS):
        if _all_powerful(fleet, binding):
            for _, subject in mappings(binding.manifest, "subjects"):
                if text(subject, "kind") == "ServiceAccount":
                    where = text(subject, "namespace") or binding.namespace
                    bound.setdefault((where, text(subject, "name")), binding)
    for workload, pod_set in pod_sets(fleet) if bound else ():
        account = account_of(pod_set)
        found = bound.get((workload.namespace, account))
        if found is None or workload.kind in _SERVICES:
            continue
        role = text(found.manifest, "roleRef", "name")
        message = f'service account "{account}" of the run is bound to {role}, which may do everything'
        document, path = pod_set.at(("spec", "serviceAccountName"))
        related = (("bound here", found, ("roleRef",)),)
        yield Issue(document, path, message, "bind a Role with what the run needs, or none", None, related)


def _all_powerful(fleet: Fleet, binding: Document) -> bool:
    """Whether a binding grants everything: cluster-admin, or a role of the input with every verb on everything."""
    kind, name = text(binding.manifest, "roleRef", "kind"), text(binding.manifest, "roleRef", "name")
    if kind == "ClusterRole" and name == "cluster-admin":
        return True
    role = fleet.find(_RBAC, kind, binding.namespace if kind == "Role" else None, name)
    for _, entry in mappings(role.manifest, "rules") if role is not None else ():
        if all("*" in items(entry, field) for field in ("apiGroups", "resources", "verbs")):
            return True
    return False
