"""The schema pass: every object against the schema of its kind, before any rule looks at the whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from trainshed.api.base import ObjectMeta
from trainshed.api.mistakes import Mistake, mistakes_of
from trainshed.api.registry import model_for
from trainshed.checks import schema_core
from trainshed.checks.removed_fields import removed
from trainshed.checks.schema_crds import CustomKind, CustomKinds, InputKinds
from trainshed.checks.schema_templates import modelled_parts
from trainshed.checks.versions import version_findings
from trainshed.fleet.access import mapping
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding
from trainshed.fleet.kueue_v1beta1 import Converted
from trainshed.fleet.paths import Path
from trainshed.target import Target

#: Codes by the kind of a mistake: pydantic's error types, and what `schema_errors` calls them.
_CODES: Final = {
    "extra_forbidden": "schema-unknown-field",
    "missing": "schema-missing-field",
    "version": "schema-version",
    "literal_error": "schema-enum",
    "shape": "schema-format",
    "quantity": "schema-quantity",
    "duplicate": "schema-duplicate-item",
    "rules": "schema-rule",
    "value_error": "schema-rule",
    "assertion_error": "schema-rule",
    "bounds": "schema-bounds",
    "greater_than_equal": "schema-bounds",
    "less_than_equal": "schema-bounds",
    "greater_than": "schema-bounds",
    "less_than": "schema-bounds",
    "multiple_of": "schema-bounds",
    "string_too_short": "schema-bounds",
    "string_too_long": "schema-bounds",
    "string_pattern_mismatch": "schema-format",
    "too_short": "schema-bounds",
    "too_long": "schema-bounds",
}
#: Codes whose findings point to the value: the key is right.
_AT_VALUE: Final = frozenset({"schema-bounds", "schema-enum", "schema-format", "schema-quantity", "schema-type"})
_VERBS: Final = (
    "are|asks|becomes|begins|belongs|can|cannot|contains|did|differs|divides|does|ends|exceeds|goes|had|has|holds|is|leads|makes"
    "|matches|may|must|names(?! with)|needs|puts|says|stands|starts|takes|wait|waits|wants|was|were|works"
)
#: How a message begins that goes on from its field's name: "is …", "5 is …". Others are sentences of their own.
_CONTINUES: Final = re.compile(rf"""(?:(?:"[^"]*"|-?\d[\w.%-]*|true|false|null|\[[^\]]*\]) )?(?:{_VERBS})\b""")
#: Fields that v1beta1 does not have yet, by kind.
_NEW_IN_V1BETA2: Final = {
    "ClusterQueue": ("cohortName", "concurrentAdmissionPolicy"),
    "MultiKueueCluster": ("clusterSource",),
    "MultiKueueConfig": ("quotaManagement",),
}


class SchemaPass:
    """Judges documents one by one; counts those whose kind nobody knows."""

    def __init__(
        self, target: Target, custom: CustomKinds, of_input: InputKinds, before: Callable[[Document], Document | None]
    ) -> None:
        self.unknown_kinds: dict[str, int] = {}
        self._target = target
        self._custom = custom
        self._of_input = of_input
        self._before_of = before

    def findings(self, document: Document) -> Iterator[Finding]:
        """What the schema of its kind refuses in `document`; nothing for a kind without a schema."""
        yield from version_findings(document, self._target)
        told: set[Path] = set()
        for mistake in self._mistakes(document):
            if mistake.path not in told or mistake.kind == "rules":
                told.add(mistake.path)
                yield _finding(document, mistake)

    def _mistakes(self, document: Document) -> Iterator[Mistake]:
        manifest = document.manifest
        if isinstance(document, Converted):
            yield from _too_new(document)
        written = document.original if isinstance(document, Converted) else document
        model = model_for(document.api_version, document.kind)
        custom = self._defined(written, of_input=model is None)
        of_crd = list(custom.mistakes(written.manifest, self._before(written))) if custom else []
        if model is not None:
            of_model = list(_model_mistakes(model, manifest, ()))
            yield from of_model if custom is None else _both(of_crd, of_model)
            return
        yield from of_crd
        yield from _model_mistakes(ObjectMeta, mapping(manifest, "metadata"), ("metadata",))
        for path, part, data in modelled_parts(document):
            yield from _model_mistakes(part, data, path)
        if schema_core.is_builtin(document.group):
            yield from schema_core.core_mistakes(manifest, self._target.kubernetes)
        elif custom is None:
            yield from self._not_served(written)
            key = f"{document.api_version} {document.kind}"
            self.unknown_kinds[key] = self.unknown_kinds.get(key, 0) + 1

    def _defined(self, document: Document, *, of_input: bool) -> CustomKind | None:
        """The definition that judges a kind: one of `--crds`, and for kinds without a model one of the input."""
        custom = self._custom.find(document)
        if custom is None and of_input:
            custom = self._of_input.find(document)
        return custom if custom is not None and custom.usable else None

    def _not_served(self, document: Document) -> Iterator[Mistake]:
        served = self._custom.served(document) or self._of_input.served(document)
        if served and document.version not in served:
            versions = ", ".join(sorted(set(served)))
            message = f"the CustomResourceDefinition of {document.kind} serves {versions}, not {document.version}"
            yield Mistake("version", ("apiVersion",), message, f"write apiVersion: {document.group}/{served[-1]}")

    def _before(self, document: Document) -> dict[str, Any] | None:
        before = self._before_of(document)
        return before.manifest if before is not None and before.api_version == document.api_version else None


def _both(of_crd: list[Mistake], of_model: list[Mistake]) -> Iterator[Mistake]:
    """What the user's definition refuses, in the model's words where it has some, and the rules of the model.

    The definition may be of another release than the model, so of the model's schema only the words are taken.
    """
    words = {mistake.path: mistake for mistake in of_model}
    yield from (words.get(mistake.path, mistake) for mistake in of_crd)
    yield from (mistake for mistake in of_model if mistake.kind == "rules")


def _model_mistakes(model: type[BaseModel], data: dict[str, Any], prefix: Path) -> Iterator[Mistake]:
    try:
        model.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as error:
        for mistake in mistakes_of(error, model, data):
            yield mistake._replace(path=prefix + mistake.path) if prefix else mistake


def _too_new(document: Converted) -> Iterator[Mistake]:
    for field in _NEW_IN_V1BETA2.get(document.kind, ()):
        if field in mapping(document.original.manifest, "spec"):
            message = "is a field of kueue.x-k8s.io/v1beta2, not of v1beta1"
            yield Mistake("extra_forbidden", ("spec", field), message, "write apiVersion: kueue.x-k8s.io/v1beta2")


def _finding(document: Document, mistake: Mistake) -> Finding:
    message, fix = removed(mistake) or _as_spelled(document, mistake)
    written = document.written_path(mistake.path) if isinstance(document, Converted) else mistake.path
    field = written[-1] if written else ""
    if isinstance(field, str) and field and not message.startswith(field):
        message = f"{field}{' ' if _CONTINUES.match(message) else ': '}{message}"
    code = code_of(mistake.kind)
    at_value = code in _AT_VALUE and document.raw(mistake.path) is not None
    return document.finding(code, "error", message, fix, mistake.path, value=at_value)


def _as_spelled(document: Document, mistake: Mistake) -> tuple[str, str]:
    """The two sentences with a number as it is written: `1.10`, which has become 1.1, goes in quotes as "1.10"."""
    value = mistake.value
    if isinstance(value, bool | int | float) and code_of(mistake.kind) == "schema-type":
        raw = document.raw(mistake.path)
        shown = ("true" if value else "false") if isinstance(value, bool) else str(value)
        if raw is not None and raw.plain and raw.text != shown:
            told = mistake.message.replace(f" {shown},", f" {raw.text},", 1)
            return told, mistake.fix.replace(f'"{shown}"', f'"{raw.text}"')
    return mistake.message, mistake.fix


def code_of(kind: str) -> str:
    """The code for the kind of a mistake."""
    return _CODES.get(kind, "schema-type")
