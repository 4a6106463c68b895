"""Applications: sync options that are missing, misspelt or without effect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.argocd import APPLICATION, FAMILY, app_options, sync_options
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import dig, items, mappings, text
from trainshed.fleet.document import Document

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_KNOWN_OPTIONS: Final = (
    "ApplyOutOfSyncOnly",
    "ClientSideApplyMigration",
    "CreateNamespace",
    "Delete",
    "FailOnSharedResource",
    "Force",
    "PruneLast",
    "PrunePropagationPolicy",
    "Prune",
    "Replace",
    "RespectIgnoreDifferences",
    "ServerSideApply",
    "SkipDryRunOnMissingResource",
    "Validate",
)
#: Operators whose CRDs are above the 262,144 bytes that client-side apply can keep in its annotation.
_LARGE_CRDS: Final = (
    "jobset", "kai-scheduler", "kuberay", "kubeflow", "kueue", "leaderworkerset", "lws", "prometheus-operator",
    "kube-prometheus-stack", "training-operator", "trainer", "volcano",
)  # fmt: skip
_LAST_APPLIED_MAX: Final = 262_144
_OPTIONS_PATH: Final = ("spec", "syncPolicy", "syncOptions")


@rule("argocd-large-crds-client-side", severity="warning", family=FAMILY)
def large_crds_client_side(fleet: Fleet) -> Iterator[Issue]:
    """CRDs that are too large for client-side apply are applied that way.

    Why: Client-side apply keeps the whole object in an annotation, which may hold 262,144 bytes. The CRDs of Kueue,
    JobSet, Trainer and others are larger, and the sync fails with "Too long" (argo-cd#8128).
    Fix: Add `ServerSideApply=true` to the Application's sync options, or to the CRD's annotation.
    Bad:
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: kueue, namespace: argocd}
        spec:
          project: platform
          source: {repoURL: https://git.example.com/platform.git, path: vendor/kueue}
          destination: {server: https://kubernetes.default.svc, namespace: kueue-system}
    Good:
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: kueue, namespace: argocd}
        spec:
          project: platform
          source: {repoURL: https://git.example.com/platform.git, path: vendor/kueue}
          destination: {server: https://kubernetes.default.svc, namespace: kueue-system}
          syncPolicy: {syncOptions: [ServerSideApply=true]}
    """
    for application in fleet.of(APPLICATION):
        options = app_options(application)
        operator = _operator(application)
        if operator and "ServerSideApply=true" not in options and "Replace=true" not in options:
            message = f"the CRDs of {operator} are above the 262144 bytes that client-side apply can take"
            yield Issue(application, _OPTIONS_PATH, message, "add ServerSideApply=true to syncOptions")
    if any("ServerSideApply=true" in app_options(application) for application in fleet.of(APPLICATION)):
        return
    for crd in fleet.of(("apiextensions.k8s.io", "CustomResourceDefinition")):
        options = sync_options(crd)
        if "ServerSideApply=true" in options or "Replace=true" in options:
            continue
        size = len(json.dumps(crd.manifest, separators=(",", ":"), default=str))
        if size > _LAST_APPLIED_MAX:
            message = f"the CRD has {size} bytes, above the {_LAST_APPLIED_MAX} that client-side apply can take"
            fix = 'annotate it with argocd.argoproj.io/sync-options: "ServerSideApply=true"'
            yield Issue(crd, ("metadata", "annotations"), message, fix)


def _operator(application: Document) -> str:
    """The operator that an Application installs, told by the last part of its path or by its chart's name."""
    sources = [dig(application.manifest, "spec", "source"), *items(application.manifest, "spec", "sources")]
    for source in sources:
        if dig(source, "helm", "skipCrds") is True:
            continue
        parts = {text(source, "chart"), *text(source, "path").lower().split("/")}
        for operator in _LARGE_CRDS:
            if operator in parts:
                return operator
    return ""


@rule("argocd-ignored-field-applied", severity="warning", family=FAMILY)
def ignored_field_applied(fleet: Fleet) -> Iterator[Issue]:
    """A field is ignored when Argo CD compares, but still written when it syncs.

    Why: `ignoreDifferences` hides a difference; the next sync for another reason writes Git's value all the same, and
    an autoscaler's or a controller's decision is lost.
    Fix: Add `RespectIgnoreDifferences=true` to the sync options, or take the field out of Git.
    Bad:
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: serving, namespace: argocd}
        spec:
          project: platform
          source: {repoURL: https://git.example.com/platform.git, path: dist/serving}
          destination: {server: https://kubernetes.default.svc, namespace: team-a}
          syncPolicy: {automated: {selfHeal: true}}
          ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}]
        ---
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: serve, namespace: team-a}
        spec:
          replicas: 2
          selector: {matchLabels: {app: serve}}
          template: {metadata: {labels: {app: serve}}, spec: {containers: [{name: serve, image: serve}]}}
    Good:
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: serving, namespace: argocd}
        spec:
          project: platform
          source: {repoURL: https://git.example.com/platform.git, path: dist/serving}
          destination: {server: https://kubernetes.default.svc, namespace: team-a}
          syncPolicy: {automated: {selfHeal: true}, syncOptions: [RespectIgnoreDifferences=true]}
          ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}]
    """
    for application in fleet.of(APPLICATION):
        if "RespectIgnoreDifferences=true" in app_options(application):
            continue
        for index, entry in mappings(application.manifest, "spec", "ignoreDifferences"):
            for position, pointer in enumerate(items(entry, "jsonPointers")):
                holder = _holder(fleet, entry, pointer)
                if holder is not None:
                    message = (
                        f"{pointer} is ignored in comparisons, but {holder.kind} "
                        f'"{holder.name}" has it in Git and each sync writes it'
                    )
                    path = ("spec", "ignoreDifferences", index, "jsonPointers", position)
                    fix = f"add RespectIgnoreDifferences=true to syncOptions, or drop {pointer} from the manifest"
                    yield Issue(application, path, message, fix, None, (("the manifest", holder, _parts(pointer)),))


def _holder(fleet: Fleet, entry: Any, pointer: Any) -> Document | None:
    """An object of the input that the entry is about and that has the field."""
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        return None
    kind = (text(entry, "group"), text(entry, "kind"))
    for document in fleet.of(kind):
        named = text(entry, "name") in ("", document.name)
        placed = text(entry, "namespace") in ("", document.namespace)
        if named and placed and document.has(_parts(pointer)):
            return document
    return None


def _parts(pointer: str) -> tuple[str | int, ...]:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return tuple(int(part) if part.isdigit() and len(part) < 9 else part for part in parts)


@rule("argocd-unknown-sync-option", severity="warning", family=FAMILY)
def unknown_sync_option(fleet: Fleet) -> Iterator[Issue]:
    """A sync option that Argo CD does not know.

    Why: Unknown options are ignored without a word, so what they were meant for does not happen.
    Fix: Write one that exists, as `Name=value`.
    Bad:
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: runs, namespace: argocd}
        spec:
          project: platform
          source: {repoURL: https://git.example.com/platform.git, path: dist/runs}
          destination: {server: https://kubernetes.default.svc, namespace: team-a}
          syncPolicy: {syncOptions: [ServerSideAply=true]}
    Good:
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: runs, namespace: argocd}
        spec:
          project: platform
          source: {repoURL: https://git.example.com/platform.git, path: dist/runs}
          destination: {server: https://kubernetes.default.svc, namespace: team-a}
          syncPolicy: {syncOptions: [ServerSideApply=true]}
    """
    for document in fleet.documents:
        if not document.judged:
            continue
        for option in sync_options(document):
            if message := _unknown(option):
                path = ("metadata", "annotations", "argocd.argoproj.io/sync-options")
                yield Issue(document, path, message, nearest(option.partition("=")[0], _KNOWN_OPTIONS))
    for application in fleet.of(APPLICATION):
        for index, option in enumerate(items(application.manifest, *_OPTIONS_PATH)):
            if isinstance(option, str) and (message := _unknown(option)):
                fix = nearest(option.partition("=")[0], _KNOWN_OPTIONS)
                yield Issue(application, (*_OPTIONS_PATH, index), message, fix)


def _unknown(option: str) -> str:
    name, equals, value = option.partition("=")
    if name not in _KNOWN_OPTIONS:
        return f'"{name}" is no sync option of Argo CD, which ignores it'
    return "" if equals and value else f'sync option "{option}" has no value, so Argo CD ignores it'
