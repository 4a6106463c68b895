"""Replicas that Git and an autoscaler both write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import FAMILY, application_specs, is_live
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, items, mapping, mappings, text
from trainshed.fleet.document import Document

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_SCALERS: Final = (("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject"))


@rule("argocd-autoscaled-replicas", severity="warning", family=FAMILY)
def autoscaled_replicas(fleet: Fleet) -> Iterator[Issue]:
    """`replicas` stands in Git, and an autoscaler changes it.

    Why: Each sync writes Git's number back: what the autoscaler has added is gone, and self-heal fights with it.
    Fix: Leave `replicas` out of the manifest, or ignore it in the Application with `ignoreDifferences` and
    `RespectIgnoreDifferences=true`.
    """
    for scaler in fleet.of(*_SCALERS):
        reference = mapping(scaler.manifest, "spec", "scaleTargetRef")
        group, slash, _ = (text(reference, "apiVersion") or "apps/v1").rpartition("/")
        kind, name = text(reference, "kind") or "Deployment", text(reference, "name")
        target = fleet.namespaces.find(group if slash else "", kind, scaler.namespace, name)
        if target is None or not target.judged or is_live(target) or dig(target.manifest, "spec", "replicas") is None:
            continue
        if not _ignores_replicas(fleet, target):
            message = (
                f'replicas is {dig(target.manifest, "spec", "replicas")} in Git, and {scaler.kind} "{scaler.name}" '
                "changes it: each sync writes it back"
            )
            related = (("the autoscaler", scaler, ("spec", "scaleTargetRef")),)
            yield Issue(target, ("spec", "replicas"), message, "leave replicas out of the manifest", None, related)


def _ignores_replicas(fleet: Fleet, target: Document) -> bool:
    """Whether an Application ignores the field; whether it also leaves it alone is another rule's question."""
    for _, _, spec in application_specs(fleet):
        for _, entry in mappings(spec, "ignoreDifferences"):
            if text(entry, "kind") not in ("*", target.kind) or text(entry, "group") not in ("*", target.group):
                continue
            written = [*items(entry, "jsonPointers"), *items(entry, "jqPathExpressions")]
            if any(isinstance(item, str) and item.endswith("replicas") for item in written):
                return True
    return False
