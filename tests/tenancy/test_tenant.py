"""A tenant: one sentence in, namespaces, queues, rights and limits out."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.synthesis import Manifest, h100, new_cluster, only, synth, told
from trainshed.api.kueue import ClusterQueuePreemption
from trainshed.gitops import Cluster
from trainshed.tenancy import (
    AdmissionCheck,
    Cohort,
    External,
    NodePool,
    Tenant,
    WorkloadPriorityClass,
    nodes,
    resources,
)
from trainshed.tenancy.tenant_objects import allowed_kinds

GPU = "nvidia.com/gpu"


@pytest.fixture
def cluster() -> Cluster:
    return new_cluster()


def gpu_quota(queue: Manifest, flavor: str = "h100") -> dict[str, str]:
    """What the queue says about the GPUs of a flavor."""
    (group,) = queue["spec"]["resourceGroups"]
    (quotas,) = [item["resources"] for item in group["flavors"] if item["name"] == flavor]
    (quota,) = [item for item in quotas if item["name"] == GPU]
    return {field: value for field, value in quota.items() if field != "name"}


def test_everything_of_a_tenant(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    # GIVEN a pool and a cohort
    pool, shared = h100(cluster), Cohort(cluster, "shared")
    # WHEN a tenant gets three nodes in it
    Tenant(
        cluster,
        "research",
        namespaces=["research-a", "research-b"],
        owners=["researchers", "interns"],
        cohort=shared,
        guarantee={pool: nodes(3)},
        borrow={pool: nodes(2)},
        priority="high",
    )
    # THEN each namespace has its queue, role, binding and defaults, and one ClusterQueue selects both
    made = synth(cluster)
    kinds = sorted(item["kind"] for item in made)
    assert kinds == sorted(
        ["ResourceFlavor", "Cohort", "ClusterQueue", "WorkloadPriorityClass"]
        + 2 * ["Namespace", "LocalQueue", "LimitRange", "Role", "RoleBinding"]
    )
    queue = only(made, "ClusterQueue", "research")
    assert queue["spec"]["cohortName"] == "shared"
    assert queue["spec"]["namespaceSelector"]["matchExpressions"][0]["values"] == ["research-a", "research-b"]
    assert gpu_quota(queue) == {"nominalQuota": "24", "borrowingLimit": "16"}
    assert queue["spec"]["preemption"]["reclaimWithinCohort"] == "Any"
    assert made == snapshot


def test_namespaces_enforce_pod_security(cluster: Cluster) -> None:
    Tenant(cluster, "a", namespaces=["n"], guarantee={h100(cluster): nodes(1)}, pod_security="baseline")
    assert only(synth(cluster), "Namespace")["metadata"]["labels"] == {
        "pod-security.kubernetes.io/audit": "baseline",
        "pod-security.kubernetes.io/enforce": "baseline",
        "pod-security.kubernetes.io/warn": "baseline",
        "trainshed.dev/tenant": "a",
    }


def test_nothing_is_borrowed_unless_said_so(cluster: Cluster) -> None:
    Tenant(cluster, "a", namespaces=["n"], guarantee={h100(cluster): nodes(1)}, cohort=Cohort(cluster, "c"))
    assert gpu_quota(only(synth(cluster), "ClusterQueue")) == {"nominalQuota": "8", "borrowingLimit": "0"}


def test_unlimited_borrowing_writes_no_limit(cluster: Cluster) -> None:
    pool, shared = h100(cluster), External("elsewhere")
    Tenant(cluster, "a", namespaces=["n"], guarantee={pool: nodes(1)}, borrow={pool: "unlimited"}, cohort=shared)
    queue = only(synth(cluster), "ClusterQueue")
    assert gpu_quota(queue) == {"nominalQuota": "8"}
    assert queue["spec"]["cohortName"] == "elsewhere"


@pytest.mark.parametrize(("lend", "limit"), [("none", "0"), ("some", "8")])
def test_lending(cluster: Cluster, lend: str, limit: str) -> None:
    pool = h100(cluster)
    lent: Any = {pool: nodes(1)} if lend == "some" else lend
    Tenant(cluster, "a", namespaces=["n"], guarantee={pool: nodes(2)}, lend=lent, cohort=Cohort(cluster, "c"))
    assert gpu_quota(only(synth(cluster), "ClusterQueue"))["lendingLimit"] == limit


def test_a_pool_that_lend_does_not_name_lends_all(cluster: Cluster) -> None:
    pool, spot = h100(cluster), NodePool(cluster, "spot", nodes=2, per_node={"cpu": 96, "memory": "400G", GPU: 8})
    own = {pool: nodes(3), spot: nodes(1)}
    Tenant(cluster, "a", namespaces=["n"], guarantee=own, lend={pool: nodes(0)}, cohort=Cohort(cluster, "c"))
    queue = only(synth(cluster), "ClusterQueue")
    assert gpu_quota(queue)["lendingLimit"] == "0"
    assert "lendingLimit" not in gpu_quota(queue, "spot")


def test_pools_without_devices_are_tried_first(cluster: Cluster) -> None:
    """Kueue takes the first flavor that fits, so a run without GPUs would hold a GPU node's CPUs."""
    sizes: dict[str, Any] = {"cpu": 96, "memory": "400G"}
    gpus, cpus = h100(cluster), NodePool(cluster, "cpu", nodes=4, per_node=sizes)
    spot, spare = (NodePool(cluster, name, nodes=2, per_node={**sizes, GPU: 8}) for name in ("a100", "spare"))
    borrow: Any = {spare: nodes(1), cpus: "unlimited"}
    own = {gpus: nodes(1), spot: resources(cpu=9)}
    Tenant(cluster, "a", namespaces=["n"], guarantee=own, borrow=borrow, cohort=Cohort(cluster, "c"))
    (group,) = only(synth(cluster), "ClusterQueue")["spec"]["resourceGroups"]
    assert [flavor["name"] for flavor in group["flavors"]] == ["cpu", "h100", "a100", "spare"]


def test_without_a_cohort_there_are_no_limits_and_no_reclaiming(cluster: Cluster) -> None:
    Tenant(cluster, "a", namespaces=["n"], guarantee={h100(cluster): nodes(2)})
    queue = only(synth(cluster), "ClusterQueue")
    assert gpu_quota(queue) == {"nominalQuota": "16"}
    assert "cohortName" not in queue["spec"]
    assert queue["spec"]["preemption"]["reclaimWithinCohort"] == "Never"


def test_several_pools_share_a_resource_group(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    """Kueue covers a resource in one group only, so that a pool without GPUs gets 0 of them."""
    pool, cpus = h100(cluster), NodePool(cluster, "cpu", nodes=10, per_node={"cpu": 64, "memory": "256G"})
    spot = NodePool(cluster, "spot", nodes=2, per_node={"cpu": 96, "memory": "400G", GPU: 8})
    Tenant(
        cluster,
        "a",
        namespaces=["n"],
        guarantee={pool: nodes(1), cpus: resources(cpu=100)},
        borrow={spot: nodes(2), cpus: "unlimited"},
        cohort=Cohort(cluster, "c"),
    )
    queue = only(synth(cluster), "ClusterQueue")
    (group,) = queue["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory", GPU]
    assert [flavor["name"] for flavor in group["flavors"]] == ["cpu", "h100", "spot"]
    assert group["flavors"] == snapshot
    assert gpu_quota(queue, "spot") == {"nominalQuota": "0", "borrowingLimit": "16"}
    assert told(cluster) == []


def test_roles_cover_the_kinds_allowed_and_nothing_that_grants_quota(cluster: Cluster) -> None:
    Tenant(cluster, "a", namespaces=["n"], owners=["team"], guarantee={h100(cluster): nodes(1)}, workload_kinds=["Job"])
    made = synth(cluster)
    writes = {
        (group, resource)
        for rule in only(made, "Role")["rules"]
        if "create" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert writes == {
        ("batch", "jobs"),
        ("", "configmaps"),
        ("", "persistentvolumeclaims"),
        ("", "services"),
    }
    binding = only(made, "RoleBinding")
    assert binding["subjects"] == [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "team"}]
    assert binding["roleRef"]["name"] == only(made, "Role")["metadata"]["name"]


def test_without_owners_there_are_no_rights(cluster: Cluster) -> None:
    Tenant(cluster, "a", namespaces=["n"], guarantee={h100(cluster): nodes(1)})
    assert {"Role", "RoleBinding"}.isdisjoint(item["kind"] for item in synth(cluster))


@pytest.mark.parametrize(("listed", "granted"), [(["Job"], ["jobs"]), (["CronJob"], ["cronjobs"])])
def test_cron_jobs_are_written_by_those_who_may(cluster: Cluster, listed: Any, granted: list[str]) -> None:
    own: Any = {"owners": ["team"], "guarantee": {h100(cluster): nodes(1)}}
    tenant = Tenant(cluster, "a", namespaces=["n"], workload_kinds=listed, **own)
    rules = only(synth(cluster), "Role")["rules"]
    assert [rule["resources"] for rule in rules if rule["apiGroups"] == ["batch"]] == [granted]
    assert tenant.spec is not None
    assert [kind for group, kind in allowed_kinds(tenant.spec) if group == "batch"] == listed


def test_what_a_cluster_queue_takes_can_be_said_of_the_tenant(cluster: Cluster) -> None:
    Tenant(
        cluster,
        "a",
        namespaces=["n"],
        guarantee={h100(cluster): nodes(1)},
        cohort=Cohort(cluster, "c"),
        queueing_strategy="StrictFIFO",
        preemption=ClusterQueuePreemption(within_cluster_queue="LowerOrNewerEqualPriority"),
        admission_checks=[AdmissionCheck(cluster, "budget", controller="example.com/budget"), External("hours")],
        fair_sharing_weight=2,
        stop_policy="HoldAndDrain",
        namespace_labels={"cost-center": "42", "kueue.x-k8s.io/managed": "true"},
    )
    made = synth(cluster)
    spec = only(made, "ClusterQueue")["spec"]
    assert {field: value for field, value in spec.items() if field not in ("resourceGroups", "namespaceSelector")} == {
        "cohortName": "c",
        "queueingStrategy": "StrictFIFO",
        "preemption": {"withinClusterQueue": "LowerOrNewerEqualPriority"},
        "admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}, {"name": "hours"}]},
        "fairSharing": {"weight": "2"},
        "stopPolicy": "HoldAndDrain",
    }
    labels = only(made, "Namespace")["metadata"]["labels"]
    assert (labels["cost-center"], labels["kueue.x-k8s.io/managed"]) == ("42", "true")
    assert labels["trainshed.dev/tenant"] == "a"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (
            {"namespace_labels": {"pod-security.kubernetes.io/enforce": "baseline"}},
            "namespace_labels[pod-security.kubernetes.io/enforce]: the key is wrong: "
            '"pod-security.kubernetes.io/enforce" is set already; write the level as pod_security',
        ),
        (
            {"namespace_labels": {"argocd.argoproj.io/instance": "x"}},
            "namespace_labels[argocd.argoproj.io/instance]: the key is wrong: "
            '"argocd.argoproj.io/instance" is Argo CD\'s; leave it out',
        ),
        ({"fair_sharing_weight": "1n"}, "fair_sharing_weight: is 1n, too small to count; write 0, or more than 1n"),
        ({"stop_policy": "Drain"}, 'stop_policy: is "Drain", must be one of None, Hold, HoldAndDrain or None'),
        (
            {"admission_checks": ["budget"]},
            'admission_checks[0]: is the string "budget"; pass the AdmissionCheck itself, or External("…") for one '
            "that is declared elsewhere",
        ),
    ],
)
def test_mistakes_in_what_is_passed_on(cluster: Cluster, given: dict[str, Any], fault: str) -> None:
    Tenant(cluster, "a", namespaces=["n"], guarantee={h100(cluster): nodes(1)}, **given)
    assert told(cluster) == [f'Tenant "a", {fault}']


def test_names_and_container_defaults_can_be_chosen(cluster: Cluster) -> None:
    tenant = Tenant(
        cluster,
        "a",
        namespaces=["n"],
        guarantee={h100(cluster): nodes(1)},
        cluster_queue="clusterq-a",
        local_queue="queue",
        container_defaults={"cpu": "500m", "memory": "1024Mi"},
    )
    made = synth(cluster)
    assert only(made, "LocalQueue")["spec"]["clusterQueue"] == only(made, "ClusterQueue")["metadata"]["name"]
    assert only(made, "LocalQueue")["metadata"]["name"] == tenant.queue("n").name == "queue"
    (limit,) = only(made, "LimitRange")["spec"]["limits"]
    assert limit["default"] == limit["defaultRequest"] == {"cpu": "500m", "memory": "1Gi"}


def test_tiers_exist_once_somebody_names_one(cluster: Cluster) -> None:
    pool = h100(cluster)
    for name in ("a", "b"):
        Tenant(cluster, name, namespaces=[f"{name}-n"], guarantee={pool: nodes(1)}, priority="normal")
    tier = only(synth(cluster), "WorkloadPriorityClass")
    assert (tier["metadata"]["name"], tier["value"]) == ("normal", 500)


def test_a_class_of_ones_own(cluster: Cluster) -> None:
    WorkloadPriorityClass(cluster, "high", value=7)
    pool = h100(cluster)
    tenant = Tenant(cluster, "a", namespaces=["n"], guarantee={pool: nodes(1)}, priority="high")
    assert only(synth(cluster), "WorkloadPriorityClass")["value"] == 7
    assert tenant.queue("n").priority == "high"


def test_mistakes_are_told_once_and_in_pythons_words(cluster: Cluster) -> None:
    pool, shared = h100(cluster, nodes=100), Cohort(cluster, "shared")
    own: Any = {"guarantee": {pool: nodes(1)}}
    Tenant(cluster, "a", namespaces=["a"], **own, borrow={pool: nodes(1)}, lend="none")
    Tenant(cluster, "b", namespaces=["b"], **own, lend={pool: nodes(2)}, cohort=shared)
    Tenant(cluster, "c", namespaces=["n", "n"], **own, owners="team", pod_security="strict")  # type: ignore[arg-type]
    Tenant(cluster, "d", namespaces=[], guarantee={"h100": nodes(1)}, workload_kinds=["trainjob"])  # type: ignore[dict-item, list-item]
    Tenant(cluster, "e", namespaces=["N"], guarantee={}, container_defaults={"cpu": "one"})
    Tenant(cluster, "f", namespaces=["f"], **own, priority="hihg").queue("m")
    assert told(cluster) == [
        'Tenant "a", borrow: is set, but the tenant is in no cohort; name a cohort or leave borrow out',
        'Tenant "a", lend: is set, but the tenant is in no cohort; name a cohort or leave lend out',
        'Tenant "b", lend.h100: is 2 nodes, more than the 1 owned; lend less',
        'Tenant "c", namespaces: "n" is listed twice; keep one of them, or rename one',
        'Tenant "c", owners: is the string "team", must be a list; write ["team"]',
        'Tenant "c", pod_security: is "strict", must be one of restricted, baseline, privileged; '
        'did you mean "restricted"?',
        'Tenant "d", namespaces: is empty; add at least 1 item',
        'Tenant "d", guarantee: "h100" is no NodePool; use the NodePool itself as the key',
        'Tenant "d", workload_kinds[0]: is "trainjob", must be one of TrainJob, JobSet, Job, CronJob; '
        'did you mean "TrainJob"?',
        'Tenant "e", namespaces[0]: "N" is not a DNS-1123 label: lower-case letters, digits and "-", alphanumeric at '
        "both ends",
        'Tenant "e", guarantee: is empty; add at least 1 item',
        'Tenant "e", container_defaults[cpu]: "one" is not a quantity; write a number with an optional suffix, such as '
        '"500m", "96", "400G" or "64Gi"',
        'Tenant "f", queue: has no namespace "m"; its namespaces are f',
        'Tenant "f", priority: "hihg" is no WorkloadPriorityClass; did you mean "high"?',
    ]


def test_a_namespace_has_one_tenant(cluster: Cluster) -> None:
    pool = h100(cluster)
    first = Tenant(cluster, "a", namespaces=["n", "m"], guarantee={pool: nodes(1)})
    Tenant(cluster, "b", namespaces=["o", "n"], guarantee={pool: nodes(1)})
    assert told(cluster) == [
        f'Tenant "b", namespaces[1]: "n" belongs to Tenant "a" ({first.place}) already; choose another'
    ]


def test_a_second_tenant_of_one_name_is_told_once(cluster: Cluster) -> None:
    pool = h100(cluster, nodes=1)
    first = Tenant(cluster, "a", namespaces=["n"], guarantee={pool: nodes(1)})
    Tenant(cluster, "a", namespaces=["n"], guarantee={pool: nodes(1)})
    assert told(cluster) == [f'Tenant "a": is made twice, first at {first.place}; rename one']


@pytest.mark.parametrize("name", ["platform", "argocd", "runs"])
def test_a_tenant_cannot_take_an_applications_name(cluster: Cluster, name: str) -> None:
    Tenant(cluster, name, namespaces=["n"], guarantee={h100(cluster): nodes(1)})
    assert told(cluster) == [
        f'Tenant "{name}", name: "{name}" is an application that is no tenant\'s, as are platform, argocd, runs; '
        "choose another name"
    ]
