"""A structural schema as JSON Schema, and what has to happen to a value before it is validated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from trainshed.fleet.paths import Path

Schema = dict[str, Any]

_COPIED: Final = (
    *("enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties"),
    *("maxProperties", "required", "multipleOf", "uniqueItems"),
)
#: Formats that both the API server and JSON Schema check, with one meaning.
_FORMATS: Final = frozenset({"date-time", "ipv4", "ipv6", "uuid"})
_BITS: Final = {"int32": 31, "int64": 63}
_OBJECT_FIELDS: Final[Schema] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {}}


def json_schema(schema: Schema, *, root: bool = False, patterns: bool = True) -> Schema:
    """`schema` as JSON Schema that refuses unknown fields. `root`: metadata is left to whoever judges metadata."""
    result = _values(schema, patterns)
    if schema.get("x-kubernetes-int-or-string"):
        result["type"] = ["integer", "string"]
        result.pop("anyOf", None)
    elif "type" in schema:
        result["type"] = schema["type"]
    if isinstance(schema.get("items"), dict):
        result["items"] = json_schema(schema["items"], patterns=patterns)
    if schema.get("type") == "object" or "properties" in schema:
        result |= _object(schema, root, patterns)
    return {"anyOf": [{"type": "null"}, result]} if schema.get("nullable") else result


def _object(schema: Schema, root: bool, patterns: bool) -> Schema:
    properties = {key: json_schema(child, patterns=patterns) for key, child in _children(schema).items()}
    if root or schema.get("x-kubernetes-embedded-resource"):
        properties = {**_OBJECT_FIELDS, **properties, "metadata": {}}
    result: Schema = {"properties": properties}
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        result["additionalProperties"] = json_schema(values, patterns=patterns)
    elif not values and not schema.get("x-kubernetes-preserve-unknown-fields"):
        result["additionalProperties"] = False
    return result


def _values(schema: Schema, patterns: bool) -> Schema:
    """The value validations of a schema: bounds, and the logical ones, which name no types."""
    result: Schema = {key: schema[key] for key in _COPIED if key in schema and (patterns or key != "pattern")}
    if isinstance(required := result.get("required"), list):
        result["required"] = list(dict.fromkeys(required))  # JSON Schema forbids repeats, the API server takes them
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True and bound in result:
            result[exclusive] = result.pop(bound)
    format_ = schema.get("format")
    if bits := _BITS.get(format_ if isinstance(format_, str) else ""):
        result["minimum"] = max(-(2**bits), schema.get("minimum", -(2**bits)))
        result["maximum"] = min(2**bits - 1, schema.get("maximum", 2**bits - 1))
    elif format_ in _FORMATS:
        result["format"] = format_
    for word in ("allOf", "anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            result[word] = [_logical(child, patterns) for child in schema[word]]
    if isinstance(schema.get("not"), dict):
        result["not"] = _logical(schema["not"], patterns)
    return result


def _logical(schema: Any, patterns: bool) -> Schema:
    if not isinstance(schema, dict):
        return {}
    result = _values(schema, patterns)
    if "type" in schema:
        result["type"] = schema["type"]
    if isinstance(schema.get("properties"), dict):
        result["properties"] = {key: _logical(child, patterns) for key, child in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        result["items"] = _logical(schema["items"], patterns)
    return result


def prepared(schema: Schema, value: Any) -> Any:
    """A copy without nulls that the schema does not allow, and with the schema's defaults."""
    if isinstance(value, dict):
        properties, values = _children(schema), _child_of_any(schema)
        result = {}
        for key, item in value.items():
            child = properties.get(key, values)
            if item is not None or child.get("nullable") or not child:
                result[key] = prepared(child, item)
        for key, child in properties.items():
            if key not in result and "default" in child:
                result[key] = prepared(child, child["default"])
        return result
    if isinstance(value, list):
        return [prepared(_items(schema), item) for item in value]
    return value


def repeated(schema: Schema, value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """(path, key) of items that a map or set list holds twice."""
    if isinstance(value, dict):
        properties, values = _children(schema), _child_of_any(schema)
        for key, item in value.items():
            yield from repeated(properties.get(key, values), item, (*path, key))
    elif isinstance(value, list):
        keys = [item_key(schema, item) for item in value]
        counts = Counter(key for key in keys if key is not None)
        for index, (key, item) in enumerate(zip(keys, value, strict=True)):
            if key is not None and counts[key] > 1 and key in keys[:index]:
                yield (*path, index), key
            yield from repeated(_items(schema), item, (*path, index))


def item_key(schema: Schema, item: Any) -> str | None:
    """What identifies an item of a map or set list; None for atomic lists."""
    match schema.get("x-kubernetes-list-type"):
        case "map" if isinstance(item, dict):
            keys = schema.get("x-kubernetes-list-map-keys") or ()
            return ", ".join(f'{key} "{item.get(key)}"' for key in keys)
        case "set":
            return f'"{item}"'
    return None


def child(schema: Schema, key: str) -> Schema:
    """The schema of the value at `key` of an object or a map."""
    return _children(schema).get(key, _child_of_any(schema))


def _children(schema: Schema) -> dict[str, Schema]:
    found = schema.get("properties")
    return {k: v for k, v in found.items() if isinstance(v, dict)} if isinstance(found, dict) else {}


def _child_of_any(schema: Schema) -> Schema:
    found = schema.get("additionalProperties")
    return found if isinstance(found, dict) else {}


def _items(schema: Schema) -> Schema:
    found = schema.get("items")
    return found if isinstance(found, dict) else {}
