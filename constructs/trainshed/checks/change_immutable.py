"""Changes that the API server will refuse: immutable fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.api.registry import model_for
from trainshed.checks.argocd import is_hook, is_live, replaces
from trainshed.checks.differences import first_difference, shown
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, mapping, text
from trainshed.fleet.amounts import quantity
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path, show_path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "changes"

#: Kinds without a model here (kubernetes v1.36, `pkg/apis/{apps,storage,core}/validation`).
_OTHERS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("apps", "DaemonSet"): ("spec.selector",),
    ("apps", "Deployment"): ("spec.selector",),
    ("apps", "ReplicaSet"): ("spec.selector",),
    ("apps", "StatefulSet"): (
        "spec.podManagementPolicy",
        "spec.selector",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    ("storage.k8s.io", "StorageClass"): ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef",),
}
#: A CEL rule `self == oldSelf` on an optional field is evaluated only when the field is there before and after.
_BY_CEL: Final = ("kueue.x-k8s.io", "trainer.kubeflow.org")
_RUNS: Final = ("batch", "batch.volcano.sh", "jobset.x-k8s.io", "trainer.kubeflow.org")
#: What may change below an immutable field all the same; `*` stands for an index.
_EXCEPT: Final[dict[tuple[str, str], tuple[tuple[str, ...], ...]]] = {
    ("batch.volcano.sh", "Job"): (
        ("spec", "minAvailable"),
        ("spec", "priorityClassName"),
        ("spec", "tasks", "*", "replicas"),
        ("spec", "tasks", "*", "minAvailable"),
    ),
    ("kai.scheduler", "Topology"): (("spec", "levels", "*", "alias"),),
}


def changed_pairs(fleet: Fleet) -> Iterator[tuple[Document, Document]]:
    """(before, after) of each object that is there before and after the change."""
    if fleet.baseline is None:
        return
    for document in fleet.documents:
        if document.judged and document.name and not document.generated:
            before = fleet.baseline.find(document.group, document.kind, document.namespace, document.name)
            if before is not None and before.judged and before.manifest != document.manifest:
                yield before, document


@rule("change-immutable-field", severity="error", family=FAMILY, baseline=True)
def immutable_field(fleet: Fleet) -> Iterator[Issue]:
    """The change edits a field that cannot be changed once the object exists.

    Why: The API server refuses the update, and the sync fails: the old object stays as it is.
    Fix: Give the changed object a new name (runs: a hash of the spec in the name); or let Argo CD delete and create it
    with the sync options `Force=true,Replace=true`; a hook with `BeforeHookCreation` is made anew for each sync.
    """
    for before, after in changed_pairs(fleet):
        if replaces(after) or is_hook(after):
            continue
        for field in _immutable(before):
            path: Path = tuple(field.split("."))
            old, new = dig(before.manifest, *path), dig(after.manifest, *path)
            if before.group in _BY_CEL and (old is None or new is None):
                continue
            found = _difference(before, after, path, old, new)
            if found:
                where, was, now = found
                message = f"{field} is immutable, and {_told(where, path)} changes from {shown(was)} to {shown(now)}"
                fix = "give the run a new name" if after.group in _RUNS else "make an object of another name"
                fix += ", or annotate it with argocd.argoproj.io/sync-options: Force=true,Replace=true"
                yield Issue(after, where, message, fix, None, (("before", before, where),))


def _immutable(document: Document) -> tuple[str, ...]:
    model = model_for(document.api_version, document.kind)
    if model is None:
        return _OTHERS.get((document.group, document.kind), ())
    fields: tuple[str, ...] = getattr(model, "IMMUTABLE", ())
    if mapping(document.manifest, "spec").get("topologyName"):
        fields += getattr(model, "IMMUTABLE_WITH_TOPOLOGY", ())
    if document.manifest.get("immutable") is True and document.kind in ("ConfigMap", "Secret"):
        fields += ("data", "binaryData", "immutable")
    return fields


def _difference(
    before: Document, after: Document, path: Path, old: object, new: object
) -> tuple[Path, object, object] | None:
    exceptions = _EXCEPT.get((before.group, before.kind), ())
    if exceptions:
        old, new = _without(old, path, exceptions), _without(new, path, exceptions)
    return first_difference(old, new, path, live=is_live(before))


def _without(node: object, path: Path, exceptions: tuple[tuple[str, ...], ...]) -> object:
    if isinstance(node, dict):
        return {
            key: _without(value, (*path, key), exceptions)
            for key, value in node.items()
            if not any(_same(exception, (*path, key)) for exception in exceptions)
        }
    if isinstance(node, list):
        return [_without(item, (*path, index), exceptions) for index, item in enumerate(node)]
    return node


def _same(exception: tuple[str, ...], path: Path) -> bool:
    if len(exception) != len(path):
        return False
    return all(wanted in ("*", part) for wanted, part in zip(exception, path, strict=True))


def _told(where: Path, path: Path) -> str:
    return show_path(where[len(path) :]) or "it"


@rule("change-shrunk-claim", severity="error", family=FAMILY, baseline=True)
def shrunk_claim(fleet: Fleet) -> Iterator[Issue]:
    """The change asks for less storage than a claim already has.

    Why: A bound claim can grow where its class allows it, but never shrink: the API server refuses the update.
    Fix: Keep the size; to have less, make a new claim and copy the data.
    """
    path: Path = ("spec", "resources", "requests", "storage")
    for before, after in changed_pairs(fleet):
        if after.kind != "PersistentVolumeClaim" or after.group:
            continue
        old, new = quantity(dig(before.manifest, *path)), quantity(dig(after.manifest, *path))
        if old is not None and new is not None and new < old:
            message = f"the claim shrinks from {old} to {new}, which the API server refuses"
            yield Issue(after, path, message, f"keep {text(before.manifest, *path) or old}, or make a new claim")
