"""Certificates that a controller writes into objects which Argo CD applies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import FAMILY, is_live, under_argocd
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_ADMISSION: Final = "admissionregistration.k8s.io"
_KINDS: Final = (
    (_ADMISSION, "ValidatingWebhookConfiguration"), (_ADMISSION, "MutatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"), ("apiregistration.k8s.io", "APIService"),
)  # fmt: skip
#: What generators write where a bundle has to be: nothing, and a line end in base64.
_PLACEHOLDERS: Final = ("", "Cg==", "XG4=")


@rule("argocd-bundle-placeholder", severity="warning", family=FAMILY)
def bundle_placeholder(fleet: Fleet) -> Iterator[Issue]:
    """A webhook has a placeholder for the certificate that a controller writes.

    Why: The controller, or cert-manager, puts the real `caBundle` in. With a placeholder in Git Argo CD shows drift for
    ever, and each sync takes the certificate away until it is written again: admission fails meanwhile.
    Fix: Leave `caBundle` out; a field that only the live object has is no drift. Or ignore its differences, with
    RespectIgnoreDifferences=true.
    """
    documents = [document for document in fleet.of(*_KINDS) if not is_live(document)]
    if not documents or not under_argocd(fleet) or _ignored(fleet):
        return
    for document in documents:
        for path in _bundles(document):
            if dig(document.manifest, *path) in _PLACEHOLDERS:
                message = "caBundle is a placeholder that a controller overwrites: Argo CD shows drift and puts it back"
                yield Issue(document, path, message, "leave caBundle out")


def _bundles(document: Document) -> Iterator[Path]:
    for index, _ in mappings(document.manifest, "webhooks"):
        yield ("webhooks", index, "clientConfig", "caBundle")
    yield ("spec", "conversion", "webhook", "clientConfig", "caBundle")
    yield ("spec", "caBundle")


def _ignored(fleet: Fleet) -> bool:
    """Whether an Application ignores differences of bundles."""
    for application in fleet.of(("argoproj.io", "Application")):
        for _, entry in mappings(application.manifest, "spec", "ignoreDifferences"):
            if "caBundle" in str(entry) or text(entry, "group") == _ADMISSION:
                return True
    return False
