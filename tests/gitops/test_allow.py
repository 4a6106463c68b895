"""`component.allow("code")`: one finding passes on one object, and nothing else of what is rendered changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.synthesis import Manifest, h100, new_cluster, synth, told
from tests.training.given import FORMS, QUEUE, run, training
from trainshed.gitops import Cluster
from trainshed.gitops.component import Component
from trainshed.inputs import load_tenants
from trainshed.tenancy import Cohort, NodePool, Tenant, nodes
from trainshed.training import TrainJob

ALLOW = "trainshed.dev/allow"
FILE = "name: a\nnamespaces: [n, m]\nguarantee: {h100: {nodes: 1}}\nallow:\n- codes: [kueue-one, kueue-two]\n"


@pytest.fixture
def cluster() -> Cluster:
    return new_cluster()


def tenant(cluster: Cluster) -> Tenant:
    return Tenant(cluster, "a", namespaces=["n", "m"], guarantee={h100(cluster): nodes(1)})


def allowing(made: list[Manifest]) -> dict[str, str]:
    """What each object allows, by its kind and namespace."""
    written = ((item, item["metadata"]["annotations"].get(ALLOW)) for item in made)
    return {f"{item['kind']}/{item['metadata'].get('namespace', '')}": codes for item, codes in written if codes}


def test_a_tenants_allowance_stands_on_its_cluster_queue(cluster: Cluster) -> None:
    tenant(cluster).allow("kueue-two", "kueue-one")
    assert allowing(synth(cluster)) == {"ClusterQueue/": "kueue-one, kueue-two"}


def test_an_object_is_meant_by_kind_and_namespace(cluster: Cluster) -> None:
    made = tenant(cluster)
    made.allow("kueue-one", kind="LocalQueue", namespace="m")
    made.allow("argocd-one", kind="Namespace", namespace="n")
    made.allow("resources-one", kind="LimitRange")
    made.allow("resources-two", kind="LimitRange", namespace="n")
    written = [item for item in synth(cluster) if ALLOW in item["metadata"]["annotations"]]
    assert {(item["kind"], item["metadata"].get("namespace", item["metadata"]["name"])) for item in written} == {
        ("LocalQueue", "m"),
        ("Namespace", "n"),
        ("LimitRange", "n"),
        ("LimitRange", "m"),
    }
    assert allowing(written)["LimitRange/n"] == "resources-one, resources-two"
    assert told(cluster) == []


def test_the_only_object_and_the_main_one_need_no_kind(cluster: Cluster) -> None:
    Cohort(cluster, "c").allow("kueue-one")
    per_node: Any = {"cpu": 8, "memory": "8G"}
    NodePool(cluster, "p", nodes=1, per_node=per_node, labels={"a": "b"}, topology=["host"]).allow("kueue-two")
    assert allowing(synth(cluster)) == {"Cohort/": "kueue-one", "ResourceFlavor/": "kueue-two"}


@pytest.mark.parametrize("form", FORMS)
def test_a_run_that_allows_something_is_the_same_run(cluster: Cluster, form: str) -> None:
    plain, allowed = new_cluster(), cluster
    run(plain, form)
    run(allowed, form).allow("rendezvous-one")
    before, after = synth(plain, "runs"), synth(allowed, "runs")
    assert after[-1]["metadata"]["annotations"].pop(ALLOW) == "rendezvous-one"
    assert after == before


def test_what_is_no_code_and_what_means_no_object_is_told(cluster: Cluster) -> None:
    made = tenant(cluster)
    made.allow()
    made.allow("Kueue One", "a, b")
    made.allow("kueue-one", kind="LocalQeue")
    made.allow("kueue-one", kind="LocalQueue", namespace="o")
    TrainJob(cluster, "llm", training(), queue=QUEUE).allow("kueue-one", kind="JobSet")
    assert [fault for fault in told(cluster) if "allow" in fault] == [
        'Tenant "a", allow: names no code; write one as `trainshed check` shows it, such as "kueue-never-admitted"',
        'Tenant "a", allow: "Kueue One" is no code; write one as `trainshed check` shows it, such as '
        '"kueue-never-admitted"',
        'Tenant "a", allow: "a, b" is no code; write one as `trainshed check` shows it, such as "kueue-never-admitted"',
        'Tenant "a", allow: renders no LocalQeue; did you mean "LocalQueue"?',
        'Tenant "a", allow: renders no LocalQueue in namespace "o"; it renders one in n, m',
        'TrainJob "llm", allow: renders no JobSet; it renders TrainingRuntime, TrainJob',
    ]


def test_a_component_of_several_kinds_has_to_be_told_which(cluster: Cluster) -> None:
    class Pair(Component):
        def render(self) -> Any:
            return [*Cohort(new_cluster(), "c").render(), *h100(new_cluster()).render()]

    Pair(cluster, "pair").allow("kueue-one")
    assert told(cluster) == ['Pair "pair", allow: renders no single object; it renders Cohort, ResourceFlavor']


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ("", {"ClusterQueue/": "kueue-one, kueue-two"}),
        ("  kind: LocalQueue\n  namespace: m\n", {"LocalQueue/m": "kueue-one, kueue-two"}),
    ],
)
def test_a_tenant_file_allows_as_python_does(cluster: Cluster, tmp_path: Path, more: str, where: Any) -> None:
    h100(cluster)
    (tmp_path / "a.yaml").write_text(FILE + more)
    load_tenants(cluster, tmp_path)
    assert allowing(synth(cluster)) == where


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (FILE + "  kind: Job\n", 'a.yaml:5:3: Tenant "a", allow: renders no Job; it renders ClusterQueue, Namespace, '),
        (FILE.replace("kueue-two", "K"), 'a.yaml:5:22: Tenant "a", allow[0].codes[1]: "K" is no code; write one as '),
        (
            FILE.replace("codes", "code"),
            'a.yaml:5:3: Tenant "a", allow[0].code: is not a field of Allowed; did you mean "codes"?',
        ),
    ],
)
def test_mistakes_stand_in_the_file(cluster: Cluster, tmp_path: Path, text: str, fault: str) -> None:
    h100(cluster)
    (tmp_path / "a.yaml").write_text(text)
    load_tenants(cluster, tmp_path)
    told(cluster)
    assert fault in [str(one).replace(f"{tmp_path}/", "")[: len(fault)] for one in cluster.faults]
