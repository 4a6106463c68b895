"""Words that Argo CD reads in annotations and sync options; what it does not know it ignores without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import (
    FAMILY,
    HELM_HOOK,
    HOOK,
    HOOK_DELETE,
    OPTIONS,
    WAVE,
    application_specs,
    hook_types,
    sync_options,
)
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import items, mapping
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_SWITCH: Final = ("true", "false")
_CONFIRM: Final = ("true", "false", "confirm")
#: Option → its values (argo-cd 3.5, `gitops-engine/pkg/sync/common/types.go` and `docs/user-guide/sync-options.md`).
_SYNC_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "ApplyOutOfSyncOnly": _SWITCH,
    "ClientSideApplyMigration": _SWITCH,
    "CreateNamespace": _SWITCH,
    "Delete": _CONFIRM,
    "FailOnSharedResource": _SWITCH,
    "Force": _SWITCH,
    "Prune": _CONFIRM,
    "PruneLast": _SWITCH,
    "PrunePropagationPolicy": ("background", "foreground", "orphan"),
    "Replace": _SWITCH,
    "RespectIgnoreDifferences": _SWITCH,
    "ServerSideApply": _SWITCH,
    "SkipDryRunOnMissingResource": _SWITCH,
    "Validate": _SWITCH,
}
_HOOKS: Final = ("PreSync", "Sync", "PostSync", "SyncFail", "PreDelete", "PostDelete", "Skip")
_HELM_HOOKS: Final = (
    "crd-install", "pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-delete", "post-delete",
    "pre-rollback", "post-rollback", "test", "test-success", "test-failure",
)  # fmt: skip
_DELETE_POLICIES: Final = ("HookSucceeded", "HookFailed", "BeforeHookCreation")
_PREFIX: Final = "argocd.argoproj.io/"
_ON_OBJECTS: Final = (WAVE, OPTIONS, HOOK, HOOK_DELETE)
_READ: Final = (WAVE, OPTIONS, HOOK, HOOK_DELETE, f"{_PREFIX}compare-options")
_ANNOTATIONS: Final = (
    *_READ, f"{_PREFIX}manifest-generate-paths", f"{_PREFIX}ignore-healthcheck", f"{_PREFIX}ignore-resource-updates",
    f"{_PREFIX}tracking-id", f"{_PREFIX}refresh", f"{_PREFIX}skip-reconcile", f"{_PREFIX}managed-by",
)  # fmt: skip


@rule("argocd-unknown-sync-option", severity="warning", family=FAMILY)
def unknown_sync_option(fleet: Fleet) -> Iterator[Issue]:
    """A sync option, or its value, that Argo CD does not know.

    Why: Unknown options are ignored without a word, so what they were meant for does not happen.
    Fix: Write one that exists, as `Name=value`.
    """
    for document in fleet.documents:
        if not document.judged:
            continue
        for option in sync_options(document):
            if found := _wrong_option(option):
                yield Issue(document, ("metadata", "annotations", OPTIONS), *found)
    for application, path, spec in application_specs(fleet):
        for index, option in enumerate(items(spec, "syncPolicy", "syncOptions")):
            if isinstance(option, str) and "{{" not in option and (found := _wrong_option(option)):
                yield Issue(application, (*path, "syncPolicy", "syncOptions", index), *found)


def _wrong_option(option: str) -> tuple[str, str] | None:
    name, equals, value = option.partition("=")
    values = _SYNC_OPTIONS.get(name)
    if values is None:
        fix = nearest(name, _SYNC_OPTIONS) or "remove it, or write one that exists"
        return f'"{name}" is no sync option of Argo CD, which ignores it', fix
    if not equals or not value:
        return f'sync option "{option}" has no value, so Argo CD ignores it', f'write "{name}={values[0]}"'
    if value not in values:
        return f'"{value}" is no value of {name}, so Argo CD ignores it', f"write one of {', '.join(values)}"
    return None


@rule("argocd-replace-beats-server-side", severity="warning", family=FAMILY)
def replace_beats_server_side(fleet: Fleet) -> Iterator[Issue]:
    """Objects are to be replaced and to be applied by the server at once.

    Why: `Replace=true` wins over `ServerSideApply=true` (argo-cd v3.5, `sync_context.go`): each sync puts the whole
    object in place of the live one, with what other controllers have written into it.
    Fix: Keep ServerSideApply; write Replace only on the objects that need it, and with Force.
    """
    message = "Replace=true wins over ServerSideApply=true, so each sync replaces the whole object"
    for document in fleet.documents:
        options = sync_options(document) if document.judged else ()
        if "Replace=true" in options and "ServerSideApply=true" in options and "Force=true" not in options:
            yield Issue(document, ("metadata", "annotations", OPTIONS), message, "remove Replace=true")
    for application, path, spec in application_specs(fleet):
        written = items(spec, "syncPolicy", "syncOptions")
        if "Replace=true" in written and "ServerSideApply=true" in written:
            at = (*path, "syncPolicy", "syncOptions", written.index("Replace=true"))
            yield Issue(application, at, message, "remove Replace=true")


@rule("argocd-unknown-hook", severity="error", family=FAMILY)
def unknown_hook(fleet: Fleet) -> Iterator[Issue]:
    """An object is a hook of a type that does not exist.

    Why: Argo CD takes the object out of the sync because it is a hook, and never runs it because it knows no such
    phase: it is never applied, and nobody is told.
    Fix: Write PreSync, Sync, PostSync, SyncFail, PreDelete or PostDelete; letter case counts.
    """
    for document in fleet.documents:
        found = document.annotations
        if not document.judged or not (HOOK in found or HELM_HOOK in found):
            continue
        key, known = (HOOK, _HOOKS) if HOOK in found else (HELM_HOOK, _HELM_HOOKS)
        path = ("metadata", "annotations", key)
        for kind in hook_types(document):
            if kind not in known:
                message = f'there is no hook "{kind}": Argo CD never applies the {document.kind}'
                yield Issue(document, path, message, nearest(kind, known) or f"write one of {', '.join(known)}")
        for policy in (part.strip() for part in found.get(HOOK_DELETE, "").split(",")):
            if policy and policy not in _DELETE_POLICIES:
                message = f'there is no hook-delete-policy "{policy}", so BeforeHookCreation holds'
                fix = nearest(policy, _DELETE_POLICIES) or f"write one of {', '.join(_DELETE_POLICIES)}"
                yield Issue(document, ("metadata", "annotations", HOOK_DELETE), message, fix, "warning")


@rule("argocd-annotation-without-effect", severity="warning", family=FAMILY)
def annotation_without_effect(fleet: Fleet) -> Iterator[Issue]:
    """What Argo CD reads in an annotation is misspelt, or written as a label.

    Why: Argo CD reads annotations of the object itself, by their exact keys. Everything else it ignores without a word:
    the wave is 0, the option is off, the hook is an ordinary object.
    Fix: Write the annotation under `metadata.annotations`, with its exact key.
    """
    for document in fleet.documents:
        metadata = mapping(document.manifest, "metadata")
        if not document.judged or not (metadata.get("annotations") or metadata.get("labels")):
            continue
        yield from _misspelt(document, metadata)
        for key in mapping(metadata, "labels"):
            if key in _READ:
                message = f"{key} is a label, and Argo CD reads it as an annotation only"
                yield Issue(document, ("metadata", "labels", key), message, "move it to metadata.annotations")
    for workload in fleet.workloads:
        for pod_set in workload.pod_sets:
            for key in pod_set.annotations:
                if key in _ON_OBJECTS and workload.kind != "Pod":
                    document, path = pod_set.at(("metadata", "annotations", key))
                    message = f"{key} is on a pod template, and Argo CD reads it on the {workload.kind} only"
                    yield Issue(document, path, message, "move it to metadata.annotations of the object")


def _misspelt(document: Document, metadata: dict[str, object]) -> Iterator[Issue]:
    for key in mapping(metadata, "annotations"):
        if not isinstance(key, str) or key in _ANNOTATIONS or "argo" not in key:
            continue
        prefix, _, name = key.partition("/")
        near = near_miss(key, _ANNOTATIONS)
        if not near and prefix != _PREFIX.rstrip("/") and f"{_PREFIX}{name}" in _READ:
            near = f"{_PREFIX}{name}"
        if near:
            path: Path = ("metadata", "annotations", key)
            yield Issue(document, path, f"Argo CD does not read {key}, but {near}", f"write {near}")


@rule("argocd-option-of-the-application", severity="warning", family=FAMILY)
def option_of_the_application(fleet: Fleet) -> Iterator[Issue]:
    """An option that only an Application can have stands on an object, or the other way round.

    Why: CreateNamespace, ApplyOutOfSyncOnly, FailOnSharedResource and RespectIgnoreDifferences concern a whole sync;
    Argo CD looks for them in the Application's `syncPolicy.syncOptions` only.
    Fix: Write the option in the Application's `spec.syncPolicy.syncOptions`.
    """
    for document in fleet.documents:
        for option in sync_options(document) if document.judged else ():
            name = option.partition("=")[0]
            if name in ("ApplyOutOfSyncOnly", "CreateNamespace", "FailOnSharedResource", "RespectIgnoreDifferences"):
                message = f"{name} is read in an Application's syncOptions only, not on a {document.kind}"
                path = ("metadata", "annotations", OPTIONS)
                yield Issue(document, path, message, "move it to spec.syncPolicy.syncOptions of the Application")
