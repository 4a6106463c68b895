"""Custom resources against the CustomResourceDefinitions that the user names with `--crds`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trainshed.api.mistakes import Mistake
from trainshed.checks.schema_core import without_status
from trainshed.fleet.access import Node, mapping, mappings, text
from trainshed.fleet.document import Document


@dataclass
class CustomKind:
    """One served version of a custom resource."""

    kind: str
    schema: Node
    unevaluated: set[str] = field(default_factory=set)

    @cached_property
    def _compiled(self) -> tuple[Any, Node]:
        import jsonschema_rs

        from trainshed.checks.crds.structural import json_schema

        document = json_schema(self.schema, root=True)
        try:
            return jsonschema_rs.Draft202012Validator(document, validate_formats=True), document
        except ValueError:  # a pattern of Go's that Rust's engine does not know
            document = json_schema(self.schema, root=True, patterns=False)
            return jsonschema_rs.Draft202012Validator(document, validate_formats=True), document

    def mistakes(self, manifest: Node, before: Node | None = None) -> Iterator[Mistake]:
        """What the API server would refuse in `manifest`; with `before`, in the change from there too."""
        from trainshed.checks.crds.cel_rules import ABSENT, verdicts
        from trainshed.checks.crds.structural import prepared, repeated
        from trainshed.checks.schema_errors import mistakes_in

        validator, document = self._compiled
        new = prepared(self.schema, without_status(manifest))
        found = list(mistakes_in(validator, document, new))
        found += [Mistake("duplicate", path, f"two items have {key}", "") for path, key in repeated(self.schema, new)]
        yield from found
        if found:
            return
        old = ABSENT if before is None else prepared(self.schema, without_status(before))
        for verdict in verdicts(self.schema, new, old):
            if verdict.judged:
                yield Mistake("rules", verdict.path, verdict.message, "")
            else:
                self.unevaluated.add(verdict.message)


class CustomKinds:
    """The kinds of a set of CustomResourceDefinitions, by (apiVersion, kind)."""

    def __init__(self, definitions: Iterable[Document] = ()) -> None:
        self._kinds: dict[tuple[str, str], CustomKind] = {}
        for definition in definitions:
            self._add(definition)

    def __len__(self) -> int:
        return len(self._kinds)

    def _add(self, definition: Document) -> None:
        if (definition.group, definition.kind) != ("apiextensions.k8s.io", "CustomResourceDefinition"):
            return
        spec = mapping(definition.manifest, "spec")
        group, kind = text(spec, "group"), text(spec, "names", "kind")
        for _, version in mappings(spec, "versions"):
            schema = mapping(version, "schema", "openAPIV3Schema")
            if schema and version.get("served") is not False:
                self._kinds[f"{group}/{text(version, 'name')}", kind] = CustomKind(kind, schema)

    def find(self, document: Document) -> CustomKind | None:
        """The definition of a document's kind at its version, or None."""
        return self._kinds.get((document.api_version, document.kind)) if self._kinds else None

    @property
    def unevaluated(self) -> list[str]:
        """Rules that could not be evaluated, with the reason."""
        return sorted(rule for kind in self._kinds.values() for rule in kind.unevaluated)
