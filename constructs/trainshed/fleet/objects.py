"""From the values of a file to the Kubernetes objects in it: lists unrolled, everything else told apart."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final

from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding, Severity
from trainshed.fleet.paths import Path, show_path
from trainshed.fleet.positions import Extent, Positions

_KUSTOMIZE_GROUP: Final = "kustomize.config.k8s.io/"
_KUSTOMIZATIONS: Final = frozenset({"kustomization.yaml", "kustomization.yml"})
_LIST_DEPTH: Final = 20


@dataclass
class Counts:
    """What was read. `files`: texts; `objects`: Kubernetes objects; `not_kubernetes`: documents that are none (Helm
    values, workflows, kustomizations); `empty`: documents without content; `lists`: Lists that were unrolled;
    `skipped_files`: files that Argo CD skips; `chart_templates`: template folders of Helm charts, not read.
    """

    files: int = 0
    objects: int = 0
    not_kubernetes: int = 0
    empty: int = 0
    lists: int = 0
    skipped_files: int = 0
    chart_templates: int = 0


class Objects:
    """Collects `documents` and `findings` from the values that are handed to `add`."""

    def __init__(self, positions: Positions, counts: Counts) -> None:
        self.documents: list[Document] = []
        self.findings: list[Finding] = []
        self._positions = positions
        self._counts = counts
        self._patches: set[str] = set()

    def add(self, value: Any, extent: Extent, prefix: Path = ()) -> None:
        """Takes one document of a file, or one item of a List (`prefix` is its path in the document)."""
        if value.__class__ is not dict:
            self._not_a_mapping(value, extent, prefix)
            return
        api_version, kind = value.get("apiVersion"), value.get("kind")
        if not (api_version and kind and api_version.__class__ is str and kind.__class__ is str):
            self._incomplete(value, api_version, kind, extent, prefix)
        elif kind.endswith("List") and (kind == "List" or value.get("items").__class__ is list) and "spec" not in value:
            self._unroll(value, api_version, kind, extent, prefix)
        elif api_version.startswith(_KUSTOMIZE_GROUP):
            self._kustomization(value, extent)
        else:
            self._counts.objects += 1
            self.documents.append(Document(value, extent, self._positions, prefix))

    def mark_patches(self) -> None:
        """Call after the last `add`: what a kustomization lists as a patch is no complete object."""
        if self._patches:
            for document in self.documents:
                if os.path.normpath(document.file) in self._patches:
                    document.unjudged = "patch"

    def _unroll(self, value: dict[str, Any], api_version: str, kind: str, extent: Extent, prefix: Path) -> None:
        self._counts.lists += 1
        items = value.get("items")
        if items is None:
            return
        if items.__class__ is not list:
            self._found("not-an-object", "items of a List is not a list", "write a list", extent, (*prefix, "items"))
            return
        if len(prefix) > 2 * _LIST_DEPTH:
            message = f"Lists are nested more than {_LIST_DEPTH} levels deep"
            self._found("yaml-too-deep", message, "flatten them", extent, prefix)
            return
        for index, item in enumerate(items):
            if kind != "List" and item.__class__ is dict:  # a PodList's items leave out what the list says
                item.setdefault("apiVersion", api_version)
                item.setdefault("kind", kind.removesuffix("List"))
            self.add(item, extent, (*prefix, "items", index))

    def _not_a_mapping(self, value: Any, extent: Extent, prefix: Path) -> None:
        if value is None and not prefix:
            self._counts.empty += 1
            return
        items = value if isinstance(value, list) else []
        objects = any(isinstance(item, dict) and "kind" in item and "apiVersion" in item for item in items)
        firm = bool(extent.source.explicit or prefix or objects)
        if not firm:
            self._counts.not_kubernetes += 1
        fix = 'write the objects one after another with "---" between them, or as the items of a List'
        shown = "a list" if isinstance(value, list) else f"the single value {str(value)[:40]!r}"
        message = f"the {'item' if prefix else 'document'} is {shown}, not an object"
        fix = fix if items else "write a mapping with apiVersion and kind"
        self._found("not-an-object", message, fix, extent, prefix, "error" if firm else "info")

    def _incomplete(self, value: dict[str, Any], api_version: Any, kind: Any, extent: Extent, prefix: Path) -> None:
        if not (prefix or _meant_as_object(value, api_version, kind)):
            self._counts.not_kubernetes += 1
            if os.path.basename(extent.source.file) in _KUSTOMIZATIONS:  # noqa: PTH119
                self._note_patches(value, extent)
            return
        for code, field, got in (("missing-api-version", "apiVersion", api_version), ("missing-kind", "kind", kind)):
            if got and isinstance(got, str):
                continue
            like = next((key for key in value if key.lower() == field.lower() and key != field), "")
            if like:
                self._found(code, f'"{like}" should be "{field}"', f'write "{field}"', extent, (*prefix, like))
            elif field not in value:
                self._found(code, f"the object has no {field}", f'add "{field}"', extent, (*prefix, field))
            else:
                told = "is empty" if got is None or got == "" else f"is {str(got)[:40]}, not a string"
                self._found(code, f"{field} {told}", f"write a {field} as text", extent, (*prefix, field))

    def _kustomization(self, value: dict[str, Any], extent: Extent) -> None:
        self._counts.not_kubernetes += 1
        self._note_patches(value, extent)

    def _note_patches(self, value: dict[str, Any], extent: Extent) -> None:
        folder = os.path.dirname(extent.source.file)  # noqa: PTH120
        for field in ("patches", "patchesStrategicMerge", "patchesJson6902"):
            entries = value.get(field)
            for entry in entries if isinstance(entries, list) else ():
                path = entry.get("path") if isinstance(entry, dict) else entry
                if isinstance(path, str) and "\n" not in path:
                    self._patches.add(os.path.normpath(os.path.join(folder, path)))  # noqa: PTH118

    def _found(
        self, code: str, message: str, fix: str, extent: Extent, path: Path, severity: Severity = "error"
    ) -> None:
        place = self._positions.place(extent, path)
        self.findings.append(Finding(code, severity, message, fix, path=show_path(path), place=place))


def _meant_as_object(value: dict[str, Any], api_version: Any, kind: Any) -> bool:
    """Whether a mapping without a proper apiVersion and kind was to be an object. Charts, provisioning files of Grafana
    and pipelines of CI systems have one of the two as well, but neither `metadata` nor `spec`; kustomize needs none."""
    metadata = value.get("metadata")
    named = isinstance(metadata, dict) and ("name" in metadata or "generateName" in metadata)
    if api_version is None and kind is None:
        return named and ("spec" in value or "data" in value)
    if ("apiVersion" in value and "kind" in value) or "metadata" in value or "spec" in value:
        return True
    if isinstance(api_version, str) and "/" in api_version:
        return not api_version.startswith(_KUSTOMIZE_GROUP)
    return len(value) == 1
