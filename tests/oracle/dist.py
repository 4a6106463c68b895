"""One question for any manifest: would the API server take it? For everything under `dist/`."""

from __future__ import annotations

from typing import Any

from tests.oracle.core import core_errors, is_core
from tests.oracle.crd import crd_errors, crds


def object_errors(manifest: dict[str, Any]) -> list[str]:
    """All reasons to refuse `manifest`: of its CRD with CEL rules, or of the strict schema of a built-in kind.

    A kind that neither upstream's CRDs nor Kubernetes know is an error too.
    """
    api_version, kind = str(manifest.get("apiVersion", "")), str(manifest.get("kind", ""))
    if (api_version, kind) in crds():
        return crd_errors(manifest)
    if is_core(api_version, kind):
        return core_errors(manifest)
    return [f"neither Kubernetes nor the CRDs know {api_version or '(no apiVersion)'} {kind or '(no kind)'}"]
