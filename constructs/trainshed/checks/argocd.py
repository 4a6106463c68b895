"""How Argo CD sees an object: its annotations, its order in a sync, the Application that brings it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.fleet.access import Node, items, mapping, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "Argo CD"
WAVE: Final = "argocd.argoproj.io/sync-wave"
OPTIONS: Final = "argocd.argoproj.io/sync-options"
HOOK: Final = "argocd.argoproj.io/hook"
HELM_HOOK: Final = "helm.sh/hook"
HOOK_DELETE: Final = "argocd.argoproj.io/hook-delete-policy"
APPLICATION: Final = ("argoproj.io", "Application")
APPLICATION_SET: Final = ("argoproj.io", "ApplicationSet")
PROJECT: Final = ("argoproj.io", "AppProject")

INTEGER: Final = re.compile(r"[+-]?[0-9]+")
#: Hooks that run before the objects of the sync are there (argo-cd 3.5, `gitops-engine/pkg/sync/hook/helm/type.go`).
_BEFORE: Final = frozenset({"PreSync", "pre-install", "pre-upgrade"})


def sync_options(document: Document) -> list[str]:
    """The object's own sync options."""
    written = document.annotations.get(OPTIONS)
    return [option.strip() for option in written.split(",") if option.strip()] if written else []


def is_hook(document: Document) -> bool:
    """Whether Argo CD runs the object as a hook: on each sync, outside the waves of ordinary objects."""
    found = document.annotations
    return found.get(HOOK, "Skip") != "Skip" or HELM_HOOK in found


def hook_types(document: Document) -> list[str]:
    """The hook types that the object names: Argo CD's, otherwise Helm's."""
    found = document.annotations
    return [part.strip() for part in (found.get(HOOK) or found.get(HELM_HOOK, "")).split(",") if part.strip()]


def runs_before_sync(document: Document) -> bool:
    """Whether the object is a hook that runs before the ordinary objects of its sync are applied."""
    return is_hook(document) and bool(_BEFORE.intersection(hook_types(document)))


def is_live(document: Document) -> bool:
    """Whether the manifest was read from a cluster (`kubectl get -o yaml`), and so need not stand in Git as it is."""
    return bool(mapping(document.manifest, "metadata").get("uid"))


def replaces(document: Document) -> bool:
    """Whether a change deletes the object and creates it again."""
    options = sync_options(document)
    return "Replace=true" in options and "Force=true" in options


def wave(document: Document) -> int:
    """The sync wave; what is no integer counts as 0 (argo-cd 3.5, `gitops-engine/pkg/sync/syncwaves/waves.go`)."""
    given = document.annotations.get(WAVE, "0")
    return int(given) if INTEGER.fullmatch(given) else 0


def folder(document: Document) -> str:
    """The folder of the object's file. Waves order the objects of one Application, and that is mostly one folder."""
    return posixpath.dirname(document.file.replace("\\", "/"))


def under_argocd(fleet: Fleet) -> bool:
    """Whether the input shows that Argo CD applies it: an Application, or an annotation of Argo CD."""
    if any(fleet.has_kind(*kind) for kind in (APPLICATION, APPLICATION_SET)):
        return True
    return any(WAVE in found or OPTIONS in found for found in (item.annotations for item in fleet.documents))


def application_specs(fleet: Fleet) -> Iterator[tuple[Document, Path, Node]]:
    """(document, path, spec) of each Application and of each ApplicationSet's template."""
    for application in fleet.of(APPLICATION):
        yield application, ("spec",), mapping(application.manifest, "spec")
    for application_set in fleet.of(APPLICATION_SET):
        yield (
            application_set,
            ("spec", "template", "spec"),
            mapping(application_set.manifest, "spec", "template", "spec"),
        )


def sources_of(spec: Node) -> list[tuple[Path, Node]]:
    """(path in the spec, source) of an Application's one or several sources."""
    several = [(("sources", index), item) for index, item in mappings(spec, "sources")]
    one = [(("source",), mapping(spec, "source"))] if mapping(spec, "source") else []
    return [*one, *several]


def app_options(spec: Node) -> list[str]:
    """The sync options of an Application's spec."""
    return [item for item in items(spec, "syncPolicy", "syncOptions") if isinstance(item, str)]


def destination_namespace(application: Document) -> str:
    """The namespace for objects that name none."""
    return text(application.manifest, "spec", "destination", "namespace")
