"""The dispatch: custom kinds go to their CRD, built-in kinds to Kubernetes' schemas, others are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.oracle.dist import object_errors
from tests.oracle.documents import documents


@pytest.fixture(autouse=True)
def _upstream(shared: Path) -> None:
    """All tests here need upstream's CRDs."""


def manifest(api_version: str, kind: str, **body: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **body}


def test_sound_objects_pass() -> None:
    assert object_errors(manifest("v1", "ConfigMap", data={"a": "b"})) == []
    assert object_errors(manifest("kueue.x-k8s.io/v1beta2", "LocalQueue", spec={"clusterQueue": "q"})) == []


@pytest.mark.parametrize(
    "wrong",
    [
        manifest("v1", "ConfigMap", data={"a": 1}),
        manifest("v1", "ConfigMap", dada={}),
        manifest("kueue.x-k8s.io/v1beta2", "LocalQueue", spec={"clusterQ": "q"}),
        manifest("kueue.x-k8s.io/v1beta2", "LocalCue"),
        manifest("batch/v2", "Job"),
        manifest("batch.volcano.sh/v1", "Job"),
        {"kind": "ConfigMap"},
        {},
    ],
    ids=str,
)
def test_unsound_objects_do_not(wrong: dict[str, Any]) -> None:
    assert object_errors(wrong)


def test_yaml_is_read_as_kubernetes_reads_it() -> None:
    text = "{date: 2026-01-01, time: 12:30:45, octal: 0644, yes: off, text: '0644', big: 1_000, real: 1e3, none: ~}"
    read = {"date": "2026-01-01", "time": "12:30:45", "octal": 420, True: False, "text": "0644", "big": 1000}
    assert list(documents(f"---\n{text}\n---\n")) == [{**read, "real": "1e3", "none": None}]
