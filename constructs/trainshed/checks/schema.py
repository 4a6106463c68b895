"""The schema pass: every object against the schema of its kind, before any rule looks at the whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import ValidationError

from trainshed.api.base import KubernetesObject
from trainshed.api.mistakes import Mistake, mistakes_of
from trainshed.api.registry import model_for
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding
from trainshed.fleet.fleet import Fleet

_CODES: Final = {
    "extra_forbidden": "schema-unknown-field",
    "missing": "schema-missing-field",
    "literal_error": "schema-enum",
    "shape": "schema-format",
    "quantity": "schema-quantity",
    "duplicate": "schema-duplicate-item",
    "rules": "schema-rule",
    "value_error": "schema-rule",
    "assertion_error": "schema-rule",
    "none_required": "schema-type",
}
_BOUNDS: Final = frozenset(
    {"greater_than_equal", "less_than_equal", "greater_than", "less_than", "multiple_of"}
    | {"string_too_short", "string_too_long", "too_short", "too_long", "string_pattern_mismatch"}
)


def schema_findings(fleet: Fleet, document: Document) -> Iterator[Finding]:
    """What the schema of its kind refuses in `document`; nothing for a kind without a schema."""
    model = model_for(document.api_version, document.kind)
    if model is not None:
        yield from _model_findings(model, document)


def _model_findings(model: type[KubernetesObject], document: Document) -> Iterator[Finding]:
    try:
        model.model_validate(document.manifest, by_alias=True, by_name=False)
    except ValidationError as error:
        for mistake in mistakes_of(error, model, document.manifest):
            yield _finding(document, mistake)


def _finding(document: Document, mistake: Mistake) -> Finding:
    field = mistake.path[-1] if mistake.path else ""
    message = f"{field} {mistake.message}" if isinstance(field, str) else mistake.message
    return document.finding(code_of(mistake.kind), "error", message, mistake.fix, mistake.path)


def code_of(kind: str) -> str:
    """The code for an error type of pydantic."""
    return "schema-bounds" if kind in _BOUNDS else _CODES.get(kind, "schema-type")
