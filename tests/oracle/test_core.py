"""The oracle for built-in kinds: it knows each kind, refuses what the schema refuses, and tells every mistake."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.core import UnknownKindError, core_errors, definitions, is_core
from trainshed.api.registry import KINDS

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "a"},
    "spec": {"template": {"spec": {"containers": [{"name": "main"}], "restartPolicy": "Never"}}},
}


def test_a_good_object_has_no_errors() -> None:
    assert core_errors(JOB) == []
    assert core_errors({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}) == []


def test_every_mistake_is_told_with_its_path() -> None:
    spec = {"paralelism": 1, "backoffLimit": "2", "template": {"spec": {}}}
    wrong_type, *others = core_errors({**JOB, "spec": spec})
    assert wrong_type.startswith('spec.backoffLimit: "2" is not of types')
    assert others == [
        'spec.template.spec: "containers" is a required property',
        "spec: Additional properties are not allowed ('paralelism' was unexpected)",
    ]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("jobset.x-k8s.io/v1alpha2", "JobSet"), ("batch.volcano.sh/v1", "Job"), ("batch/v2", "Job"), ("v1", "Pdo")],
)
def test_a_kind_that_is_not_built_in_is_no_silent_success(api_version: str, kind: str) -> None:
    """`batch.volcano.sh` is another group than `batch`, though schema files are named by the first word."""
    assert not is_core(api_version, kind)
    with pytest.raises(UnknownKindError):
        core_errors({"apiVersion": api_version, "kind": kind})


def test_every_registered_built_in_kind_has_a_schema() -> None:
    built_in = [(version, kind) for version, kind in KINDS if is_core(version, kind)]
    assert len(built_in) == 13
    for api_version, kind in built_in:
        errors = core_errors({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "typo": 1})
        assert any("'typo' was unexpected" in error for error in errors), kind


def test_definitions_are_those_of_the_target() -> None:
    assert "io.k8s.api.batch.v1.JobSpec" in definitions()
