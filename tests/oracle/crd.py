"""What the API server would say about a custom resource: upstream's CRDs, structural schema and CEL rules.

Independent of Trainshed's models on purpose: it judges them and everything under `dist/`. Steps as in
k8s.io/apiextensions-apiserver v0.36: drop nulls, apply defaults, refuse unknown fields (strict field validation),
validate, check map and set lists, evaluate the rules. Not imitated: ratcheting (an update may keep an old mistake).
"""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cel
import jsonschema_rs
import yaml

Schema = dict[str, Any]
Manifest = dict[str, Any]

_ABSENT: Final = object()
_COPIED: Final = frozenset(
    {"enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties"}
    | {"maxProperties", "required"}
)
_KNOWN: Final = _COPIED | {
    *("type", "format", "properties", "items", "additionalProperties", "description", "default", "anyOf"),
    *("nullable", "exclusiveMinimum", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"),
}
_BOUNDS: Final = {"int32": 31, "int64": 63}
_SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_QUALIFIED: Final = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
_LABEL_VALUE: Final = r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"


def shared_folder() -> Path:
    """The folder with upstream's files: `TRAINSHED_SHARED`, otherwise `shared/` beside the repository."""
    return Path(os.environ.get("TRAINSHED_SHARED", Path(__file__).resolve().parents[3] / "shared"))


@dataclass(frozen=True)
class Rule:
    """One `x-kubernetes-validations` entry; `path` is its place in the schema (`spec.levels[]`, `spec.labels{}`)."""

    kind: str
    version: str
    path: str
    rule: str
    message: str

    @property
    def is_transition(self) -> bool:
        """Whether the rule compares with the old object, so that it is evaluated on updates only."""
        return bool(re.search(r"\boldSelf\b", self.rule))


@dataclass(frozen=True)
class Evaluation:
    """A rule evaluated on one value. `error` is empty unless the expression itself failed."""

    rule: Rule
    path: str
    passed: bool
    error: str = ""

    def __str__(self) -> str:
        cause = f" ({self.error})" if self.error else ""
        return f"{self.path or '(object)'}: {self.rule.message}{cause}"


@dataclass(frozen=True)
class Crd:
    """One version of one custom resource."""

    group: str
    version: str
    kind: str
    namespaced: bool
    schema: Schema

    @functools.cached_property
    def validator(self) -> jsonschema_rs.Validator:
        """The structural schema, unknown fields refused."""
        document = to_json_schema(self.schema)
        document["properties"] = {
            **document.get("properties", {}),
            "apiVersion": {"const": f"{self.group}/{self.version}"},
            "kind": {"const": self.kind},
            "metadata": _metadata_schema(self.namespaced),
        }
        document["required"] = sorted({*document.get("required", ()), "apiVersion", "kind", "metadata"})
        return jsonschema_rs.Draft202012Validator(document, validate_formats=True)

    def rules(self) -> Iterator[Rule]:
        """Every rule of this version."""
        yield from self._rules(self.schema, "")

    def _rules(self, schema: Schema, path: str) -> Iterator[Rule]:
        yield from self.rules_at(schema, path)
        for name, child in schema.get("properties", {}).items():
            yield from self._rules(child, _join(path, name))
        if items := schema.get("items"):
            yield from self._rules(items, f"{path}[]")
        if values := schema.get("additionalProperties"):
            yield from self._rules(values, f"{path}{{}}")

    def rules_at(self, schema: Schema, path: str) -> list[Rule]:
        """The rules that stand at this very schema."""
        found = []
        for entry in schema.get("x-kubernetes-validations", ()):
            if unknown := entry.keys() - {"rule", "message"}:
                raise ValueError(f"{self.kind} {path}: this oracle does not know {sorted(unknown)} of a rule")
            found.append(Rule(self.kind, self.version, path, entry["rule"], entry["message"]))
        return found


@functools.cache
def crds() -> dict[tuple[str, str], Crd]:
    """All served versions under `shared/crds`, by (apiVersion, kind)."""
    found: dict[tuple[str, str], Crd] = {}
    for file in sorted((shared_folder() / "crds").glob("*/*/*.yaml")):
        for document in yaml.load_all(file.read_bytes(), yaml.CSafeLoader):
            if not document:
                continue
            spec = document["spec"]
            group, kind = spec["group"], spec["names"]["kind"]
            for version in spec["versions"]:
                schema = version["schema"]["openAPIV3Schema"]
                crd = Crd(group, version["name"], kind, spec["scope"] == "Namespaced", schema)
                found[f"{group}/{crd.version}", kind] = crd
    return found


def crd_errors(manifest: Manifest, old: Manifest | None = None) -> list[str]:
    """All reasons to refuse `manifest`, with paths; `old` makes it an update, so that transition rules count too.

    Rules are evaluated only on structurally valid objects, as the API server does.
    """
    key = (manifest.get("apiVersion", ""), manifest.get("kind", ""))
    crd = crds().get(key)
    if crd is None:
        return [f"no CRD for {key[0]} {key[1]}"]
    new = prepared(crd.schema, manifest)
    errors = [f"{_dotted(e.instance_path)}: {e.message}" for e in crd.validator.iter_errors(new)]
    errors += _list_errors(crd.schema, new, "")
    return errors or [str(e) for e in evaluations(manifest, old) if not e.passed]


def evaluations(manifest: Manifest, old: Manifest | None = None) -> Iterator[Evaluation]:
    """Every rule that applies to a structurally valid `manifest`, evaluated."""
    crd = crds()[manifest["apiVersion"], manifest["kind"]]
    new = prepared(crd.schema, manifest)
    before = _ABSENT if old is None else prepared(crd.schema, old)
    yield from _evaluate(crd, crd.schema, new, before, "", "")


def prepared(schema: Schema, value: Any) -> Any:
    """A copy without nulls that the schema does not allow, and with the schema's defaults."""
    if isinstance(value, dict):
        properties, values = schema.get("properties", {}), schema.get("additionalProperties") or {}
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
        return [prepared(schema.get("items", {}), item) for item in value]
    return value


def to_json_schema(schema: Schema) -> Schema:
    """A structural schema as JSON Schema, unknown fields refused. Raises ValueError for a keyword not known here."""
    if unknown := schema.keys() - _KNOWN:
        raise ValueError(f"this oracle does not know {sorted(unknown)}")
    result = {key: schema[key] for key in _COPIED & schema.keys()}
    if schema.get("x-kubernetes-int-or-string"):
        result["type"] = ["integer", "string"]
    elif "anyOf" in schema:
        raise ValueError("this oracle knows anyOf only beside x-kubernetes-int-or-string")
    elif "type" in schema:
        result["type"] = schema["type"]
    if schema.get("exclusiveMinimum"):
        result["exclusiveMinimum"] = result.pop("minimum")
    if bits := _BOUNDS.get(schema.get("format", "")):
        result["minimum"] = max(-(2**bits), schema.get("minimum", -(2**bits)))
        result["maximum"] = min(2**bits - 1, schema.get("maximum", 2**bits - 1))
    elif "format" in schema:
        result["format"] = schema["format"]
    if "items" in schema:
        result["items"] = to_json_schema(schema["items"])
    if schema.get("type") == "object":
        result["properties"] = {k: to_json_schema(child) for k, child in schema.get("properties", {}).items()}
        if values := schema.get("additionalProperties"):
            result["additionalProperties"] = to_json_schema(values)
        elif not schema.get("x-kubernetes-preserve-unknown-fields"):
            result["additionalProperties"] = False
    return {"anyOf": [{"type": "null"}, result]} if schema.get("nullable") else result


def _metadata_schema(namespaced: bool) -> Schema:
    text = {"type": "string"}
    properties: Schema = {
        "name": {"type": "string", "pattern": _SUBDOMAIN, "maxLength": 253},
        "generateName": text,
        "labels": {
            "type": "object",
            "propertyNames": {"pattern": _QUALIFIED},
            "additionalProperties": {"type": "string", "pattern": _LABEL_VALUE},
        },
        "annotations": {
            "type": "object",
            "propertyNames": {"pattern": f"(?i){_QUALIFIED}"},
            "additionalProperties": text,
        },
        "finalizers": {"type": "array", "items": text},
        "ownerReferences": {"type": "array", "items": {"type": "object"}},
        "managedFields": {"type": "array", "items": {"type": "object"}},
        "generation": {"type": "integer"},
        "deletionGracePeriodSeconds": {"type": "integer"},
        "creationTimestamp": {"type": "string", "format": "date-time"},
        "deletionTimestamp": {"type": "string", "format": "date-time"},
        **dict.fromkeys(("resourceVersion", "selfLink", "uid"), text),
    }
    if namespaced:
        properties["namespace"] = {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
    named = [{"required": ["name"]}, {"required": ["generateName"]}]
    return {"type": "object", "properties": properties, "additionalProperties": False, "anyOf": named}


def _list_errors(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        properties, values = schema.get("properties", {}), schema.get("additionalProperties") or {}
        for key, item in value.items():
            yield from _list_errors(properties.get(key, values), item, _join(path, key))
    elif isinstance(value, list):
        for key, count in Counter(_item_key(schema, item) for item in value).items():
            if count > 1 and key is not None:
                yield f"{path}: duplicate item {key}"
        for index, item in enumerate(value):
            yield from _list_errors(schema.get("items", {}), item, f"{path}[{index}]")


def _item_key(schema: Schema, item: Any) -> str | None:
    """What identifies an item of a map or set list; None for atomic lists."""
    match schema.get("x-kubernetes-list-type"):
        case "map" if isinstance(item, dict):
            return repr([item.get(key) for key in schema["x-kubernetes-list-map-keys"]])
        case "set":
            return repr(item)
    return None


def _evaluate(crd: Crd, schema: Schema, new: Any, old: Any, place: str, path: str) -> Iterator[Evaluation]:
    """`place` is the path in the schema, `path` the one in the object."""
    for rule in crd.rules_at(schema, place):
        if rule.is_transition and old is _ABSENT:
            continue
        variables = {"self": new} if old is _ABSENT else {"self": new, "oldSelf": _aligned(schema, old, new)}
        try:
            passed = _program(rule.rule).execute(variables)
        except Exception as error:  # the library raises many types, and each one means a refusal
            yield Evaluation(rule, path, passed=False, error=f"{type(error).__name__}: {error}")
        else:
            yield Evaluation(rule, path, passed=passed is True)
    if isinstance(new, dict):
        properties, values = schema.get("properties", {}), schema.get("additionalProperties") or {}
        for key, item in new.items():
            before = old.get(key, _ABSENT) if isinstance(old, dict) else _ABSENT
            below = _join(place, key) if key in properties else f"{place}{{}}"
            yield from _evaluate(crd, properties.get(key, values), item, before, below, _join(path, key))
    elif isinstance(new, list):
        is_map = schema.get("x-kubernetes-list-type") == "map" and isinstance(old, list)
        known = {_item_key(schema, item): item for item in old} if is_map else {}
        for index, item in enumerate(new):
            before = known.get(_item_key(schema, item), _ABSENT) if is_map else _ABSENT
            yield from _evaluate(crd, schema.get("items", {}), item, before, f"{place}[]", f"{path}[{index}]")


def _aligned(schema: Schema, old: Any, new: Any) -> Any:
    """`old` with its map and set lists in the order of `new`: for Kubernetes they are equal in any order."""
    if isinstance(old, dict) and isinstance(new, dict):
        properties, values = schema.get("properties", {}), schema.get("additionalProperties") or {}
        return {key: _aligned(properties.get(key, values), item, new.get(key)) for key, item in old.items()}
    if isinstance(old, list) and isinstance(new, list) and schema.get("x-kubernetes-list-type") in ("map", "set"):
        order = {_item_key(schema, item): (index, item) for index, item in enumerate(new)}
        sorted_old = sorted(old, key=lambda item: order.get(_item_key(schema, item), (len(new), None))[0])
        partners = [order.get(_item_key(schema, item), (0, None))[1] for item in sorted_old]
        items = schema.get("items", {})
        return [_aligned(items, item, partner) for item, partner in zip(sorted_old, partners, strict=True)]
    return old


@functools.cache
def _program(rule: str) -> cel.Program:
    return cel.compile(rule)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _dotted(path: list[str | int]) -> str:
    text = ""
    for part in path:
        text = f"{text}[{part}]" if isinstance(part, int) else _join(text, part)
    return text or "(object)"
