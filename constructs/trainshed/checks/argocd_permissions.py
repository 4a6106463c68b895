"""Objects that a project does not allow its Applications to bring."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from trainshed.api.registry import KINDS as MODELLED
from trainshed.api.registry import scope_of
from trainshed.checks.argocd import APPLICATION, APPLICATION_SET, FAMILY, PROJECT, is_live, sources_of
from trainshed.checks.argocd_projects import allowed_by
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workloads import KINDS
from trainshed.spelling import near_miss, short_slip

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_LISTS: Final = (
    "clusterResourceBlacklist",
    "clusterResourceWhitelist",
    "namespaceResourceBlacklist",
    "namespaceResourceWhitelist",
)
#: Kinds without a model here that projects name.
_BUILT_IN: Final = (
    ("", "Endpoints"), ("", "Event"), ("", "Node"), ("", "PersistentVolume"), ("", "PodTemplate"), ("", "Secret"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("autoscaling", "HorizontalPodAutoscaler"), ("kueue.x-k8s.io", "Workload"),
    ("networking.k8s.io", "Ingress"), ("networking.k8s.io", "IngressClass"),
    ("policy", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "ClusterRole"), ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("storage.k8s.io", "StorageClass"),
)  # fmt: skip


@rule("argocd-project-refuses-kind", severity="error", family=FAMILY)
def project_refuses_kind(fleet: Fleet) -> Iterator[Issue]:
    """An Application brings an object of a kind, or in a namespace, that its project does not allow.

    Why: Argo CD refuses the whole sync: "resource … is not permitted in project". Cluster-scoped kinds are forbidden
    unless `clusterResourceWhitelist` names them; tenants' projects mostly forbid LocalQueue, ResourceQuota and
    RoleBinding.
    Fix: Move the object to an Application whose project may have it, or allow its kind in the AppProject.
    """
    projects = {item.name: item for item in fleet.of(PROJECT)}
    for name, documents in applied(fleet) if projects else ():
        project = projects.get(name)
        if project is None:
            continue
        for document in documents:
            if document.judged and not is_live(document) and (why := _why_refused(project, document)):
                field, reason = why
                path: Path = ("metadata", "namespace") if field == "destinations" else ("kind",)
                message = f'AppProject "{name}", to which this object\'s Application belongs, {reason}'
                related: tuple[tuple[str, Document, Path], ...] = (("what it allows", project, ("spec", field)),)
                fix = f"bring it with an Application of another project, or allow it in {field}"
                yield Issue(document, path, message, fix, None, related)


def _why_refused(project: Document, document: Document) -> tuple[str, str] | None:
    """(field of the project, reason) where the project does not allow the object."""
    scope = scope_of(document.api_version, document.kind)
    if scope is None and (document.group, document.kind) not in KINDS:
        return None
    reach = "cluster" if scope == "Cluster" else "namespace"
    kind = f"{document.kind} of {document.group}" if document.group else document.kind
    allowed, denied = f"{reach}ResourceWhitelist", f"{reach}ResourceBlacklist"
    spec = mapping(project.manifest, "spec")
    if any(_is_of(entry, document) for _, entry in mappings(spec, denied)):
        return denied, f"forbids {kind}"
    limited = reach == "cluster" or spec.get(allowed) is not None
    if limited and not any(_is_of(entry, document) for _, entry in mappings(spec, allowed)):
        return allowed, f"does not allow {kind}"
    namespace = document.namespace
    patterns = [text(entry, "namespace") for _, entry in mappings(spec, "destinations")]
    if reach == "namespace" and namespace and not allowed_by(patterns, namespace):
        return "destinations", f'does not allow namespace "{namespace}"'
    return None


def _is_of(entry: dict[str, Any], document: Document) -> bool:
    name = text(entry, "name")
    return (
        fnmatchcase(document.group, text(entry, "group"))
        and fnmatchcase(document.kind, text(entry, "kind"))
        and (not name or fnmatchcase(document.name, name))
    )


def applied(fleet: Fleet) -> Iterator[tuple[str, list[Document]]]:
    """(project, objects) of each Application whose objects the input shows: by the folder that is its source, or, in an
    input of one file with one Application, all the others."""
    sources = [(text(document.manifest, *path), where) for document, path, where in _paths(fleet)]
    folders = fleet.folders.documents if sources else {}
    found = False
    for project, where in sources:
        for name in fleet.folders.called(where):
            found = True
            yield project, folders[name]
    if len(sources) == 1 and len(folders) == 1 and not found:
        (documents,) = folders.values()
        yield sources[0][0], [item for item in documents if item.group != "argoproj.io"]


def _paths(fleet: Fleet) -> Iterator[tuple[Document, Path, str]]:
    """(document, path of the project's name, source folder) of Applications and of plain directories in sets."""
    for application in fleet.of(APPLICATION):
        for _, source in sources_of(mapping(application.manifest, "spec")):
            yield application, ("spec", "project"), text(source, "path").strip("/")
    for application_set in fleet.of(APPLICATION_SET):
        for index, generator in mappings(application_set.manifest, "spec", "generators"):
            own: Path = ("spec", "generators", index, "git", "template", "spec", "project")
            project = own if text(application_set.manifest, *own) else ("spec", "template", "spec", "project")
            for _, directory in mappings(generator, "git", "directories"):
                if directory.get("exclude") is not True:
                    yield application_set, project, text(directory, "path").strip("/")


@rule("argocd-project-unknown-kind", severity="warning", family=FAMILY)
def project_unknown_kind(fleet: Fleet) -> Iterator[Issue]:
    """A project allows or forbids a kind that does not exist, but nearly, or a group with a version.

    Why: Argo CD compares kinds as they are written, in singular and with capitals, and groups without version. An entry
    that matches nothing allows nothing, and, worse, forbids nothing.
    Fix: Write the kind as manifests do: `LocalQueue`.
    """
    known: dict[str, set[str]] = {}
    for version, kind in MODELLED:
        known.setdefault(version.rpartition("/")[0], set()).add(kind)
    for group, kind in (*KINDS, *_BUILT_IN):
        known.setdefault(group, set()).add(kind)
    for project in fleet.of(PROJECT):
        for field in _LISTS:
            for index, entry in mappings(project.manifest, "spec", field):
                kind, kinds = text(entry, "kind"), known.get(text(entry, "group"), set())
                if kind and kind not in kinds and "*" not in kind and (meant := _meant(kind, sorted(kinds))):
                    message = f'{field} names the kind "{kind}", which does not exist'
                    yield Issue(project, ("spec", field, index, "kind"), message, f'did you mean "{meant}"?')
                group = text(entry, "group")
                if "/" in group and "*" not in group:
                    message = f'{field} names the group "{group}", which matches nothing: a version is no part of it'
                    yield Issue(project, ("spec", field, index, "group"), message, f'write "{group.partition("/")[0]}"')


def _meant(kind: str, kinds: list[str]) -> str:
    plural = {name.lower() for name in (kind, kind.removesuffix("s"), kind.removesuffix("es"))}
    same = next((known for known in kinds if known.lower() in plural), "")
    return same or near_miss(kind, kinds) or short_slip(kind, kinds)
