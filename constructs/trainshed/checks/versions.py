"""Versions and kinds that the target's API server does not serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainshed.api.registry import KINDS, model_for
from trainshed.checks import schema_core
from trainshed.faults import nearest
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding
from trainshed.fleet.kueue_v1beta1 import NEW, OLD, Converted
from trainshed.target import Target

#: Groups whose kinds are all known: those modelled here and, by name only, the rest.
_OTHER_KINDS: Final[dict[str, frozenset[str]]] = {
    "batch.volcano.sh": frozenset(),
    "jobset.x-k8s.io": frozenset(),
    "kueue.x-k8s.io": frozenset({"Workload"}),
    "leaderworkerset.x-k8s.io": frozenset(),
    "scheduling.volcano.sh": frozenset(),
    "trainer.kubeflow.org": frozenset(),
}
_V1BETA2_SINCE: Final = (0, 15)


def version_findings(document: Document, target: Target) -> Iterator[Finding]:
    """A kind or version that is not served: then the object is refused, whatever it says. Deprecated versions too."""
    if isinstance(document, Converted):
        yield document.finding(
            "kueue-deprecated-version",
            "warning",
            f"{OLD} is deprecated; Kueue {target.kueue} stores {NEW}, so a diff against the cluster never ends",
            f"write {NEW} (`trainshed explain kueue-deprecated-version` lists what changes)",
            ("apiVersion",),
        )
        return
    if document.api_version == NEW and _release(target.kueue) < _V1BETA2_SINCE:
        message = f"{NEW} is served since Kueue 0.15; the target is {target.kueue}"
        yield document.finding("schema-version", "error", message, f"write {OLD}", ("apiVersion",))
        return
    if model_for(document.api_version, document.kind) is not None:
        return
    group = document.group
    known = {kind for version, kind in KINDS if _group(version) == group} if group else set()
    others = _OTHER_KINDS.get(group)
    if others is not None and document.kind not in known | others:
        yield _unknown_kind(document, sorted(known | others), document.api_version)
    elif document.kind in known:
        served = next(version for version, kind in KINDS if kind == document.kind and _group(version) == group)
        message = f"{document.api_version} {document.kind} is not served"
        yield document.finding("schema-version", "error", message, f"write apiVersion: {served}", ("apiVersion",))
    elif schema_core.is_builtin(group):
        yield from _builtin(document, target)


def _builtin(document: Document, target: Target) -> Iterator[Finding]:
    kinds = schema_core.kinds(target.kubernetes)
    if (document.api_version, document.kind) in kinds:
        return
    versions = sorted(version for version, kind in kinds if kind == document.kind)
    same_group = [version for version in versions if _group(version) == document.group] or versions
    if same_group:
        served = same_group[-1]
        message = f"Kubernetes {target.kubernetes} does not serve {document.api_version} {document.kind}"
        yield document.finding("schema-version", "error", message, f"write apiVersion: {served}", ("apiVersion",))
    else:
        here = sorted(kind for version, kind in kinds if version == document.api_version)
        yield _unknown_kind(document, here, f"{document.api_version} of Kubernetes {target.kubernetes}")


def _unknown_kind(document: Document, kinds: list[str], where: str) -> Finding:
    message = f"{where} has no kind {document.kind}"
    return document.finding("schema-unknown-kind", "error", message, nearest(document.kind, kinds), ("kind",))


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
