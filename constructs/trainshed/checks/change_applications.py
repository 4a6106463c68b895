"""Changes that leave objects without their Application, or hand them to another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import sync_options
from trainshed.checks.argocd_owners import App, apps, owned
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "changes"
_NAMED: Final = 3


@rule("change-application-removed", severity="warning", family=FAMILY, baseline=True)
def application_removed(fleet: Fleet) -> Iterator[Issue]:
    """The change removes an Application that has objects in the cluster.

    Why: Objects that go from Git are pruned by their Application, and that one is deleted. An ApplicationSet with
    `preserveResourcesOnDeletion: true`, or an Application without `resources-finalizer.argocd.argoproj.io`, leaves
    them in the cluster: runs keep their GPUs, and nothing in Git knows of them. Otherwise Argo CD deletes all at
    once, and does not ask for those that carry `Prune=confirm`; that is a note where no runs are among them. The last
    file of a directory that a git generator names is such a case: its Application goes with it.
    Fix: Remove the objects first, and wait until they are gone from the cluster; then the Application, or its element.
    """
    if fleet.baseline is None:
        return
    here = {app.name for app in apps(fleet)}
    gone = [app for app in apps(fleet.baseline) if app.name not in here]
    if not gone:
        return
    before = owned(fleet.baseline)
    after = owned(fleet).keys() or {document.identity for document in fleet.documents}  # input that begins elsewhere
    left: dict[str, list[Document]] = {}
    for document in fleet.baseline.documents:
        app = before.get(document.identity)
        if app is not None and document.judged and document.identity not in after:
            left.setdefault(app.name, []).append(document)
    runs = {workload.document.identity for workload in fleet.baseline.workloads}
    for app in gone:
        objects = left.pop(app.name, [])
        live = fleet.find(app.document.group, app.document.kind, app.document.namespace, app.document.name)
        stays = app.stays if live is not None else "Prune=false" in sync_options(app.document)
        if objects and not stays:
            yield _removed(app, live, sorted(objects, key=lambda item: item.identity not in runs), runs)


def _removed(app: App, live: Document | None, objects: list[Document], runs: set[tuple[str, str, str, str]]) -> Issue:
    mode = "preserveResourcesOnDeletion" if app.document.kind == "ApplicationSet" else "it has no finalizer for them"
    has_runs = objects[0].identity in runs
    if app.cascades:
        objects = [item for item in objects if "Delete=false" not in sync_options(item)] or objects
        happens = f"Argo CD deletes {_listed(objects)} with it at once"
    else:
        happens = f"Argo CD leaves {_listed(objects)} in the cluster ({mode}), and nothing in Git knows of them"
        happens += ": runs go on and keep their GPUs" if has_runs else ""
    message = f'Application "{app.name}" of {app.path} is removed by this change: {happens}'
    fix = "keep it, and an object in its folder, until these have been pruned; or delete them first (kubectl delete)"
    document, path = (app.document, app.at) if live is None else (live, _above(app.at))
    related = tuple((f"{item.kind} {item.name}", item, ("metadata", "name")) for item in objects[:_NAMED])
    return Issue(document, path, message, fix, "info" if app.cascades and not has_runs else None, related)


def _above(at: Path) -> Path:
    """The list that an element which is no longer there stood in, as far as it surely is there still."""
    return at[:2]


@rule("change-application-moved", severity="info", family=FAMILY, baseline=True)
def application_moved(fleet: Fleet) -> Iterator[Issue]:
    """The change hands objects from one Application to another.

    Why: The tracking id of a live object (annotation `argocd.argoproj.io/tracking-id`) names the old Application. With
    `FailOnSharedResource=true` each sync of the new one fails ("Shared resource found") until the old one has pruned
    the object, which ends a run, or the annotation is gone: a warning. Otherwise the Application that syncs last owns
    the object; one that is deleted meanwhile may take it along.
    Fix: Keep the name of the folder, or remove the annotation from the live objects before the sync.
    """
    if fleet.baseline is None:
        return
    before, after = owned(fleet.baseline), owned(fleet)
    moved: dict[tuple[str, str], list[Document]] = {}
    for document in fleet.documents if before else ():
        old, new = before.get(document.identity), after.get(document.identity)
        if old is not None and new is not None and old.name != new.name and document.judged:
            moved.setdefault((old.name, new.name), []).append(document)
    for (old_name, new_name), objects in moved.items():
        new = after[objects[0].identity]
        refuses = "FailOnSharedResource=true" in new.options
        happens = "its syncs fail (FailOnSharedResource)" if refuses else "the one that syncs last owns them"
        message = f'Application "{new_name}" takes over {_listed(objects)} from "{old_name}": while the live objects '
        message += f"name the old one in their tracking id, {happens}"
        fix = "keep the folder, or first remove the annotation argocd.argoproj.io/tracking-id from the live objects"
        related = (("the new Application", new.document, new.at),)
        yield Issue(objects[0], ("metadata", "name"), message, fix, "warning" if refuses else None, related)


def _listed(objects: Iterable[Document]) -> str:
    """The first of the objects by kind and name, and the number of the others."""
    names = [f"{item.kind} {item.namespace + '/' if item.namespace else ''}{item.name}" for item in objects]
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
