"""Tenants from YAML: the same tenant as in Python, and every fault at its line and column.

What people are told word for word is in tests/cli/bad_inputs.txt; here are the corners.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synthesis import h100, new_cluster, synth, told
from trainshed.api.kueue import ClusterQueuePreemption
from trainshed.faults import Faults
from trainshed.gitops import Cluster
from trainshed.inputs import load_tenants
from trainshed.tenancy import AdmissionCheck, Cohort, NodePool, Tenant, nodes, resources

EVERYTHING = """# yaml-language-server: $schema=../../../schemas/tenant.json
name: research
namespaces: [research-a, research-b]
owners: [researchers]
cohort: shared
guarantee:
  h100: {nodes: 3}
  cpu: {resources: {cpu: 100, memory: 1.5Ti}}
borrow:
  h100: unlimited
  cpu: {nodes: 2}
lend:
  h100: {nodes: 1}
priority: high
workloadKinds: [TrainJob]
podSecurity: baseline
containerDefaults: {cpu: 0.5, memory: 1Gi}
clusterQueue: clusterq-research
localQueue: llm
namespaceLabels: {cost-center: "42"}
queueingStrategy: StrictFIFO
preemption: {reclaimWithinCohort: LowerPriority}
admissionChecks: [budget]
fairSharingWeight: 0.5
stopPolicy: HoldAndDrain
"""
MINIMAL = "name: research\nnamespaces: [n]\nguarantee:\n  h100: {nodes: 1}\n"


@pytest.fixture
def cluster() -> Cluster:
    return furnished()


def furnished() -> Cluster:
    """A cluster with two pools, a cohort and an admission check."""
    cluster = new_cluster()
    h100(cluster)
    NodePool(cluster, "cpu", nodes=20, per_node={"cpu": 64, "memory": "256Gi"})
    Cohort(cluster, "shared")
    AdmissionCheck(cluster, "budget", controller="example.com/budget")
    return cluster


def load(cluster: Cluster, folder: Path, text: str | bytes, name: str = "research") -> dict[str, Tenant]:
    content = text.encode() if isinstance(text, str) else text
    (folder / f"{name}.yaml").write_bytes(content)
    return load_tenants(cluster, folder)


def faults(cluster: Cluster) -> list[str]:
    """Every fault with its line and column, without the folder of its file."""
    try:
        cluster.render()
    except Faults as found:
        return [str(fault).replace(f"{Path(fault.place.file).parent}/", "") for fault in found.faults if fault.place]
    return []


def test_a_file_says_what_python_says(cluster: Cluster, tmp_path: Path) -> None:
    # GIVEN a tenant in a file
    loaded = load(cluster, tmp_path, EVERYTHING)
    # WHEN the same is written in Python
    other = furnished()
    pools = {pool.name: pool for pool in other.all_of(NodePool)}
    Tenant(
        other,
        "research",
        namespaces=["research-a", "research-b"],
        owners=["researchers"],
        cohort=other.all_of(Cohort)[0],
        guarantee={pools["h100"]: nodes(3), pools["cpu"]: resources(cpu=100, memory="1.5Ti")},
        borrow={pools["h100"]: "unlimited", pools["cpu"]: nodes(2)},
        lend={pools["h100"]: nodes(1)},
        priority="high",
        workload_kinds=["TrainJob"],
        pod_security="baseline",
        container_defaults={"cpu": "500m", "memory": "1Gi"},
        cluster_queue="clusterq-research",
        local_queue="llm",
        namespace_labels={"cost-center": "42"},
        queueing_strategy="StrictFIFO",
        preemption=ClusterQueuePreemption(reclaim_within_cohort="LowerPriority"),
        admission_checks=other.all_of(AdmissionCheck),
        fair_sharing_weight="500m",
        stop_policy="HoldAndDrain",
    )
    # THEN both render the same
    assert synth(cluster) == synth(other)
    assert list(loaded) == ["research"]
    assert loaded["research"].queue("research-a").name == "llm"
    assert told(cluster) == told(other) == []


@pytest.mark.parametrize(
    "text",
    [
        MINIMAL.replace("\n", "\r\n"),
        "\ufeff" + MINIMAL,
        "---\n" + MINIMAL + "...\n",
        "%YAML 1.2\n---\n" + MINIMAL,
        MINIMAL.replace("[n]", "\n  - n"),
        MINIMAL.replace("research", '"research"'),
        "x-none: &one {nodes: 1}\n" + MINIMAL.replace("{nodes: 1}", "*one"),
    ],
    ids=["crlf", "bom", "markers", "directive", "block list", "quotes", "anchor"],
)
def test_any_way_to_write_it(cluster: Cluster, tmp_path: Path, text: str) -> None:
    load(cluster, tmp_path, text)
    known = [fault for fault in faults(cluster) if "x-none" not in fault]
    assert known == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            MINIMAL + "---\nname: b\n",
            "research.yaml:5:1: a second document begins here; a file holds one tenant: give it a file of its own",
        ),
        ("- a\n", 'research.yaml:1:1: holds no tenant; write for example "name: research"'),
        ("research\n", 'research.yaml:1:1: holds no tenant; write for example "name: research"'),
        ("name: a: b\n", "research.yaml:1:8: is not YAML: mapping values are not allowed here"),
        ("name: 'a\n", "research.yaml:2:1: is not YAML: found unexpected end of stream"),
        ("name: *a\n", "research.yaml:1:7: is not YAML: found undefined alias 'a'"),
        (
            b"name: \xff\n",
            "research.yaml:1:7: is not UTF-8: it has the byte 0xff here; save the file as UTF-8",
        ),
        (
            MINIMAL.replace("nodes: 1", "nodes: 1, nodes: 2"),
            "research.yaml:4:20: this key is written twice; keep one of them",
        ),
        (
            MINIMAL.replace("nodes: 1", "nodes: 1.5"),
            'research.yaml:4:10: Tenant "research", guarantee[h100].nodes: is the number 1.5, must be a whole number',
        ),
        (
            MINIMAL.replace("nodes: 1", "nodes: 1, resources: {cpu: 1}"),
            'research.yaml:4:3: Tenant "research", guarantee[h100]: needs either nodes or resources; '
            'write for example "nodes: 3"',
        ),
        (
            MINIMAL.replace("{nodes: 1}", ""),
            'research.yaml:4:3: Tenant "research", guarantee[h100]: is null, must be a mapping; '
            "write a value, or remove the field",
        ),
        (
            MINIMAL.replace("[n]", "n"),
            'research.yaml:2:1: Tenant "research", namespaces: is the string "n", must be a list; '
            "write it as a list: [n]",
        ),
        (
            MINIMAL.replace("[n]", "[n, 12]"),
            'research.yaml:2:17: Tenant "research", namespaces[1]: is the number 12, must be a string; '
            'write it in quotes: "12"',
        ),
        (
            MINIMAL + "admissionChecks: [bugdet]\n",
            'research.yaml:5:19: Tenant "research", admissionChecks[0]: cluster "lab" has no admission check "bugdet"; '
            'did you mean "budget"?',
        ),
        (
            MINIMAL.replace("{nodes: 1}", "3"),
            'research.yaml:4:3: Tenant "research", guarantee[h100]: is the number 3, must be a mapping; '
            "write {nodes: 3}",
        ),
        (
            MINIMAL + "stopPolicy: Drain\n",
            'research.yaml:5:1: Tenant "research", stopPolicy: is "Drain", must be one of None, Hold, HoldAndDrain',
        ),
        (
            MINIMAL + "namespaceLabels:\n  trainshed.dev/tenant: other\n",
            'research.yaml:6:3: Tenant "research", namespaceLabels[trainshed.dev/tenant]: the key is wrong: '
            '"trainshed.dev/tenant" is Trainshed\'s; leave it out',
        ),
    ],
)
def test_corners(cluster: Cluster, tmp_path: Path, text: str | bytes, fault: str) -> None:
    load(cluster, tmp_path, text)
    assert faults(cluster) == [fault]


def test_a_file_that_cannot_be_read(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "research.yaml").mkdir()
    load_tenants(cluster, tmp_path)
    assert faults(cluster) == ["research.yaml: cannot be read: Is a directory"]


def test_tenants_are_made_in_the_order_of_their_files(cluster: Cluster, tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.yaml").write_text(MINIMAL.replace("research", name).replace("[n]", f"[{name}]"))
    (tmp_path / "README.md").write_text("tenants of the lab\n")
    loaded = load_tenants(cluster, tmp_path)
    assert list(loaded) == ["a", "b", "c"]
    assert told(cluster) == []


def test_a_faulty_tenant_is_told_once_however_often_it_is_used(cluster: Cluster, tmp_path: Path) -> None:
    loaded = load(cluster, tmp_path, MINIMAL.replace("nodes: 1", "nods: 1"))
    with pytest.raises(Faults) as caught:
        loaded["research"]
    assert set(caught.value.faults) <= set(cluster.faults)


def test_faults_of_the_pool_stand_in_the_file(cluster: Cluster, tmp_path: Path) -> None:
    load(cluster, tmp_path, MINIMAL.replace("nodes: 1", "nodes: 9"))
    assert faults(cluster) == [
        'research.yaml:4:3: Tenant "research", guarantee: promises 864 cpu, 3600G memory, 72 nvidia.com/gpu of pool '
        '"h100" (8 nodes), which has 768 cpu, 3200G memory, 64 nvidia.com/gpu left; promise less, or let it borrow'
    ]
