"""The pod template has every field of Kubernetes' own OpenAPI, in the target's release and the next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, get_args

import pytest

from trainshed.api.base import Model
from trainshed.api.core.pod import PodTemplateSpec

CORE = "io.k8s.api.core.v1."
RELEASES = ("1.36", "1.37")
#: TemplateMeta leaves out what has no meaning in a template, and is not compared.
OWN = frozenset({"ObjectMeta"})


def definitions(release: str) -> dict[str, Any]:
    schemas = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{release}.0-local" / "_definitions.json"
    found: dict[str, Any] = json.loads(schemas.read_text())["$defs"]
    return found


def models(annotation: Any) -> Iterator[type[Model]]:
    for argument in get_args(annotation):
        yield from models(argument)
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation


def reference(schema: dict[str, Any]) -> str:
    """The definition that a property holds, alone or in a list."""
    target = schema.get("$ref") or schema.get("items", {}).get("$ref", "")
    return str(target).rpartition("/")[2]


def differences(schemas: dict[str, Any], name: str, model: type[Model], seen: set[str]) -> Iterator[str]:
    """Missing fields and differing required fields, below one definition."""
    if name in seen:
        return
    seen.add(name)
    definition = schemas[name]
    fields = {field.alias: field for field in model.model_fields.values()}
    assert name == f"{CORE}{model.__name__}" or not name.startswith(CORE)
    for key, schema in definition.get("properties", {}).items():
        if key not in fields:
            yield f"{model.__name__} lacks {key}"
            continue
        if fields[key].is_required() != (key in definition.get("required", ())):
            yield f"{model.__name__}.{key} is required on one side only"
        child = next(models(fields[key].annotation), None)
        target = reference(schema)
        if child is not None and target and target.rpartition(".")[2] not in OWN:
            yield from differences(schemas, target, child, seen)


@pytest.mark.parametrize("release", RELEASES)
def test_every_field_is_there(release: str) -> None:
    """And required where Kubernetes' schema requires it; more than a hundred types are compared."""
    seen: set[str] = set()

    assert list(differences(definitions(release), f"{CORE}PodTemplateSpec", PodTemplateSpec, seen)) == []
    assert len(seen) > 100
