"""How Argo CD sees an object: its annotations, its order in a sync, the Application that brings it."""

from __future__ import annotations

import re
from typing import Final

from trainshed.fleet.access import items, strings, text
from trainshed.fleet.document import Document

FAMILY: Final = "Argo CD"
WAVE: Final = "argocd.argoproj.io/sync-wave"
OPTIONS: Final = "argocd.argoproj.io/sync-options"
HOOK: Final = "argocd.argoproj.io/hook"
HELM_HOOK: Final = "helm.sh/hook"
HOOK_DELETE: Final = "argocd.argoproj.io/hook-delete-policy"
APPLICATION: Final = ("argoproj.io", "Application")
PROJECT: Final = ("argoproj.io", "AppProject")

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


def annotations_of(document: Document) -> dict[str, str]:
    """The object's annotations."""
    return strings(document.manifest, "metadata", "annotations")


def sync_options(document: Document) -> list[str]:
    """The object's own sync options."""
    return [option.strip() for option in annotations_of(document).get(OPTIONS, "").split(",") if option.strip()]


def is_hook(document: Document) -> bool:
    """Whether Argo CD runs the object as a hook: on each sync, outside the waves of ordinary objects."""
    found = annotations_of(document)
    return found.get(HOOK, "Skip") != "Skip" or HELM_HOOK in found


def replaces(document: Document) -> bool:
    """Whether a change deletes the object and creates it again."""
    options = sync_options(document)
    return "Replace=true" in options and "Force=true" in options


def wave(document: Document) -> int:
    """The sync wave; what is no integer counts as 0 (argo-cd 3.5, `gitops-engine/pkg/sync/syncwaves/waves.go`)."""
    given = annotations_of(document).get(WAVE, "0")
    return int(given) if _INTEGER.fullmatch(given) else 0


def app_options(application: Document) -> list[str]:
    """The sync options of an Application."""
    return [item for item in items(application.manifest, "spec", "syncPolicy", "syncOptions") if isinstance(item, str)]


def destination_namespace(application: Document) -> str:
    """The namespace for objects that name none."""
    return text(application.manifest, "spec", "destination", "namespace")
