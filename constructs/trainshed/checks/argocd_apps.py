"""Applications: sync options that are missing where they are needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.argocd import FAMILY, app_options, application_specs, sources_of, sync_options
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, dig, items, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: Operators whose CRDs are above the 262,144 bytes that client-side apply can keep in its annotation.
_OPERATOR: Final = re.compile(
    r"(jobset|kai-scheduler|kuberay|kuberay-operator|kubeflow|kubeflow-trainer|kueue|leaderworkerset|lws|"
    r"prometheus-operator|kube-prometheus-stack|training-operator|trainer|volcano)"
    r"(?:-(?:crds?|operator|controller|manager|install|v?[0-9][0-9a-z.-]*))?"
)
_UPSTREAM_PATH: Final = re.compile(r"(?:config|manifests|deploy|deployments|installer|helm|charts|bundle)(?:/|$)")
_CRD: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
_PLAIN_JQ: Final = re.compile(r"(?:\.[A-Za-z_][A-Za-z0-9_]*)+")
_LAST_APPLIED_MAX: Final = 262_144
_OPTIONS: Final = ("syncPolicy", "syncOptions")


@rule("argocd-large-crds-client-side", severity="warning", family=FAMILY)
def large_crds_client_side(fleet: Fleet) -> Iterator[Issue]:
    """CRDs that are too large for client-side apply are applied that way.

    Why: Client-side apply keeps the whole object in an annotation, which may hold 262,144 bytes. The CRDs of Kueue,
    JobSet, Trainer and others are larger, and the sync fails with "Too long" (argo-cd#8128).
    Fix: Add `ServerSideApply=true` to the Application's sync options, or to the CRD's annotation.
    """
    server_side = False
    for document, path, spec in application_specs(fleet):
        options = app_options(spec)
        server_side = server_side or "ServerSideApply=true" in options
        operator = _operator(fleet, spec)
        if operator and "ServerSideApply=true" not in options and "Replace=true" not in options:
            message = f"the CRDs of {operator} are above the 262144 bytes that client-side apply can take"
            yield Issue(document, (*path, *_OPTIONS), message, "add ServerSideApply=true to syncOptions")
    for crd in fleet.of(_CRD) if not server_side else ():
        options = sync_options(crd)
        if "ServerSideApply=true" in options or "Replace=true" in options:
            continue
        size = len(json.dumps(crd.manifest, separators=(",", ":"), default=str))
        if size > _LAST_APPLIED_MAX:
            message = f"the CRD has {size} bytes, above the {_LAST_APPLIED_MAX} that client-side apply can take"
            fix = 'annotate it with argocd.argoproj.io/sync-options: "ServerSideApply=true"'
            yield Issue(crd, ("metadata", "annotations"), message, fix)


def _operator(fleet: Fleet, spec: Node) -> str:
    """The operator whose CRDs an Application installs, told by its chart's name, its path or its repository."""
    for _, source in sources_of(spec):
        if dig(source, "helm", "skipCrds") is True:
            continue
        path = text(source, "path").strip("/")
        if path and _without_crds(fleet, path):
            continue
        parts = [text(source, "chart"), *path.lower().split("/")]
        if _UPSTREAM_PATH.match(path):
            parts.append(text(source, "repoURL").removesuffix(".git").rpartition("/")[2].lower())
        for part in parts:
            found = _OPERATOR.fullmatch(part)
            if found:
                return found[1]
    return ""


def _without_crds(fleet: Fleet, path: str) -> bool:
    """Whether the input has what stands at `path` of the repository, and no CRD is there."""
    there = fleet.folders.ending(path)
    return bool(there) and not any(item.kind == "CustomResourceDefinition" for item in there)


@rule("argocd-ignored-field-applied", severity="warning", family=FAMILY)
def ignored_field_applied(fleet: Fleet) -> Iterator[Issue]:
    """A field is ignored when Argo CD compares, but still written when it syncs.

    Why: `ignoreDifferences` hides a difference; the next sync for another reason writes Git's value all the same, and
    an autoscaler's or a controller's decision is lost.
    Fix: Add `RespectIgnoreDifferences=true` to the sync options, or take the field out of Git.
    """
    known: dict[tuple[Any, ...], Document | None] = {}
    for application, start, spec in application_specs(fleet):
        if "RespectIgnoreDifferences=true" in app_options(spec):
            continue
        for index, entry in mappings(spec, "ignoreDifferences"):
            for field in ("jsonPointers", "jqPathExpressions"):
                for position, pointer in enumerate(items(entry, field)):
                    key = (*(text(entry, name) for name in ("group", "kind", "name", "namespace")), str(pointer))
                    if key not in known:
                        known[key] = _holder(fleet, entry, pointer)
                    holder = known[key]
                    if holder is not None:
                        path = (*start, "ignoreDifferences", index, field, position)
                        yield _still_applied(application, path, pointer, holder)


def _still_applied(application: Document, path: Path, pointer: str, holder: Document) -> Issue:
    message = (
        f'{pointer} is ignored in comparisons, but {holder.kind} "{holder.name}" has it in Git and each sync writes it'
    )
    fix = f"add RespectIgnoreDifferences=true to syncOptions, or drop {pointer} from the manifest"
    return Issue(application, path, message, fix, None, (("the manifest", holder, _parts(pointer)),))


def _holder(fleet: Fleet, entry: Node, pointer: Any) -> Document | None:
    """An object of the input that the entry is about and that has the field."""
    if not isinstance(pointer, str) or not (pointer.startswith("/") or _PLAIN_JQ.fullmatch(pointer)):
        return None
    group, kind = text(entry, "group"), text(entry, "kind")
    candidates = fleet.documents if "*" in (group, kind) else fleet.of((group, kind))
    if "*" not in (group, kind) and text(entry, "name"):
        candidates = fleet.named(group, kind, text(entry, "name"))
    for document in candidates:
        fits = group in ("*", document.group) and kind in ("*", document.kind) and document.judged
        named = text(entry, "name") in ("", document.name)
        there = text(entry, "namespace") in ("", document.namespace)
        if fits and named and there and document.has(_parts(pointer)):
            return document
    return None


def _parts(pointer: str) -> tuple[str | int, ...]:
    separator = "/" if pointer.startswith("/") else "."
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split(separator)[1:]]
    return tuple(int(part) if part.isdigit() and len(part) < 9 else part for part in parts)
