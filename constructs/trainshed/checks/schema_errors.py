"""Errors of a JSON Schema validator as mistakes: the same words that the models use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import jsonschema_rs

from trainshed.api import explain_words as words
from trainshed.api.explain import names_along
from trainshed.api.mistakes import Mistake
from trainshed.fleet.paths import Path

Schema = dict[str, Any]

_WANTED: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}


def mistakes_in(validator: jsonschema_rs.Validator, schema: Schema, manifest: Any) -> Iterator[Mistake]:
    """What `validator` refuses in `manifest`. `schema` is what the errors' schema paths lead through."""
    for error in validator.iter_errors(manifest):
        path = tuple(error.instance_path)
        for kind, field, (message, fix) in _told(error, schema, path):
            yield Mistake(kind, field, message + names_along(manifest, field), fix, error.instance, None)


def _told(error: jsonschema_rs.ValidationError, schema: Schema, path: Path) -> Iterator[tuple[str, Path, words.Words]]:
    kind, value = error.kind, error.instance
    details: Mapping[str, Any] = kind.as_dict()
    match kind.name:
        case "additionalProperties" | "unevaluatedProperties":
            owner = _schema_at(schema, error.schema_path[:-1])
            known = [str(name) for name in owner.get("properties", ())]
            for name in details["unexpected"]:
                where = str(path[-1]) if path and isinstance(path[-1], str) else ""
                yield "extra_forbidden", (*path, name), words.unknown_field(str(name), where, known)
        case "required":
            yield "missing", (*path, details["property"]), ("is missing", "add it")
        case "type":
            yield "type", path, words.wrong_type(value, _wanted(details["types"]))
        case "enum" | "const":
            options = details.get("options", details.get("expected_value"))
            yield "literal_error", path, words.not_among(value, options if isinstance(options, list) else [options])
        case "oneOf" | "anyOf":
            if value is not None:
                yield "type", path, words.wrong_type(value, _alternatives(_schema_at(schema, error.schema_path)))
        case "oneOfMultipleValid" | "oneOfNotValid" if value is None:
            return
        case "propertyNames":
            yield "shape", path, (f"has a key that is not allowed: {error.message}", "")
        case "uniqueItems":
            yield "duplicate", path, ("has an item twice", "keep one of the two")
        case name if name in _LIMITS:
            yield "bounds", path, (_LIMITS[name](value, details), "")
        case _:
            yield "bounds", path, (error.message, "")


def _wanted(types: Any) -> list[str]:
    names = types if isinstance(types, list) else [types]
    return [_WANTED[name] for name in names if name in _WANTED]


def _alternatives(options: Any) -> list[str]:
    found = [phrase for option in options if isinstance(option, dict) for phrase in _wanted(option.get("type", []))]
    return found or ["of another shape"]


def _schema_at(schema: Schema, path: list[str | int]) -> Any:
    node: Any = schema
    for part in path:
        try:
            node = node[part]
        except (KeyError, IndexError, TypeError):
            return {}
    return node


_LIMITS: Final = {
    "minimum": lambda value, limit: f"{value} is less than {limit['limit']}",
    "maximum": lambda value, limit: f"{value} is more than {limit['limit']}",
    "exclusiveMinimum": lambda value, limit: f"{value} is not more than {limit['limit']}",
    "exclusiveMaximum": lambda value, limit: f"{value} is not less than {limit['limit']}",
    "minLength": lambda value, limit: f"has {len(value)} characters, and at least {limit['limit']} are needed",
    "maxLength": lambda value, limit: f"has {len(value)} characters, {limit['limit']} are allowed",
    "minItems": lambda value, limit: f"has {len(value)} items, and at least {limit['limit']} are needed",
    "maxItems": lambda value, limit: f"has {len(value)} items, {limit['limit']} are allowed",
    "minProperties": lambda value, limit: f"has {len(value)} entries, and at least {limit['limit']} are needed",
    "maxProperties": lambda value, limit: f"has {len(value)} entries, {limit['limit']} are allowed",
    "pattern": lambda value, limit: f"{words.shown(value)} does not match {limit['pattern']}",
    "format": lambda value, limit: f"{words.shown(value)} is not a {limit['format']}",
}
