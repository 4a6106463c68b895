"""Slips in names of three letters, in levels that every node has, in kinds of a project."""

from __future__ import annotations

import io

import pytest

from trainshed.checks.engine import check
from trainshed.checks.options import Options

KUEUE = "apiVersion: kueue.x-k8s.io/v1beta2\n"


def told(code: str, *objects: str) -> list[str]:
    report = check(["-"], Options(select=(code,)), stdin=io.BytesIO("---\n".join(objects).encode()))
    return [f"{finding.severity} {finding.path} {finding.fix}" for finding in report.findings]


def queue(name: str, cohort: str) -> str:
    spec = f"{{cohortName: {cohort}, namespaceSelector: {{}}}}"
    return f"{KUEUE}kind: ClusterQueue\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def cohort(name: str) -> str:
    return f"{KUEUE}kind: Cohort\nmetadata: {{name: {name}}}\n"


@pytest.mark.parametrize("wrong", ["lba", "alb", "la", "labb", "lob"])
def test_a_slip_in_a_cohort_of_three_letters_is_a_warning(wrong: str) -> None:
    expected = ['warning spec.cohortName did you mean "lab"?'] if wrong != "la" else []
    assert told("kueue-cohort-typo", queue("a", "lab"), queue("b", "lab"), queue("c", wrong)) == expected


@pytest.mark.parametrize(
    ("one", "other"), [("gpu", "cpu"), ("a", "b"), ("t1a", "t2a"), ("dev", "lab"), ("lab-a", "lab-b")]
)
def test_other_short_names_are_names(one: str, other: str) -> None:
    assert told("kueue-cohort-typo", queue("a", one), queue("b", one), queue("c", other)) == []


def test_a_cohort_object_without_members_is_told_where_its_name_is_nearly_theirs() -> None:
    members = queue("a", "research"), queue("b", "research")
    assert told("kueue-cohort-typo", *members, cohort("reserach")) == ['error metadata.name did you mean "research"?']
    assert told("kueue-cohort-typo", queue("a", "lab"), queue("b", "lab"), cohort("lba")) == [
        'warning metadata.name did you mean "lab"?'
    ]
    assert told("kueue-cohort-typo", *members, cohort("training")) == []
    assert told("kueue-cohort-typo", *members, cohort("research"), cohort("reserach")) == []


def topology(*levels: str) -> str:
    listed = ", ".join(f"{{nodeLabel: {level}}}" for level in levels)
    return f"{KUEUE}kind: Topology\nmetadata: {{name: t}}\nspec: {{levels: [{listed}]}}\n"


@pytest.mark.parametrize(
    "level",
    ["kubernetes.io/hotsname", "kubernetes.io/Hostname", "kubernets.io/hostname", "topology.kubernetes.io/znoe"],
)
def test_a_level_that_is_nearly_a_label_of_every_node(level: str) -> None:
    assert len(told("kueue-topology-level-misspelt", topology("example.com/rack", level))) == 1


@pytest.mark.parametrize("level", ["kubernetes.io/hostname", "example.com/hostname", "kubernetes.io/host", "hostname"])
def test_a_level_that_may_be_meant(level: str) -> None:
    assert told("kueue-topology-level-misspelt", topology("example.com/rack", level)) == []


def test_a_label_that_a_node_of_the_input_has_is_meant() -> None:
    node = 'apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {kubernetes.io/hotsname: "1"}}\n'
    assert told("kueue-topology-level-misspelt", topology("kubernetes.io/hotsname"), node) == []


@pytest.mark.parametrize(
    ("group", "kind", "found"), [("batch", "Jbo", 1), ("batch", "Job", 0), ("example.com", "Jbo", 0)]
)
def test_a_short_kind_of_a_project(group: str, kind: str, found: int) -> None:
    project = (
        "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: p, namespace: argocd}\n"
        f"spec: {{namespaceResourceWhitelist: [{{group: {group}, kind: {kind}}}]}}\n"
    )
    assert len(told("argocd-project-unknown-kind", project)) == found
