"""What the input tells about namespaces, and which labels a selector takes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.given import fleet
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import read
from trainshed.fleet.selectors import could_match, matches, plain_matches

NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {kueue-managed: 'true'}}}"


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, True),
        (None, False),
        ([], False),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchLabels": {"c": "1"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["2", "1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "c", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "c", "operator": "Exists"}]}, False),
        ({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Gt", "values": ["0"]}]}, False),
    ],
)
def test_label_selectors(selector: Any, expected: bool) -> None:
    """apimachinery's own cases: all requirements must hold, an empty selector takes everything, none takes nothing."""
    assert matches(selector, {"a": "1", "b": "2"}) is expected


def test_a_selector_on_labels_that_are_not_known_has_no_answer() -> None:
    """Unless a label that is known already decides against it."""
    assert could_match({"matchLabels": {"x": "1"}}, {"a": "1"}) is None
    assert could_match({"matchLabels": {"x": "1", "a": "2"}}, {"a": "1"}) is False
    assert could_match({"matchLabels": {"x": "1"}}, {}, frozenset(("x",))) is False


def test_a_services_selector_takes_nothing_when_it_is_empty() -> None:
    assert plain_matches({"a": "1"}, {"a": "1", "b": "2"})
    assert not plain_matches({}, {"a": "1"})
    assert not plain_matches({"a": "1", "c": "1"}, {"a": "1"})


def test_labels_of_a_namespace() -> None:
    """Every namespace carries its name as a label; of one that is not in the input only that is known."""
    found = fleet(NAMESPACE).namespaces
    assert found.labels("team") == {"kueue-managed": "true", "kubernetes.io/metadata.name": "team"}
    assert found.selected({"matchLabels": {"kueue-managed": "true"}}, "team") is True
    assert found.selected({"matchLabels": {"other": "true"}}, "team") is False
    assert found.selected({"matchLabels": {"other": "true"}}, "elsewhere") is None
    assert found.selected({"matchLabels": {"kubernetes.io/metadata.name": "team"}}, "elsewhere") is False
    assert found.selected({"matchLabels": {"other": "true"}}, None) is None
    assert (found.known("team"), found.known("elsewhere")) == (True, False)


APPLICATION = """
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: argocd}
spec: {source: {path: %s}, destination: {namespace: %s}}
"""
CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"


def landing(folder: Path, *applications: str) -> str | None:
    """Where a ConfigMap without a namespace in `dist/team` lands."""
    (folder / "dist/team").mkdir(parents=True, exist_ok=True)
    (folder / "dist/team/c.yaml").write_text(CONFIG)
    (folder / "apps.yaml").write_text("---".join(applications))
    whole = Fleet(read([str(folder)]).documents)
    (document,) = whole.of(("", "ConfigMap"))
    return whole.namespaces.of(document)


def test_an_object_lands_where_its_application_deploys_to(tmp_path: Path) -> None:
    """Only where exactly one Application of the input has the object's folder as its source."""
    assert landing(tmp_path, APPLICATION % ("a", "dist/team", "team")) == "team"
    assert landing(tmp_path, APPLICATION % ("a", "dist/other", "team")) is None
    assert landing(tmp_path, APPLICATION % ("a", "dist", "team")) is None
    assert landing(tmp_path, (APPLICATION % ("a", "dist", "team")).replace("dist,", "dist,")) is None
    recursive = APPLICATION.replace("path: %s", "path: %s, directory: {recurse: true}")
    assert landing(tmp_path, recursive % ("a", "dist", "team")) == "team"
    two = (APPLICATION % ("a", "dist/team", "team"), APPLICATION % ("b", "dist/team", "other"))
    assert landing(tmp_path, *two) is None


def test_a_reference_finds_objects_that_leave_their_namespace_out() -> None:
    queue = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: %s}}"
    data = "---\n".join(
        [queue % "q, namespace: a\n", queue % "r\n", queue % "s, namespace: a\n", queue % "s, namespace: b\n"]
    )
    found = Fleet(read(["-"], io.BytesIO(data.replace("}}", "}}\n").encode())).documents).namespaces

    def named(namespace: str | None, name: str) -> bool:
        return found.find("kueue.x-k8s.io", "LocalQueue", namespace, name) is not None

    assert named("a", "q")
    assert not named("b", "q")
    assert named("b", "r")
    assert named(None, "q")
    assert not named(None, "s")
    assert not named(None, "")
