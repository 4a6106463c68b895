"""Namespaces as far as the input tells: their labels, and in which one an object lands."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from trainshed.fleet.access import dig, mapping, mappings, strings, text
from trainshed.fleet.document import Document
from trainshed.fleet.selectors import could_match, matches, plain_matches

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

__all__ = ["NAME_LABEL", "Namespaces", "could_match", "matches", "plain_matches"]

#: Set by the API server on every namespace (kubernetes v1.36, `pkg/registry/core/namespace/strategy.go`).
NAME_LABEL: Final = "kubernetes.io/metadata.name"


class Namespaces:
    """The namespaces of a fleet. `Namespace` objects of the input have all their labels; of others only the name
    is known."""

    def __init__(self, fleet: Fleet) -> None:
        self._documents = {document.name: document for document in fleet.of(("", "Namespace"))}
        self._destinations = _destinations(fleet)
        self._by_path: dict[tuple[str, ...], list[tuple[bool, str]]] = {}
        for path, recurse, namespace in self._destinations:
            self._by_path.setdefault(path, []).append((recurse, namespace))
        self._folders: dict[str, str | None] = {}
        self._fleet = fleet
        self._by_name: dict[tuple[str, str], dict[str, list[Document]]] = {}

    def document(self, name: str | None) -> Document | None:
        """The Namespace object, where the input has it."""
        return self._documents.get(name) if name else None

    def known(self, name: str | None) -> bool:
        """Whether the Namespace object is in the input, so that its labels are known."""
        return name in self._documents

    def labels(self, name: str | None) -> dict[str, str]:
        """The labels that are known, the automatic one with the name among them."""
        if not name:
            return {}
        document = self._documents.get(name)
        written = strings(document.manifest, "metadata", "labels") if document else {}
        return {**written, NAME_LABEL: name}

    def selected(self, selector: Any, name: str | None) -> bool | None:
        """Whether a namespace selector takes the namespace; None where that depends on labels not in the input."""
        if not name:
            return could_match(selector, {})
        return could_match(selector, self.labels(name), complete=self.known(name))

    def of(self, document: Document) -> str | None:
        """The namespace an object lands in: its own, else that of the one Argo CD Application whose source path its
        file lies in; None where neither tells. For a cluster-scoped object the answer has no meaning."""
        if document.namespace is not None:
            return document.namespace
        if not self._destinations:
            return None
        folder = posixpath.dirname(document.file.replace("\\", "/"))
        if folder not in self._folders:
            self._folders[folder] = self._covering(folder)
        return self._folders[folder]

    def find(self, group: str, kind: str, namespace: str | None, name: str) -> Document | None:
        """The namespaced object that a reference from `namespace` means: one there; else one that names no namespace;
        else, for a reference from an object that names none, the only one of that name."""
        found = self._fleet.find(group, kind, namespace, name) or self._fleet.find(group, kind, None, name)
        if found is not None or namespace is not None or not name:
            return found
        if (group, kind) not in self._by_name:
            by_name: dict[str, list[Document]] = {}
            for document in self._fleet.of((group, kind)):
                by_name.setdefault(document.name, []).append(document)
            self._by_name[group, kind] = by_name
        candidates = self._by_name[group, kind].get(name, [])
        return candidates[0] if len(candidates) == 1 else None

    def _covering(self, folder: str) -> str | None:
        parts = tuple(part for part in folder.split("/") if part not in ("", "."))
        found = {
            namespace
            for start in range(len(parts))
            for end in range(start + 1, len(parts) + 1)
            for recurse, namespace in self._by_path.get(parts[start:end], ())
            if recurse or end == len(parts)
        }
        return found.pop() if len(found) == 1 else None


def _destinations(fleet: Fleet) -> list[tuple[tuple[str, ...], bool, str]]:
    """(source path, whether it is read recursively, destination namespace) of the Applications with plain manifests."""
    found: list[tuple[tuple[str, ...], bool, str]] = []
    for application in fleet.of(("argoproj.io", "Application")):
        spec = mapping(application.manifest, "spec")
        namespace = text(spec, "destination", "namespace")
        sources = [item for _, item in mappings(spec, "sources")] or [mapping(spec, "source")]
        for source in sources:
            path = tuple(part for part in text(source, "path").split("/") if part not in ("", "."))
            if path and namespace and not any(field in source for field in ("chart", "helm", "kustomize", "plugin")):
                found.append((path, dig(source, "directory", "recurse") is True, namespace))
    return found
