"""A node pool: declared once, rendered as flavor and topology, its size in an annotation."""

from __future__ import annotations

import json

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.synthesis import NODE, new_cluster, only, synth, told
from trainshed.gitops import Cluster
from trainshed.tenancy import NodePool, Taint


@pytest.fixture
def cluster() -> Cluster:
    return new_cluster()


def test_a_pool_is_a_flavor_and_a_topology(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    # GIVEN a pool with labels, a taint and three levels
    NodePool(
        cluster,
        "h100",
        nodes=8,
        per_node=NODE,
        labels={"nvidia.com/gpu.product": "H100"},
        taints=[Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule"), Taint(key="a", effect="NoExecute")],
        topology=["block", "rack", "host"],
    )
    # WHEN it is rendered
    made = synth(cluster)
    # THEN the flavor names the topology and tolerates its own taints
    flavor, topology = only(made, "ResourceFlavor"), only(made, "Topology")
    assert flavor["spec"]["topologyName"] == topology["metadata"]["name"] == "h100"
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        "topology.trainshed.dev/block",
        "topology.trainshed.dev/rack",
        "kubernetes.io/hostname",
    ]
    assert flavor["spec"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
        {"key": "a", "operator": "Exists", "effect": "NoExecute"},
    ]
    waves = [int(item["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]) for item in (topology, flavor)]
    assert waves == sorted(waves)
    assert made == snapshot


def test_the_capacity_is_in_the_flavors_annotation(cluster: Cluster) -> None:
    NodePool(cluster, "h100", nodes=8, per_node={"memory": "1024Mi", "cpu": "96000m", "nvidia.com/gpu": 8})
    annotations = only(synth(cluster), "ResourceFlavor")["metadata"]["annotations"]
    assert json.loads(annotations["trainshed.dev/capacity"]) == {
        "nodes": 8,
        "perNode": {"cpu": "96", "memory": "1Gi", "nvidia.com/gpu": "8"},
    }


def test_words_and_keys_of_levels(cluster: Cluster) -> None:
    pool = NodePool(cluster, "h100", nodes=1, per_node=NODE, topology=["region", "zone", "cloud.example.com/row"])
    assert pool.levels == ["topology.kubernetes.io/region", "topology.kubernetes.io/zone", "cloud.example.com/row"]


def test_tolerations_can_be_left_to_the_runs(cluster: Cluster) -> None:
    taint = Taint(key="a", effect="NoSchedule")
    NodePool(cluster, "h100", nodes=1, per_node=NODE, taints=[taint], tolerate=False)
    spec = only(synth(cluster), "ResourceFlavor")["spec"]
    assert spec == {"nodeTaints": [{"key": "a", "effect": "NoSchedule"}]}


def test_without_kueue_a_pool_is_a_declaration_only(cluster: Cluster) -> None:
    NodePool(cluster, "h100", nodes=3, per_node=NODE, topology=["rack"], flavor=False)
    assert synth(cluster) == []


def test_wrong_amounts_are_told(cluster: Cluster) -> None:
    NodePool(cluster, "a", nodes=-1, per_node={"cpu": "-3", "memory": "400Gb"})
    NodePool(cluster, "b", nodes="3", per_node={})  # type: ignore[arg-type]
    NodePool(cluster, "c", nodes=1, per_node=NODE, labels={"a": "b"}, topology="rack")
    assert told(cluster) == [
        'NodePool "a", nodes: -1 is less than 0; write 0 or more',
        'NodePool "a", per_node[cpu]: -3 is negative; write 0 or more',
        'NodePool "a", per_node[memory]: "400Gb" is not a quantity; write a number with an optional suffix, such as '
        '"500m", "96", "400G" or "64Gi"',
        'NodePool "b", nodes: is the string "3", must be a whole number; write it without quotes: 3',
        'NodePool "b", per_node: is empty; add at least 1 item',
        'NodePool "c", topology: is the string "rack", must be a list; write ["rack"]',
    ]
