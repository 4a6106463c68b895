"""The registry knows every kind, and each entry is what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracle.core import is_core
from tests.oracle.crd import crds
from trainshed.api.base import Model
from trainshed.api.registry import KINDS, model_for, parse_manifest, scope_of


@pytest.mark.parametrize(("api_version", "kind"), KINDS, ids=[f"{version}/{kind}" for version, kind in KINDS])
def test_an_entry_imports_and_agrees_with_its_class(api_version: str, kind: str) -> None:
    model = model_for(api_version, kind)
    assert model is not None
    assert model.model_fields["api_version"].default == api_version
    assert model.model_fields["kind"].default == kind
    assert scope_of(api_version, kind) == ("Namespaced" if model.namespaced else "Cluster")


@pytest.mark.parametrize(("api_version", "kind"), KINDS, ids=[f"{version}/{kind}" for version, kind in KINDS])
def test_an_entry_is_known_upstream_with_the_same_scope(shared: Path, api_version: str, kind: str) -> None:
    crd = crds().get((api_version, kind))
    if crd is None:
        assert is_core(api_version, kind)
        assert (scope_of(api_version, kind) == "Cluster") == (kind in ("Namespace", "PriorityClass"))
    else:
        assert scope_of(api_version, kind) == ("Namespaced" if crd.namespaced else "Cluster")


def test_an_unknown_kind_has_no_model() -> None:
    assert model_for("v1", "Pdo") is None
    assert scope_of("batch/v1", "JobSet") is None
    assert parse_manifest({"apiVersion": "v1", "kind": "Secret"}) is None
    assert parse_manifest({"kind": 3}) is None


def test_a_manifest_becomes_its_object() -> None:
    parsed = parse_manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
    assert parsed is not None
    assert parsed.identity == ("", "Namespace", "", "a")


def test_importing_the_registry_imports_no_model() -> None:
    code = "import sys, trainshed.api.registry as r; print([m for m in sys.modules if m.startswith('trainshed.api.')])"
    path = {"PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=path)
    assert run.stdout.strip() == "['trainshed.api.base', 'trainshed.api.registry']"


def test_pydantic_need_not_evaluate_annotations() -> None:
    """As text they make the start 3 % longer."""
    for api_version, kind in KINDS:
        model_for(api_version, kind)
    models = list(Model.__subclasses__())
    for model in models:
        models.extend(model.__subclasses__())
    ours = [model for model in models if model.__module__.startswith("trainshed.api.")]
    assert len(ours) > 200
    assert [model for model in ours if any(isinstance(one, str) for one in model.__annotations__.values())] == []
