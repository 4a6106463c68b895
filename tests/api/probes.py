"""The values that the comparison of models with schemas tries."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from tests.oracle.instances import STRINGS, minimal

Schema = dict[str, Any]

_WORDS = (
    *("", "a", "a1", "-a", "a-", "A", "a_b", "a.b", "a..b", "a/b", "a.b/c", "/a", "a b", "a:b", "1", "0", "-1", "1.5"),
    *("500m", "1Gi", "1GiB", "1e3", "1 Gi", "1K", "10%", "a%", "10s", "1h30m", "a,b", "é", "true", "http://a/b"),
    *("2026-01-01T00:00:00Z", "yesterday", "10.0.0.1", "10.0.0.0/8", "IPv4", "some-word-not-in-any-enum"),
)
_NUMBERS = (0, 1, 2, 3, 80, 1000, 65535, 65536, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63)
_OTHERS: tuple[Any, ...] = (1.5, True, False, [], {}, ["a"], {"a": "b"})

_POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "i"}]}}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1k"}}}
_CLAIM_TEMPLATE = {"metadata": {"name": "a"}, "spec": _CLAIM}
#: Items for lists in which the smallest item that the schema accepts breaks a rule, by the list's name.
SAMPLES: dict[str, dict[str, Any]] = {
    "replicatedJobs": {"name": "a", "template": {"spec": {"template": _POD}}},
    "resourceClaims": {"name": "a", "resourceClaimName": "b"},
    "runtimePatches": {"manager": "a.b/c"},
    "tasks": {"name": "a", "replicas": 1, "template": _POD},
    "templates": _CLAIM_TEMPLATE,
    "tolerations": {"operator": "Exists"},
    "volumeClaimPolicies": {"templates": [_CLAIM_TEMPLATE]},
}


def candidates(schema: Schema, kind: Any) -> Iterator[Any]:
    """Values on both sides of every bound that either side may have."""
    bounds = [schema[key] for key in ("minimum", "maximum") if key in schema]
    numbers = {*_NUMBERS, *(bound + step for bound in bounds for step in (-1, 0, 1))}
    lengths = {62, 63, 64, 252, 253, 254}
    lengths |= {schema[key] + step for key in ("minLength", "maxLength") if key in schema for step in (-1, 0, 1)}
    words = {*_WORDS, *schema.get("enum", ()), *literals(kind), *("a" * length for length in lengths if length >= 0)}
    words |= {("a" * 62 + ".") * (length // 63) + "a" * (length % 63 or 0) for length in lengths if length > 63}
    yield from sorted(numbers)
    yield from sorted(str(word) for word in words)
    yield from _OTHERS


def literals(kind: Any) -> list[Any]:
    """The words of a Literal, also inside a union."""
    if typing.get_origin(kind) is typing.Literal:
        return list(typing.get_args(kind))
    return [word for arg in typing.get_args(kind) for word in literals(arg)]


def must_fit(schema: Schema, value: Any) -> bool:
    """Whether a value that the schema accepts must fit the model: where the schema draws the line, and small numbers.

    A plain string may have a narrower shape for us, and a negative or huge number may be refused, as webhooks do.
    """
    if isinstance(value, str):
        return "pattern" in schema or value in schema.get("enum", ()) or len(value) == schema.get("maxLength")
    bounds = (schema.get("minimum"), schema.get("maximum"))
    return not isinstance(value, bool) and (value in (1, 2, 3, 80) or value in bounds)


def numbered(schema: Schema, count: int, sample: dict[str, Any] | None = None) -> list[Any]:
    """A list of `count` smallest items, of which no two agree in any free string or in their keys."""
    items, keys = schema["items"], frozenset(schema.get("x-kubernetes-list-map-keys", ()))
    smallest = sample or minimal(items, sorted(keys)[:1])
    return [varied(items, smallest, index, keys) for index in range(count)]


def varied(schema: Schema, value: Any, index: int, keys: frozenset[str] = frozenset()) -> Any:
    """The `index`-th variation of a smallest value; numbers vary only where they are `keys`."""
    if isinstance(value, dict) and "properties" in schema:
        children = schema["properties"]
        return {
            name: item + index if name in keys and type(item) is int else varied(children.get(name, {}), item, index)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [varied(schema.get("items", {}), item, index) for item in value]
    free = isinstance(value, str) and value in STRINGS and not schema.keys() & {"enum", "format"}
    return f"{value}{index}" if free and index else value


def shown(value: Any) -> str:
    """Short text of a probe."""
    text = repr(value)
    return text if len(text) < 60 else f"{text[:12]}… of length {len(value) if isinstance(value, str) else len(text)}"
