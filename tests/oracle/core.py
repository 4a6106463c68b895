"""What the API server's schema says about an object of a built-in kind: kubernetes-validate's strict schemas.

Independent of Trainshed's models on purpose: it judges them and everything under `dist/`. The schemas are those of the
release in `trainshed.target`, unknown fields are refused, every error is told. Rules beyond the schema are not known.
"""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

import jsonschema_rs

from trainshed.target import TARGET

Manifest = dict[str, Any]
Schema = dict[str, Any]

_BASE: Final = "https://kubernetes.io/api/"


class UnknownKindError(LookupError):
    """There is no schema for this kind at this version: it is not built into Kubernetes, or it is misspelled."""


def core_errors(manifest: Manifest) -> list[str]:
    """All that the schema refuses in `manifest`, as `path: message`, sorted; empty for a good one.

    Raises UnknownKindError for a kind that this Kubernetes release does not have.
    """
    validator = _validator(str(manifest.get("apiVersion")), str(manifest.get("kind")))
    return sorted(
        f"{'.'.join(map(str, error.instance_path))}: {error.message}" for error in validator.iter_errors(manifest)
    )


def is_core(api_version: str, kind: str) -> bool:
    """Whether Kubernetes itself has this kind at this version."""
    return _schema(api_version, kind) is not None


@functools.cache
def definitions() -> dict[str, Schema]:
    """Every schema by its full name (`io.k8s.api.batch.v1.JobSpec`)."""
    found: dict[str, Schema] = _load("_definitions.json")["$defs"]
    return found


def definition_name(schema: Schema) -> str | None:
    """The full name that a schema's `$ref` points to."""
    _, found, name = str(schema.get("$ref", "")).partition("#/$defs/")
    return name if found else None


@functools.cache
def _validator(api_version: str, kind: str) -> jsonschema_rs.Validator:
    if (schema := _schema(api_version, kind)) is None:
        raise UnknownKindError(f"{api_version} {kind}")
    return jsonschema_rs.validator_for(schema, retriever=_retrieve)


def _retrieve(uri: str) -> Any:
    if uri != f"{_BASE}_definitions.json":
        raise ValueError(f"{uri} is not part of the schemas")
    return _load("_definitions.json")


def _schema(api_version: str, kind: str) -> Schema | None:
    group, slash, version = api_version.rpartition("/")
    parts = [kind, group.split(".")[0], version] if slash else [kind, version]
    file = f"{'-'.join(parts).lower()}.json"
    if not (_folder() / file).is_file():
        return None
    schema: Schema = _load(file)
    # Files are named by the first word of the group, and batch.volcano.sh is not batch.
    return schema if schema["properties"].get("apiVersion", {}).get("enum") == [api_version] else None


@functools.cache
def _folder() -> Traversable:
    return files("kubernetes_validate") / "kubernetes-json-schema" / f"v{TARGET.kubernetes}.0-local-strict"


@functools.cache
def _load(file: str) -> Any:
    return json.loads((_folder() / file).read_text(encoding="utf-8"))
