"""Each rule of Kueue's kinds: a valid object passes, and one edit gives one exact sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.kueue import broken_others, broken_quotas
from tests.api.kueue.valid import CONCURRENT, GROUPS, QUOTA, VALID, manifest, quota
from tests.api.refusals import ABSENT, edited, refusals
from trainshed.api.base import KubernetesObject
from trainshed.api.kueue import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    MultiKueueCluster,
    ResourceFlavor,
    Topology,
)

BROKEN = [*broken_quotas.BROKEN, *broken_others.BROKEN]


@pytest.mark.parametrize("model", VALID, ids=lambda model: model.__name__)
def test_a_valid_object_passes_and_reads_back(model: type[KubernetesObject]) -> None:
    assert refusals(model, VALID[model]) == []
    parsed = model.parse(VALID[model])
    assert model.parse(parsed.manifest()) == parsed


@pytest.mark.parametrize(("model", "edits", "told"), [pytest.param(*rest, id=name) for name, *rest in BROKEN])
def test_a_broken_rule_is_told_in_one_sentence(
    model: type[KubernetesObject], edits: dict[str, Any], told: list[str]
) -> None:
    assert refusals(model, edited(VALID[model], edits)) == told


NEIGHBOURS: list[tuple[str, type[KubernetesObject], dict[str, Any]]] = [
    ("a Cohort may lend more than it owns (W9)", Cohort, {f"{QUOTA}.lendingLimit": 9}),
    ("a LocalQueue's weight is not checked (W13)", LocalQueue, {"spec.fairSharing.weight": -1}),
    ("a weight of 0", ClusterQueue, {"spec.fairSharing.weight": 0}),
    ("no namespace at all", ClusterQueue, {"spec.namespaceSelector": ABSENT}),
    ("every namespace", ClusterQueue, {"spec.namespaceSelector": {}}),
    ("zero is a limit", ClusterQueue, {f"{QUOTA}.borrowingLimit": 0, f"{QUOTA}.lendingLimit": "0"}),
    (
        "reclaiming without borrowing preemption",
        ClusterQueue,
        {"spec.preemption": {"borrowWithinCohort": {"policy": "Never", "maxPriorityThreshold": 5}}},
    ),
    (
        "concurrent admission in its right shape",
        ClusterQueue,
        {
            "spec.resourceGroups": GROUPS[1:],
            "spec.admissionChecksStrategy": ABSENT,
            "spec.concurrentAdmissionPolicy": CONCURRENT,
        },
    ),
    ("any node", ResourceFlavor, {"spec": {}}),
    ("no spec", ResourceFlavor, {"spec": ABSENT}),
    ("no spec", Cohort, {"spec": ABSENT}),
    ("no spec", LocalQueue, {"spec": ABSENT}),
    ("one level", Topology, {"spec.levels": [{"nodeLabel": "kubernetes.io/hostname"}]}),
    ("a profile", MultiKueueCluster, {"spec.clusterSource": {"clusterProfileRef": {"name": "p"}}}),
]


@pytest.mark.parametrize(("model", "edits"), [pytest.param(*rest, id=name) for name, *rest in NEIGHBOURS])
def test_a_valid_neighbour_passes(model: type[KubernetesObject], edits: dict[str, Any]) -> None:
    assert refusals(model, edited(VALID[model], edits)) == []


def cluster_queue(groups: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    return manifest(ClusterQueue, spec={"resourceGroups": groups, **spec})


def group(index: int, resources: int, flavors: int) -> dict[str, Any]:
    names = [f"r{index}-{number}" for number in range(resources)]
    return {
        "coveredResources": names,
        "flavors": [
            {"name": f"f{index}-{number}", "resources": [quota(name, 1) for name in names]} for number in range(flavors)
        ],
    }


def test_totals_are_bounded() -> None:
    """W10: 256 flavors, 256 covered resources, 512 quotas a group; exactly these pass."""
    assert refusals(ClusterQueue, cluster_queue([group(i, 1, 64) for i in range(4)])) == []
    assert refusals(ClusterQueue, cluster_queue([group(i, 64, 1) for i in range(4)])) == []
    assert refusals(ClusterQueue, cluster_queue([group(0, 8, 64)])) == []
    assert refusals(ClusterQueue, cluster_queue([*(group(i, 1, 64) for i in range(4)), group(4, 1, 1)])) == [
        "spec.resourceGroups: has 257 flavors in all, 1 more than the 256 allowed"
    ]
    assert refusals(ClusterQueue, cluster_queue([*(group(i, 64, 1) for i in range(4)), group(4, 1, 1)])) == [
        "spec.resourceGroups: has 257 covered resources in all, 1 more than the 256 allowed"
    ]
    assert refusals(ClusterQueue, cluster_queue([group(0, 9, 64)])) == [
        "spec.resourceGroups[0]: has 576 quotas (flavors times resources), 64 more than the 512 allowed"
    ]


def test_concurrent_admission_takes_16_flavors() -> None:
    """W15."""
    policy = {"migration": {"mode": "TryPreferredFlavors"}}
    assert refusals(ClusterQueue, cluster_queue([group(0, 1, 16)], concurrentAdmissionPolicy=policy)) == []
    assert refusals(ClusterQueue, cluster_queue([group(0, 1, 17)], concurrentAdmissionPolicy=policy)) == [
        "spec.resourceGroups[0].flavors: has 17 flavors while concurrentAdmissionPolicy is set; list 16 or fewer"
    ]


def test_immutable_fields_are_named() -> None:
    """The read half compares these; the CRDs' transition rules and the ClusterQueue webhook are the source."""
    assert LocalQueue.IMMUTABLE == ("spec.clusterQueue",)
    assert Topology.IMMUTABLE == ("spec.levels",)
    assert AdmissionCheck.IMMUTABLE == ("spec.controllerName",)
    assert ClusterQueue.IMMUTABLE == ("spec.concurrentAdmissionPolicy",)
    assert set(ResourceFlavor.IMMUTABLE_WITH_TOPOLOGY) == {"spec.nodeLabels", "spec.tolerations", "spec.topologyName"}
