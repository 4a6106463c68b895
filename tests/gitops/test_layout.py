"""File names: decided by the object alone, one per identity, fit for every file system."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.gitops.layout import file_name, identity


def made(api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        (made("v1", "ConfigMap", "a", "ns"), "ConfigMap.ns.a.yaml"),
        (made("v1", "Namespace", "ns"), "Namespace.ns.yaml"),
        (made("kueue.x-k8s.io/v1beta2", "LocalQueue", "llm", "namespace-1"), "LocalQueue.namespace-1.llm.yaml"),
        (made("kueue.x-k8s.io/v1beta2", "ClusterQueue", "high"), "ClusterQueue.high.yaml"),
        (made("batch/v1", "Job", "a", "ns"), "Job.ns.a.yaml"),
        (made("batch.volcano.sh/v1alpha1", "Job", "a", "ns"), "Job-batch.volcano.sh.ns.a.yaml"),
        (made("scheduling.volcano.sh/v1beta1", "Queue", "test"), "Queue.test.yaml"),
        (made("scheduling.run.ai/v2", "Queue", "test"), "Queue-scheduling.run.ai.test.yaml"),
        (made("v1", "Job", "a", "ns"), "Job-core.ns.a.yaml"),
        (made("rbac.authorization.k8s.io/v1", "ClusterRole", "a:b/c d"), "ClusterRole.a%3Ab%2Fc%20d.yaml"),
    ],
)
def test_file_names(manifest: dict[str, Any], name: str) -> None:
    assert file_name(manifest) == name


def test_a_version_is_no_part_of_an_identity() -> None:
    assert identity(made("batch/v1", "Job", "a", "ns")) == ("batch", "Job", "ns", "a")
    assert identity(made("batch/v1beta1", "Job", "a", "ns")) == identity(made("batch/v1", "Job", "a", "ns"))
    assert identity({"metadata": None}) == ("", "", "", "")


def test_a_long_name_is_cut_but_stays_its_own() -> None:
    one, other = (file_name(made("v1", "ConfigMap", "a" * 250 + end, "ns")) for end in "xy")
    assert one != other
    assert len(one) == len(other) == 200


NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
VERSIONS = st.sampled_from(["v1", "batch/v1", "batch.volcano.sh/v1alpha1"])
OBJECTS = st.builds(made, VERSIONS, st.sampled_from(["Job", "CronJob"]), NAMES, NAMES)


@given(OBJECTS, OBJECTS)
def test_two_objects_have_two_files(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (identity(one) == identity(other)) == (file_name(one) == file_name(other))


@given(st.text(min_size=1, max_size=300))
def test_any_name_gives_an_ordinary_file_name(name: str) -> None:
    made_name = file_name(made("v1", "ConfigMap", name, "ns"))
    assert made_name.isascii()
    assert not set(made_name) & set('/\\:*?"<>| \n')
    assert len(made_name) <= 200
