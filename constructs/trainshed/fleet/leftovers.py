"""Objects that somebody else still has to finish: templates that were not rendered, values that are encrypted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding
from trainshed.fleet.paths import Path

ARGOCD_SKIP: Final = "+argocd:skip-file-rendering"  # argo-cd v3.5, reposerver/repository/repository.go
_HELM: Final = re.compile(r"\{\{-?\s*(?:\.(?:Values|Release|Chart|Capabilities|Template)\b|include\s|tpl\s)")
_SUBSTITUTED: Final = re.compile(r"\$\{[A-Za-z_]\w*(?::?[-=][^}]*)?\}")
# Their values hold templates for somebody else: Argo CD, a Helm controller, an operator.
_TEMPLATE_KINDS: Final = frozenset(
    {"ConfigMap", "Secret", "ApplicationSet", "Application", "HelmRelease", "HelmChart", "HelmChartConfig"}
)
_NAMING: Final[tuple[Path, ...]] = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


def encrypted(document: Document) -> bool:
    """Whether SOPS has encrypted the object's values (its `sops` block holds the keys and the checksum)."""
    block = document.manifest.get("sops")
    return isinstance(block, dict) and ("mac" in block or "lastmodified" in block)


def encrypted_finding(document: Document) -> Finding:
    """The note that an encrypted object is counted as present and not judged."""
    return document.finding(
        "sops-encrypted", "info", "is encrypted with SOPS: its values are not judged", "", ("sops",)
    )


def template_finding(document: Document) -> Finding | None:
    """The finding for template text that is left in an object's values, which is then not judged."""
    first: tuple[Path, str] | None = None
    naming = False
    for path, text in _strings(document.manifest, ()):
        essential = path in _NAMING or path[-1] == "image"
        if document.kind in _TEMPLATE_KINDS and path not in _NAMING:
            continue
        if "{{" in text if essential else _HELM.search(text):
            if first is None or (essential and not naming):
                first = (path, text)
            naming = naming or essential
    if first is not None:
        document.unjudged = "template"
        path, text = first
        return document.finding(
            "template-not-rendered",
            "error" if naming else "warning",
            f'the value "{text.strip()[:60]}" is left of a template',
            "check the rendered text (`helm template`)",
            path,
        )
    for path in _NAMING:
        value = _get(document.manifest, path)
        if isinstance(value, str) and (match := _SUBSTITUTED.search(value)):
            document.unjudged = "template"
            return document.finding(
                "template-not-rendered",
                "warning",
                f"{match[0]} is not substituted yet, so the object's name is not known and it is not judged",
                "check the text after substitution (`flux envsubst`, `envsubst`)",
                path,
            )
    return None


def _get(node: Any, path: Path) -> Any:
    for part in path:
        node = node.get(part) if isinstance(node, dict) else None
    return node


def _strings(node: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(node, str):
        if "{{" in node:
            yield path, node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _strings(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _strings(value, (*path, index))
