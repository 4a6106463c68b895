"""Smallest objects that a structural schema accepts, with a value at a wanted path: material for rules to run on."""

from __future__ import annotations

import re
from typing import Any, Final

Schema = dict[str, Any]

#: Words for plain strings in which only certain ones make sense, by the name of the property.
WORDS: Final = {
    "effect": "NoSchedule",
    "operator": "In",
    "whenUnsatisfiable": "DoNotSchedule",
    "ip": "10.0.0.1",
}
#: Strings of which one fits almost any pattern.
STRINGS: Final = ("a", "1", "a.b/c", "a/b", "1Gi", "h100", "10s", "a:b", "2026-01-01T00:00:00Z", "a://b", "aa")


def minimal_object(schema: Schema, api_version: str, kind: str, path: str) -> dict[str, Any]:
    """An object of `kind` in which `path` (`spec.levels[].nodeLabel`, `spec.labels{}`) exists."""
    body = minimal(schema, _steps(path), skip=frozenset({"apiVersion", "kind", "metadata"}))
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **body}


def minimal(schema: Schema, steps: list[str], skip: frozenset[str] = frozenset()) -> Any:
    """The smallest valid value; the first of `steps` names the child that must be there."""
    step, rest = (steps[0], steps[1:]) if steps else ("", [])
    if "properties" in schema:
        wanted = {*schema.get("required", ()), *([step] if step else [])} - skip
        children = schema["properties"]
        return {
            name: WORDS[name] if fits(name, child) else minimal(child, rest if name == step else [])
            for name, child in children.items()
            if name in wanted
        }
    if step == "[]" or schema.get("type") == "array":
        count = max(schema.get("minItems", 0), 1 if step else 0)
        return [_numbered(minimal(schema["items"], rest), index) for index in range(count)]
    if step == "{}":
        return {"a": minimal(schema["additionalProperties"], rest)}
    return {} if schema.get("type") == "object" else _scalar(schema)


def fits(name: str, schema: Schema) -> bool:
    """Whether there is a word for a property of this name, and the schema leaves its choice open."""
    return name in WORDS and schema.get("type") == "string" and "enum" not in schema


def _scalar(schema: Schema) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") in ("integer", "number") or schema.get("x-kubernetes-int-or-string"):
        return max(schema.get("minimum", 1), 1)
    if schema.get("type") == "boolean":
        return True
    candidates = ["2026-01-01T00:00:00Z"] if schema.get("format") == "date-time" else list(STRINGS)
    for text in candidates:
        fits_length = schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 10**6)
        if fits_length and re.search(_python_pattern(schema.get("pattern", "")), text):
            return text
    raise ValueError(f"no known string fits {schema}")


def _python_pattern(pattern: str) -> str:
    """Go allows flags anywhere, Python only at the start."""
    return "(?i)" + pattern.replace("(?i)", "") if "(?i)" in pattern else pattern


def _numbered(item: Any, index: int) -> Any:
    """Items of one list must differ: the second and later ones get their index into every string."""
    if not index:
        return item
    if isinstance(item, dict):
        return {key: _numbered(value, index) for key, value in item.items()}
    return f"{item}{index}" if isinstance(item, str) else item


def _steps(path: str) -> list[str]:
    return [step for step in re.split(r"\.|(\[\]|\{\})", path) if step]
