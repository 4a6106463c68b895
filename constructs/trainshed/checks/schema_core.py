"""Kinds that are built into Kubernetes and have no model here: the strict schemas that `kubernetes-validate` ships.

Its own validation takes 6 to 7 ms a manifest and stops at one error, so only its schema files are used, compiled with
`jsonschema-rs` on first use of a kind.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from trainshed.api.mistakes import Mistake

Schema = dict[str, Any]

_BASE: Final = "https://kubernetes.io/api/"
#: The groups of `_definitions.json` of Kubernetes 1.36. Asking does not read a file.
_GROUPS: Final = frozenset(
    {"", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "autoscaling"}
    | {"batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "extensions"}
    | {"authentication.k8s.io", "authorization.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io"}
    | {"node.k8s.io", "policy", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io"}
    | {"storage.k8s.io", "storagemigration.k8s.io"}
)


def is_builtin(group: str) -> bool:
    """Whether an API group belongs to Kubernetes itself."""
    return group in _GROUPS


def releases() -> list[str]:
    """The Kubernetes minor releases that there are schemas for, as in `1.36`, oldest first."""
    found = {folder.name[1:].split(".0-")[0] for folder in _root().glob("v*-local-strict")}
    return sorted(found, key=lambda release: [int(part) for part in release.split(".")])


@functools.cache
def kinds(release: str) -> dict[tuple[str, str], str]:
    """The name of the schema of each (apiVersion, kind) of a Kubernetes release."""
    found: dict[tuple[str, str], str] = {}
    for name, schema in _definitions(release).items():
        for entry in schema.get("x-kubernetes-group-version-kind", ()):
            prefix = f"{entry['group']}/" if entry["group"] else ""
            found[f"{prefix}{entry['version']}", entry["kind"]] = name
    return found


def core_mistakes(manifest: dict[str, Any], release: str) -> Iterator[Mistake]:
    """What the schema of its kind refuses in `manifest`; `status` is not judged. Nothing for a kind that it does not
    have."""
    name = kinds(release).get((manifest["apiVersion"], manifest["kind"]))
    if name is not None:
        from trainshed.checks.schema_errors import mistakes_in

        yield from mistakes_in(_validator(release, name), {"$defs": _definitions(release)}, without_status(manifest))


def without_status(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest without what controllers own."""
    return {key: value for key, value in manifest.items() if key != "status"} if "status" in manifest else manifest


@functools.cache
def _validator(release: str, name: str) -> Any:
    import jsonschema_rs

    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{_BASE}{name}",
        "$ref": f"{_BASE}_definitions.json#/$defs/{name}",
    }
    return jsonschema_rs.validator_for(schema, retriever=lambda _: {"$defs": _definitions(release)})


@functools.cache
def _definitions(release: str) -> dict[str, Schema]:
    file = _root() / f"v{release}.0-local-strict" / "_definitions.json"
    found: dict[str, Schema] = json.loads(file.read_text(encoding="utf-8"))["$defs"]
    return found


@functools.cache
def _root() -> Path:
    # Importing the package would import its validator and 20 more modules.
    spec = find_spec("kubernetes_validate")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("kubernetes_validate")
    return Path(spec.origin).parent / "kubernetes-json-schema"
