"""Models of built-in kinds against Kubernetes' own schemas: every property in both directions, types, required lists.

`status` belongs to controllers and is left untyped.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from tests.api.parity import unwrapped
from tests.oracle.core import definition_name, definitions, is_core
from trainshed.api.base import KubernetesObject, Model
from trainshed.api.registry import KINDS, model_for
from trainshed.quantity import Quantity

Schema = dict[str, Any]

CORE = [(version, kind) for version, kind in KINDS if is_core(version, kind)]

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
SCALARS: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "boolean": (bool,), "number": (int, float)}

NO_STATUS = "the base class has it for all kinds"
NEEDS_NAME = "no object can be created without a name"
NEEDS_SPEC = "the API server refuses the kind without it"
SERVER = "written by the API server, kept as it is"
TEMPLATE = "means nothing in a template, and the CRDs that hold templates do not have it"
NEWER = "came with Kubernetes 1.37; the models of pods read both releases"

# Differences that are meant: place in the report, and why.
ALLOWED: dict[str, str] = {
    **{f"{kind}.metadata": NEEDS_NAME for _, kind in CORE},
    **{f"{kind}.spec": NEEDS_SPEC for kind in ("Job", "PersistentVolumeClaim", "Service")},
    **{
        f"{kind}.status": NO_STATUS
        for kind in (
            *("ConfigMap", "LimitRange", "NetworkPolicy", "PriorityClass", "Role", "RoleBinding", "ServiceAccount"),
        )
    },
    "ObjectMeta.creationTimestamp": SERVER,
    "ObjectMeta.deletionTimestamp": SERVER,
    "ObjectMeta.managedFields[]": SERVER,
    "ObjectMeta.ownerReferences[]": SERVER,
    **{
        f"TemplateMeta.{field}": TEMPLATE
        for field in (
            *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generateName", "generation"),
            *("managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"),
        )
    },
    **dict.fromkeys(
        (
            "PodSpec.evictionResponders",
            "HTTPGetAction.protocol",
            "GRPCAction.mode",
            "VolumeMount.bindMountOptions",
            "ConfigMapVolumeSource.defaultUser",
            "DownwardAPIVolumeSource.defaultUser",
            "KeyToPath.user",
            "ProjectedVolumeSource.defaultUser",
            "SecretVolumeSource.defaultUser",
            "DownwardAPIVolumeFile.user",
            "ClusterTrustBundleProjection.user",
            "PodCertificateProjection.user",
            "ServiceAccountTokenProjection.user",
            "EmptyDirVolumeSource.mode",
        ),
        NEWER,
    ),
}


def whole_kinds() -> Iterator[tuple[str, type[KubernetesObject]]]:
    names = {
        (group_version["group"], group_version["version"], group_version["kind"]): name
        for name, schema in definitions().items()
        for group_version in schema.get("x-kubernetes-group-version-kind", ())
    }
    for api_version, kind in CORE:
        group, _, version = api_version.rpartition("/")
        model = model_for(api_version, kind)
        assert model is not None
        yield names[group, version, kind], model


def differences(definition: str, model: type[Model], seen: set[tuple[str, type]]) -> Iterator[str]:
    """All differences at and below a definition, as `Model.field: what`."""
    if (definition, model) in seen:
        return
    seen.add((definition, model))
    schema = definitions()[definition]
    properties: Schema = schema.get("properties", {})
    fields = {info.alias or name: info for name, info in model.model_fields.items()}
    for name in sorted(fields.keys() - properties.keys()):
        yield f"{model.__name__}.{name}: is not in the schema"
    for name, child in properties.items():
        if name not in fields:
            yield f"{model.__name__}.{name}: is missing in the model"
            continue
        required = name in schema.get("required", ())
        if fields[name].is_required() != required:
            yield f"{model.__name__}.{name}: is {'required' if required else 'optional'} in the schema"
        if name == "status" and issubclass(model, KubernetesObject):
            continue
        yield from value_differences(child, fields[name].annotation, f"{model.__name__}.{name}", seen)


def value_differences(schema: Schema, annotation: Any, place: str, seen: set[tuple[str, type]]) -> Iterator[str]:
    """The differences between one value's schema and its annotation."""
    kind = unwrapped(annotation)
    name = definition_name(schema)
    target = definitions()[name] if name else schema
    types = [word for word in type_words(target) if word != "null"]
    if name == QUANTITY:
        if kind is not Quantity:
            yield f"{place}: is a quantity in the schema"
    elif name == INT_OR_STRING:
        if {*map(unwrapped, typing.get_args(kind))} - {type(None)} != {int, str}:
            yield f"{place}: is a number or a string in the schema"
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        if name is None or "properties" not in target or not issubclass(kind, Model):
            yield f"{place}: is a model, but {types} in the schema"
        else:
            yield from differences(name, kind, seen)
    elif typing.get_origin(kind) is list:
        if types != ["array"]:
            yield f"{place}: is a list, but {types} in the schema"
        else:
            yield from value_differences(target["items"], typing.get_args(kind)[0], f"{place}[]", seen)
    elif typing.get_origin(kind) is dict:
        if not isinstance(target.get("additionalProperties"), dict):
            yield f"{place}: is a map, but not in the schema"
        else:
            values = target["additionalProperties"]
            yield from value_differences(values, typing.get_args(kind)[1], f"{place}{{}}", seen)
    elif not is_scalar(kind, types):
        yield f"{place}: is {kind}, but {types} in the schema"


def type_words(schema: Schema) -> list[str]:
    """The schema's types as a list, however it is written."""
    words = schema.get("type", [])
    return [words] if isinstance(words, str) else list(words)


def is_scalar(kind: Any, types: list[str]) -> bool:
    """Whether the annotation is a scalar of the schema's one type; words of a Literal count by their type."""
    found = {type(word) for word in typing.get_args(kind)} if typing.get_origin(kind) is typing.Literal else {kind}
    return len(types) == 1 and types[0] in SCALARS and found <= set(SCALARS[types[0]])


def test_every_property_has_its_field_and_no_field_is_invented() -> None:
    seen: set[tuple[str, type]] = set()
    found = [line for name, model in whole_kinds() for line in differences(name, model, seen)]
    unexpected = [line for line in found if line.partition(":")[0] not in ALLOWED]
    assert unexpected == []
    assert len(seen) > 140, "the walk did not reach the pod"


def test_every_allowed_difference_is_still_one() -> None:
    seen: set[tuple[str, type]] = set()
    places = {line.partition(":")[0] for name, model in whole_kinds() for line in differences(name, model, seen)}
    assert set(ALLOWED) <= places


@pytest.mark.parametrize(
    ("definition", "field", "told"),
    [
        ("io.k8s.api.core.v1.ServicePort", "port", "Bad.port: is required in the schema"),
        ("io.k8s.api.core.v1.ServicePort", "name", "Bad.name: is <class 'int'>, but ['string'] in the schema"),
        ("io.k8s.api.core.v1.ServicePort", "nodePort", "Bad.nodePort: is missing in the model"),
        ("io.k8s.api.core.v1.ServicePort", "extra", "Bad.extra: is not in the schema"),
        ("io.k8s.api.core.v1.ServicePort", "targetPort", "Bad.targetPort: is a number or a string in the schema"),
    ],
)
def test_the_walk_sees_differences(definition: str, field: str, told: str) -> None:
    class Bad(Model):
        port: int | None = None
        name: int | None = None
        target_port: str | None = None
        extra: str | None = None

    assert told in [line for line in differences(definition, Bad, set()) if line.startswith(f"Bad.{field}:")]
