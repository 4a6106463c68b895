"""Compares pydantic models with structural schemas, property by property, by what each of them accepts.

Types, enums, bounds and patterns are compared by behaviour: the same values go to the schema (compiled from the CRD)
and to the model's field. A model may be stricter on the words of a plain string or on the sign of a plain number, since
webhooks are; it may never accept what the schema refuses.
"""

from __future__ import annotations

import functools
import json
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs
from pydantic import BaseModel, JsonValue, ValidationError

from tests.api.probes import SAMPLES, candidates, must_fit, numbered, shown
from tests.oracle.crd import prepared, to_json_schema
from tests.oracle.instances import minimal
from trainshed.api.base import Model

Schema = dict[str, Any]


@dataclass(frozen=True)
class Probe:
    """How a model takes a value in one field.

    `fits` asks the field alone. `passes` asks the rules of the object as well: they count against a value when the
    object is accepted with the second value, a good one, in its place.
    """

    fits: Callable[[Any], bool]
    passes: Callable[[Any, Any], bool]

    def within(self, wrap: Callable[[Any], Any]) -> Probe:
        """The probe of a part of the value."""
        return Probe(lambda value: self.fits(wrap(value)), lambda value, good: self.passes(wrap(value), wrap(good)))


@dataclass
class Parity:
    """Collects the differences below the roots given to `compare`. Each pair of model and schema is visited once."""

    differences: list[str] = field(default_factory=list)
    fields: int = 0
    probes: int = 0
    _seen: set[tuple[type, str]] = field(default_factory=set)

    def compare(self, schema: Schema, model: type[Model], path: str, skip: frozenset[str] = frozenset()) -> None:
        """All properties of `schema` against all fields of `model`."""
        if (key := (model, fingerprint(schema))) in self._seen:
            return
        self._seen.add(key)
        known = {info.alias or name: info for name, info in model.model_fields.items()}
        properties = {name: child for name, child in schema.get("properties", {}).items() if name not in skip}
        for name in known.keys() - properties.keys() - skip:
            self._tell(f"{path}.{name}", f"{model.__name__} has this field, the schema does not")
        for name, child in properties.items():
            if name not in known:
                self._tell(f"{path}.{name}", f"{model.__name__} lacks this field")
                continue
            self.fields += 1
            required = name in schema.get("required", ()) and "default" not in child
            if known[name].is_required() != required:
                told = "required" if required else "optional"
                self._tell(f"{path}.{name}", f"is {told} in the schema, not in {model.__name__}")
            self._field(child, known[name].annotation, f"{path}.{name}", self._probe(schema, model, name))

    def _probe(self, schema: Schema, model: type[Model], name: str) -> Probe:
        def fits(value: Any) -> bool:
            self.probes += 1
            return not field_errors(model, {name: value}, name)

        def passes(value: Any, good: Any) -> bool:
            whole = minimal(schema, [])
            return fits(value) and whole_ok(model, {**whole, name: value}) >= whole_ok(model, {**whole, name: good})

        return Probe(fits, passes)

    def _field(self, schema: Schema, annotation: Any, path: str, probe: Probe) -> None:
        kind = unwrapped(annotation)
        if kind is Any:
            if not free_form(schema):
                self._tell(path, "is untyped in the model")
        elif typing.get_origin(kind) is list:
            self._list(schema, typing.get_args(kind)[0], path, probe)
        elif typing.get_origin(kind) is dict:
            self._map(schema, typing.get_args(kind)[1], path, probe)
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            if schema.get("type") != "object" or "additionalProperties" in schema:
                self._tell(path, f"is {schema.get('type')} in the schema, {kind.__name__} in the model")
            elif issubclass(kind, Model):
                self.compare(schema, kind, path)
        else:
            self._scalar(schema, kind, path, probe)

    def _map(self, schema: Schema, value: Any, path: str, probe: Probe) -> None:
        if free_form(schema):
            return
        if not isinstance(values := schema.get("additionalProperties"), dict):
            self._tell(path, "is a map in the model, not in the schema")
            return
        self._field(values, value, f"{path}{{}}", probe.within(lambda item: {"a": item}))
        sample = minimal(values, [])
        for limit, step in (("minProperties", -1), ("maxProperties", 1)):
            if limit in schema:
                size = schema[limit]
                entries = {f"a{index}": sample for index in range(size + 1)}
                fitting, beyond = dict(list(entries.items())[:size]), dict(list(entries.items())[: size + step])
                self._limit(probe, fitting, beyond, path, f"{limit} {size}")

    def _list(self, schema: Schema, item: Any, path: str, probe: Probe) -> None:
        if schema.get("type") != "array":
            self._tell(path, f"is a list in the model, {schema.get('type')} in the schema")
            return
        below = schema["items"]
        spare = None if probe.fits(numbered(schema, 1)) else SAMPLES.get(path.rpartition(".")[2])
        numbers = functools.partial(numbered, schema, sample=spare)
        self._field(below, item, f"{path}[]", probe.within(lambda value: [value] * max(1, schema.get("minItems", 1))))
        if schema.get("x-kubernetes-list-type") in ("map", "set"):
            first = numbers(max(1, schema.get("minItems", 0)))
            if not probe.fits(first):
                self._tell(path, f"refuses the sample {first}, so that duplicates cannot be tried")
            elif probe.passes([*first, first[0]], first):
                self._tell(path, "the model accepts the same item twice, the schema does not")
            elif probe.passes([*first, prepared(below, first[0])], first):
                self._tell(path, "the model accepts the same item twice when one has its default written")
        for limit, step in (("minItems", -1), ("maxItems", 1)):
            if limit in schema:
                size = schema[limit]
                beyond = numbers(max(0, size + step))
                self._limit(probe, numbers(size), beyond, path, f"{limit} {size}")

    def _scalar(self, schema: Schema, kind: Any, path: str, probe: Probe) -> None:
        if free_form(schema):
            self._tell(path, "is free-form in the schema, a scalar in the model")
            return
        valid = compiled(json.dumps(to_json_schema(schema), sort_keys=True))
        tried = list(candidates(schema, kind))
        good = [value for value in tried if valid.is_valid(value)]
        if not (fitting := [value for value in good if probe.fits(value)]):
            self._tell(path, "the model refuses every tried value that the schema accepts")
        one = next(iter(fitting), None)
        if loose := [shown(value) for value in tried if not valid.is_valid(value) and probe.passes(value, one)]:
            self._tell(path, f"the model accepts what the schema refuses: {', '.join(loose[:5])} ({len(loose)} values)")
        if tight := [shown(value) for value in good if must_fit(schema, value) and not probe.fits(value)]:
            self._tell(path, f"the model refuses what the schema accepts: {', '.join(tight)}")

    def _limit(self, probe: Probe, fitting: Any, beyond: Any, path: str, told: str) -> None:
        if not probe.fits(fitting):
            self._tell(path, f"the model refuses a value just inside {told}")
        if len(beyond) != len(fitting) and probe.passes(beyond, fitting):
            self._tell(path, f"the model accepts a value just outside {told}")

    def _tell(self, path: str, told: str) -> None:
        self.differences.append(f"{path}: {told}")


def unwrapped(annotation: Any) -> Any:
    """The annotation without `Annotated` and `| None`; `Any` for JSON values."""
    while True:
        if annotation is JsonValue:
            return Any
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
        elif typing.get_origin(annotation) in (typing.Union, types.UnionType):
            members = [arg for arg in typing.get_args(annotation) if arg is not type(None)]
            if len(members) != 1:
                return annotation
            annotation = members[0]
        else:
            return annotation


def free_form(schema: Schema) -> bool:
    """Anything goes, or any object."""
    return bool(schema.get("x-kubernetes-preserve-unknown-fields")) and not schema.get("properties")


def field_errors(model: type[Model], value: dict[str, Any], name: str) -> list[Any]:
    """What the model says about field `name` of `value`; other fields may be missing."""
    try:
        model.model_validate(value)
    except ValidationError as error:
        return [e for e in error.errors(include_url=False) if e["loc"][:1] == (name,)]
    return []


def whole_ok(model: type[Model], value: dict[str, Any]) -> bool:
    """Whether the model accepts the whole value, rules included."""
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


@functools.cache
def compiled(text: str) -> jsonschema_rs.Validator:
    """The validator of a JSON Schema."""
    return jsonschema_rs.Draft202012Validator(json.loads(text), validate_formats=True)


_PRINTS: dict[int, tuple[Schema, str]] = {}


def fingerprint(schema: Schema) -> str:
    """Equal for schemas that say the same, descriptions aside; computed once per node."""
    if (known := _PRINTS.get(id(schema))) is not None:
        return known[1]
    children: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            children[key] = {name: fingerprint(child) for name, child in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            children[key] = fingerprint(value)
        elif key != "description":
            children[key] = value
    text = str(hash(json.dumps(children, sort_keys=True)))
    _PRINTS[id(schema)] = (schema, text)
    return text
