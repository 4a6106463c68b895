"""Components of Kueue's queues: one object each, and nothing written that was not said."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.synthesis import NODE, h100, new_cluster, only, synth, told
from trainshed.api import kueue as api
from trainshed.gitops import Cluster
from trainshed.quantity import Quantity
from trainshed.tenancy import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    External,
    LocalQueue,
    MultiKueueCluster,
    MultiKueueConfig,
    NodePool,
    ProvisioningRequestConfig,
    ResourceFlavor,
    Topology,
    WorkloadPriorityClass,
    nodes,
    resources,
)


@pytest.fixture
def cluster() -> Cluster:
    return new_cluster()


def quotas(manifest: dict[str, object]) -> dict[str, dict[str, dict[str, str]]]:
    """Flavor → resource → quota fields."""
    groups = manifest["spec"]["resourceGroups"]  # type: ignore[index]
    return {
        flavor["name"]: {quota.pop("name"): quota for quota in flavor["resources"]}
        for group in groups
        for flavor in group["flavors"]
    }


def test_a_cluster_queue_over_whole_nodes(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    # GIVEN a pool
    pool = h100(cluster)
    # WHEN a queue owns three of its nodes
    ClusterQueue(cluster, "research", quota={pool: nodes(3)}, namespaces=["a", "b"])
    # THEN it covers what a node has, and limits nothing
    queue = only(synth(cluster), "ClusterQueue")
    assert quotas(queue)["h100"] == {
        "cpu": {"nominalQuota": "288"},
        "memory": {"nominalQuota": "1200G"},
        "nvidia.com/gpu": {"nominalQuota": "24"},
    }
    assert queue["spec"]["namespaceSelector"]["matchExpressions"][0]["values"] == ["a", "b"]
    assert queue == snapshot


def test_a_cluster_queue_with_every_argument(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    pool, spot = h100(cluster), NodePool(cluster, "spot", nodes=2, per_node={"cpu": 64, "memory": "256Gi"})
    check = AdmissionCheck(cluster, "quiet-hours", controller="example.com/hours")
    ClusterQueue(
        cluster,
        "research",
        quota={pool: nodes(3)},
        borrow={pool: nodes(1), spot: resources(cpu=32)},
        lend={pool: resources(cpu=96, **{"nvidia.com/gpu": 8})},
        cohort=Cohort(cluster, "shared"),
        queueing_strategy="StrictFIFO",
        preemption=api.ClusterQueuePreemption(within_cluster_queue="LowerPriority"),
        admission_checks=[check, External("approval")],
        fair_sharing_weight=2,
        stop_policy="Hold",
    )
    queue = only(synth(cluster), "ClusterQueue")
    assert quotas(queue) == {
        "h100": {
            "cpu": {"nominalQuota": "288", "borrowingLimit": "96", "lendingLimit": "96"},
            "memory": {"nominalQuota": "1200G", "borrowingLimit": "400G", "lendingLimit": "0"},
            "nvidia.com/gpu": {"nominalQuota": "24", "borrowingLimit": "8", "lendingLimit": "8"},
        },
        # Only borrowed from; a pool that lacks a resource has none of it.
        "spot": {
            "cpu": {"nominalQuota": "0", "borrowingLimit": "32"},
            "memory": {"nominalQuota": "0", "borrowingLimit": "0"},
            "nvidia.com/gpu": {"nominalQuota": "0", "borrowingLimit": "0"},
        },
    }
    assert queue == snapshot
    assert told(cluster) == []


def test_without_namespaces_everybody_may_use_it(cluster: Cluster) -> None:
    ClusterQueue(cluster, "open", quota={h100(cluster): nodes(1)})
    assert only(synth(cluster), "ClusterQueue")["spec"]["namespaceSelector"] == {}


def test_a_spec_stands_alone(cluster: Cluster) -> None:
    quota = api.ResourceQuota(name="cpu", nominal_quota=Quantity("12000m"))
    group = api.ResourceGroup(covered_resources=["cpu"], flavors=[api.FlavorQuotas(name="h100", resources=[quota])])
    h100(cluster, nodes=0)
    ClusterQueue(cluster, "own", spec=api.ClusterQueueSpec(resource_groups=[group]))
    assert quotas(only(synth(cluster), "ClusterQueue")) == {"h100": {"cpu": {"nominalQuota": "12"}}}
    assert told(cluster) == [
        'ClusterQueue "own", quota: promises 12 cpu of pool "h100" (0 nodes), which has 0 cpu left; '
        "promise less, or let it borrow"
    ]


def test_a_spec_beside_quota_is_a_fault() -> None:
    cluster = new_cluster()
    ClusterQueue(cluster, "own", quota={h100(cluster): nodes(1)}, spec=api.ClusterQueueSpec())
    assert told(cluster) == [
        'ClusterQueue "own", spec: stands alone, but quota or another argument is given too; pass one of them'
    ]


def test_a_cohort_tree(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    root = Cohort(cluster, "company", quota={h100(cluster): nodes(2)}, fair_sharing_weight="500m")
    Cohort(cluster, "research", parent=root)
    Cohort(cluster, "sales", parent=External("elsewhere"))
    made = synth(cluster)
    assert only(made, "Cohort", "research")["spec"] == {"parentName": "company"}
    assert only(made, "Cohort", "sales")["spec"] == {"parentName": "elsewhere"}
    assert only(made, "Cohort", "company")["spec"]["fairSharing"] == {"weight": "500m"}
    assert only(made, "Cohort", "company") == snapshot


def test_a_local_queue(cluster: Cluster) -> None:
    queue = ClusterQueue(cluster, "research", quota={h100(cluster): nodes(1)})
    LocalQueue(cluster, "llm", namespace="a", cluster_queue=queue, stop_policy="Hold", fair_sharing_weight=3)
    LocalQueue(cluster, "other", namespace="b", cluster_queue=External("elsewhere"), name="llm")
    made = [item for item in synth(cluster) if item["kind"] == "LocalQueue"]
    assert [(item["metadata"]["namespace"], item["metadata"]["name"], item["spec"]) for item in made] == [
        ("a", "llm", {"clusterQueue": "research", "stopPolicy": "Hold", "fairSharing": {"weight": "3"}}),
        ("b", "llm", {"clusterQueue": "elsewhere"}),
    ]


def test_a_workload_priority_class(cluster: Cluster) -> None:
    WorkloadPriorityClass(cluster, "urgent", value=5000, description="Incidents")
    urgent = only(synth(cluster), "WorkloadPriorityClass")
    assert (urgent["metadata"]["name"], urgent["value"], urgent["description"]) == ("urgent", 5000, "Incidents")


def test_flavor_and_topology_by_hand(cluster: Cluster) -> None:
    Topology(cluster, "dc", levels=["example.com/block", "kubernetes.io/hostname"])
    ResourceFlavor(cluster, "spot", api.ResourceFlavorSpec(node_labels={"example.com/spot": "yes"}, topology_name="dc"))
    made = synth(cluster)
    assert only(made, "Topology")["spec"]["levels"] == [
        {"nodeLabel": "example.com/block"},
        {"nodeLabel": "kubernetes.io/hostname"},
    ]
    assert only(made, "ResourceFlavor")["spec"] == {"nodeLabels": {"example.com/spot": "yes"}, "topologyName": "dc"}


def test_admission_checks(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    provisioning = ProvisioningRequestConfig(
        cluster,
        "gpu-nodes",
        provisioning_class="queued-provisioning.gke.io",
        parameters={"maxRunDurationSeconds": "3600"},
        managed_resources=["nvidia.com/gpu"],
        retry=api.ProvisioningRequestRetryStrategy(backoff_limit_count=2),
    )
    workers: list[MultiKueueCluster | External] = [
        MultiKueueCluster(cluster, "west", kubeconfig_secret="west-kubeconfig"),
        External("east"),
    ]
    many = MultiKueueConfig(cluster, "workers", clusters=workers)
    AdmissionCheck(cluster, "provisioned", uses=provisioning)
    AdmissionCheck(cluster, "dispatched", uses=many)
    AdmissionCheck(cluster, "own", controller="example.com/hours")
    made = synth(cluster)
    assert only(made, "AdmissionCheck", "provisioned")["spec"] == {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "gpu-nodes"},
    }
    assert only(made, "AdmissionCheck", "dispatched")["spec"] == {
        "controllerName": "kueue.x-k8s.io/multikueue",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "workers"},
    }
    assert only(made, "AdmissionCheck", "own")["spec"] == {"controllerName": "example.com/hours"}
    assert only(made, "MultiKueueConfig")["spec"] == {"clusters": ["west", "east"]}
    assert [only(made, kind) for kind in ("ProvisioningRequestConfig", "MultiKueueCluster")] == snapshot


def test_a_check_needs_one_controller(cluster: Cluster) -> None:
    AdmissionCheck(cluster, "none")
    assert told(cluster) == ['AdmissionCheck "none", uses: is needed, or controller, and not both; pass one of them']


def test_mistakes_are_told_once_and_in_pythons_words(cluster: Cluster) -> None:
    pool, shared = h100(cluster, nodes=100), Cohort(cluster, "shared")
    other = Cluster(cluster.app, "other")
    ClusterQueue(cluster, "a", quota={pool: nodes(1)}, borrow={pool: nodes(1)}, lend={pool: nodes(1)})
    ClusterQueue(cluster, "b", quota={pool: nodes(1)}, lend={pool: nodes(2)}, cohort=shared)
    ClusterQueue(cluster, "c", quota={pool: resources(cpu=1)}, lend={pool: nodes(1)}, cohort=shared)
    ClusterQueue(cluster, "d", quota={}, lend={pool: nodes(1)}, cohort=shared)
    ClusterQueue(cluster, "e", quota={"h100": nodes(1), pool: 3}, namespaces="research")  # type: ignore[dict-item]
    ClusterQueue(cluster, "f", quota=nodes(1), cohort="shared")  # type: ignore[arg-type]
    ClusterQueue(cluster, "g", queueing_strategy="Fifo")  # type: ignore[arg-type]
    ClusterQueue(cluster, "h", cohort=Cohort(other, "theirs"), quota={h100(other): nodes(1)})
    assert told(cluster) == [
        'ClusterQueue "a", borrow: is set, but the queue is in no cohort; name a cohort or leave it out',
        'ClusterQueue "a", lend: is set, but the queue is in no cohort; name a cohort or leave it out',
        'ClusterQueue "b", lend.h100: is 2 nodes, more than the 1 owned; lend less',
        'ClusterQueue "c", lend.h100: is 96 cpu, more than the 1 owned, is 400G memory, '
        "more than the 0 owned, is 8 nvidia.com/gpu, more than the 0 owned; lend less",
        'ClusterQueue "d", lend.h100: is lent, but nothing of this pool is owned; lend less',
        'ClusterQueue "e", quota: "h100" is no NodePool; use the NodePool itself as the key',
        'ClusterQueue "e", quota.h100: is the number 3, must be a Share; write for example nodes(3)',
        'ClusterQueue "e", namespaces: is the string "research", must be a list; write ["research"]',
        'ClusterQueue "f", quota: is a Share, must be a mapping; write for example {pool: nodes(3)}',
        'ClusterQueue "f", cohort: is the string "shared"; pass the Cohort itself, or External("…") for one that is '
        "declared elsewhere",
        'ClusterQueue "g", queueing_strategy: is "Fifo", must be one of StrictFIFO, BestEffortFIFO',
        'ClusterQueue "h", cohort: Cohort "theirs" belongs to cluster "other", this is cluster "lab"; '
        'use one of cluster "lab", or External("…") for an object that exists there already',
        'ClusterQueue "h", quota: NodePool "h100" belongs to cluster "other", this is cluster "lab"; '
        'use one of cluster "lab", or External("…") for an object that exists there already',
    ]


def test_promises_may_not_exceed_the_pool(cluster: Cluster) -> None:
    pool = h100(cluster, nodes=3)
    Cohort(cluster, "shared", quota={pool: nodes(1)})
    ClusterQueue(cluster, "first", quota={pool: nodes(1)})
    ClusterQueue(cluster, "second", quota={pool: resources(cpu=10, **{"nvidia.com/gpu": 9, "example.com/fpga": 1})})
    assert told(cluster) == [
        'ClusterQueue "second", quota: promises 9 nvidia.com/gpu, 1 example.com/fpga of pool "h100" (3 nodes), '
        "which has 8 nvidia.com/gpu, 0 example.com/fpga left; promise less, or let it borrow"
    ]


def test_the_same_quantities_whatever_they_were_written_as(cluster: Cluster) -> None:
    same = {"cpu": "96000m", "memory": "400000M", "nvidia.com/gpu": "8"}
    one = NodePool(cluster, "one", nodes=1, per_node=NODE)
    other = NodePool(cluster, "other", nodes=1, per_node=same)
    assert one.capacity_annotation == other.capacity_annotation
