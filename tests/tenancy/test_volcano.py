"""Volcano's queues and its scheduler's configuration."""

from __future__ import annotations

import json

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.synthesis import h100, new_cluster, only, synth, told
from trainshed.gitops import Cluster
from trainshed.tenancy import External, VolcanoQueue, VolcanoScheduler, nodes, resources


@pytest.fixture
def cluster() -> Cluster:
    return new_cluster()


def test_a_queue_writes_out_what_the_webhook_would_fill_in(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    VolcanoQueue(cluster, "test", capability={h100(cluster, nodes=3): nodes(3)})
    queue = only(synth(cluster), "Queue")
    assert queue["spec"] == {
        "capability": {"cpu": "288", "memory": "1200G", "nvidia.com/gpu": "24"},
        "parent": "root",
        "reclaimable": True,
        "weight": 1,
    }
    assert json.loads(queue["metadata"]["annotations"]["trainshed.dev/capacity"]) == {
        "h100": {"nodes": 3, "perNode": {"cpu": "96", "memory": "400G", "nvidia.com/gpu": "8"}}
    }
    assert queue == snapshot


def test_children_come_a_wave_after_their_parents(cluster: Cluster) -> None:
    pool = h100(cluster)
    top = VolcanoQueue(cluster, "company", guarantee={pool: nodes(4)})
    middle = VolcanoQueue(cluster, "research", parent=top, deserved={pool: nodes(2)}, priority=5, reclaimable=False)
    VolcanoQueue(cluster, "llm", parent=middle, weight=3)
    VolcanoQueue(cluster, "guest", parent=External("elsewhere"))
    made = [item for item in synth(cluster) if item["kind"] == "Queue"]
    waves = {item["metadata"]["name"]: item["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"] for item in made}
    assert waves == {"company": "-20", "research": "-19", "llm": "-18", "guest": "-20"}
    assert [item["spec"]["parent"] for item in made] == ["root", "company", "research", "elsewhere"]
    assert only(made, "Queue", "research")["spec"]["priority"] == 5


def test_promises_may_not_exceed_the_pool(cluster: Cluster) -> None:
    pool = h100(cluster, nodes=3)
    # What is deserved includes what is guaranteed, and a child's part is its parent's.
    first = VolcanoQueue(cluster, "a", guarantee={pool: nodes(1)}, deserved={pool: nodes(2)})
    VolcanoQueue(cluster, "child", parent=first, deserved={pool: nodes(2)})
    VolcanoQueue(cluster, "b", guarantee={pool: resources(**{"nvidia.com/gpu": 9})})
    assert told(cluster) == [
        'VolcanoQueue "b", deserved: promises 9 nvidia.com/gpu of pool "h100" (3 nodes), which has 8 nvidia.com/gpu '
        "left; promise less, or let it borrow"
    ]


def test_mistakes_are_told(cluster: Cluster) -> None:
    other = Cluster(cluster.app, "other")
    VolcanoQueue(cluster, "a", parent=VolcanoQueue(other, "theirs"), capability={"h100": nodes(1)})  # type: ignore[dict-item]
    VolcanoQueue(cluster, "b", parent="root")  # type: ignore[arg-type]
    VolcanoQueue(cluster, "c", weight=0)
    assert told(cluster) == [
        'VolcanoQueue "a", parent: VolcanoQueue "theirs" belongs to cluster "other", this is cluster "lab"; '
        'use one of cluster "lab", or External("…") for an object that exists there already',
        'VolcanoQueue "a", capability: "h100" is no NodePool; use the NodePool itself as the key',
        'VolcanoQueue "b", parent: is the string "root"; pass the VolcanoQueue itself, or External("…") for one that '
        "is declared elsewhere",
        'VolcanoQueue "c", weight: 0 is less than 1; write 1 or more',
    ]


def test_the_scheduler_reclaims_for_gangs(cluster: Cluster) -> None:
    VolcanoScheduler(cluster)
    configuration = only(synth(cluster), "ConfigMap")
    assert configuration["metadata"]["namespace"] == "volcano-system"
    conf = yaml.safe_load(configuration["data"]["volcano-scheduler.conf"])
    assert conf["actions"] == "enqueue, allocate, backfill, reclaim, preempt"
    guarding, placing = (tier["plugins"] for tier in conf["tiers"])
    assert [plugin["name"] for plugin in guarding] == ["priority", "gang", "conformance", "capacity"]
    # A strict gang offers no victims, so that nothing borrowed would come back.
    assert guarding[1] == {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}
    assert guarding[3] == {"name": "capacity", "enableHierarchy": True}
    assert "overcommit" not in [plugin["name"] for plugin in placing]


def test_overcommit_and_actions_can_be_chosen(cluster: Cluster) -> None:
    VolcanoScheduler(cluster, overcommit=1.2, hierarchy=False, actions=["enqueue", "allocate"], namespace="batch")
    conf = yaml.safe_load(only(synth(cluster), "ConfigMap")["data"]["volcano-scheduler.conf"])
    assert conf["actions"] == "enqueue, allocate"
    assert conf["tiers"][1]["plugins"][0] == {"name": "overcommit", "arguments": {"overcommit-factor": 1.2}}


def test_an_unknown_action_is_told(cluster: Cluster) -> None:
    VolcanoScheduler(cluster, actions=["enqueue", "alocate"])
    assert told(cluster) == [
        'VolcanoScheduler "volcano-scheduler-configmap", actions: "alocate" is no action of the scheduler, which would '
        'refuse the file; did you mean "allocate"?'
    ]
