"""Custom resources against CustomResourceDefinitions: those of `--crds`, and those that lie in the input itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar

from trainshed.api.mistakes import Mistake
from trainshed.checks.schema_core import core_mistakes, without_status
from trainshed.fleet.access import Node, mapping, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding
from trainshed.fleet.paths import Path, show_path
from trainshed.target import TARGET

_Key = tuple[str, str]
_T = TypeVar("_T")
_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "CustomResourceDefinition"


@dataclass
class CustomKind:
    """One served version of a custom resource. `definition` and `path` say where its schema stands.

    `broken` says why nothing can be judged by the schema, once that is known; `told` that the definition, being an
    object of the input, has findings of its own which say so.
    """

    key: _Key
    schema: Node
    definition: Document
    path: Path
    release: str
    of_input: bool = False
    unevaluated: set[str] = field(default_factory=set)
    broken: str = ""
    told: bool = False

    @cached_property
    def usable(self) -> bool:
        """Whether objects can be judged by the schema: the API server takes it, and so does the validator."""
        for mistake in core_mistakes(self.definition.manifest, self.release):
            if mistake.kind != "extra_forbidden":
                self.broken = f"{show_path(mistake.path)}: {mistake.message}"
                self.told = self.of_input
                return False
        try:
            _ = self._compiled
        except (ValueError, TypeError) as error:
            self.broken = str(error).strip().partition("\n")[0][:160] or type(error).__name__
        return not self.broken

    @property
    def finding(self) -> Finding:
        """The finding that says that nothing is judged by the schema."""
        version, kind = self.key
        message = f"the schema of {version} {kind} cannot be used, so its objects are not judged by it: {self.broken}"
        return self.definition.finding("schema-crd-unusable", "warning", message, "correct the schema", self.path)

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
        if not self.usable:
            return
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

    def __init__(self, definitions: Iterable[Document] = (), release: str = TARGET.kubernetes) -> None:
        self._kinds: dict[_Key, CustomKind] = {}
        self._served: dict[_Key, list[str]] = {}
        for definition in definitions:
            if (definition.group, definition.kind) == (_GROUP, _KIND):
                self._kinds |= {kind.key: kind for kind in _versions(definition, release)}
                name, served = _served(definition)
                self._served.setdefault(name, []).extend(served)

    def __len__(self) -> int:
        return len(self._kinds)

    def find(self, document: Document) -> CustomKind | None:
        """The definition of a document's kind at its version, or None."""
        return self._kinds.get((document.api_version, document.kind)) if self._kinds else None

    def served(self, document: Document) -> list[str]:
        """The versions of a document's kind that are served; none where the kind is not defined."""
        return self._served.get((document.group, document.kind), []) if self._served else []

    @property
    def all(self) -> list[CustomKind]:
        """Every version of every kind."""
        return list(self._kinds.values())


class InputKinds:
    """The kinds that the input defines itself, as `helm template --include-crds` prints them.

    A document is judged by the definition of its own world (`worlds.worlds`), or by the only one that there is.
    """

    def __init__(
        self, documents: Iterable[Document], world_of: Callable[[Document], str], release: str = TARGET.kubernetes
    ) -> None:
        self._world_of = world_of
        self._kinds: dict[_Key, dict[str, CustomKind]] = {}
        self._served: dict[_Key, dict[str, list[str]]] = {}
        for document in documents:
            if document.kind == _KIND and document.api_version == f"{_GROUP}/v1" and document.judged:
                for kind in _versions(document, release, of_input=True):
                    self._kinds.setdefault(kind.key, {})[world_of(document)] = kind
                name, served = _served(document)
                self._served.setdefault(name, {})[world_of(document)] = served

    def find(self, document: Document) -> CustomKind | None:
        """The definition of a document's kind at its version, or None."""
        return self._of_world(self._kinds, (document.api_version, document.kind), document)

    def served(self, document: Document) -> list[str]:
        """The versions of a document's kind that are served; none where the kind is not defined."""
        return self._of_world(self._served, (document.group, document.kind), document) or []

    def _of_world(self, known: dict[_Key, dict[str, _T]], key: _Key, document: Document) -> _T | None:
        if not known or not (found := known.get(key)):
            return None
        own = found.get(self._world_of(document))
        return own if own is not None or len(found) > 1 else next(iter(found.values()))

    @property
    def all(self) -> list[CustomKind]:
        """Every version of every kind."""
        return [kind for found in self._kinds.values() for kind in found.values()]


def _served(definition: Document) -> tuple[_Key, list[str]]:
    spec = mapping(definition.manifest, "spec")
    versions = [text(item, "name") for _, item in mappings(spec, "versions") if item.get("served") is not False]
    return (text(spec, "group"), text(spec, "names", "kind")), versions


def _versions(definition: Document, release: str, *, of_input: bool = False) -> Iterator[CustomKind]:
    spec = mapping(definition.manifest, "spec")
    group, kind = text(spec, "group"), text(spec, "names", "kind")
    for index, version in mappings(spec, "versions"):
        schema = mapping(version, "schema", "openAPIV3Schema")
        if schema and version.get("served") is not False:
            path = ("spec", "versions", index, "schema", "openAPIV3Schema")
            yield CustomKind((f"{group}/{text(version, 'name')}", kind), schema, definition, path, release, of_input)
