"""Each rule of Kueue's kinds: a valid object passes, and one edit gives one exact sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.refusals import ABSENT, edited, refusals
from trainshed.api.base import KubernetesObject
from trainshed.api.kueue import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    MultiKueueCluster,
    MultiKueueConfig,
    ProvisioningRequestConfig,
    ResourceFlavor,
    Topology,
    WorkloadPriorityClass,
)


def quota(name: str, nominal: Any, **limits: Any) -> dict[str, Any]:
    return {"name": name, "nominalQuota": nominal, **limits}


def manifest(model: type[KubernetesObject], **body: Any) -> dict[str, Any]:
    kind = model.__name__
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "a"}}
    if model.namespaced:
        head["metadata"] = {"name": "a", "namespace": "team"}
    return {**head, **body}


GROUPS = [
    {
        "coveredResources": ["cpu", "memory"],
        "flavors": [
            {"name": "h100", "resources": [quota("cpu", 96), quota("memory", "400Gi")]},
            {
                "name": "a100",
                "resources": [quota("cpu", 8, borrowingLimit=4, lendingLimit=8), quota("memory", "64Gi")],
            },
        ],
    },
    {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "gpu", "resources": [quota("nvidia.com/gpu", 8)]}]},
]
VALID: dict[type[KubernetesObject], dict[str, Any]] = {
    ClusterQueue: manifest(
        ClusterQueue,
        spec={
            "cohortName": "lab",
            "resourceGroups": GROUPS,
            "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]},
            "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "preference": "BorrowingOverPreemption"},
            "preemption": {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}},
            "fairSharing": {"weight": "2n"},
            "admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["h100", "gpu"]}]},
        },
    ),
    Cohort: manifest(Cohort, spec={"parentName": "lab", "resourceGroups": GROUPS, "fairSharing": {"weight": 0}}),
    LocalQueue: manifest(LocalQueue, spec={"clusterQueue": "a", "stopPolicy": "Hold", "fairSharing": {"weight": "1n"}}),
    ResourceFlavor: manifest(
        ResourceFlavor,
        spec={
            "nodeLabels": {"nvidia.com/gpu.product": "H100"},
            "nodeTaints": [
                {"key": "gpu", "value": "a", "effect": "NoSchedule"},
                {"key": "gpu", "value": "a", "effect": "NoExecute", "timeAdded": "2026-01-31T12:00:00Z"},
            ],
            "tolerations": [{"operator": "Exists"}, {"key": "gpu", "value": "a", "effect": "NoSchedule"}],
            "topologyName": "rack",
        },
    ),
    Topology: manifest(
        Topology, spec={"levels": [{"nodeLabel": "example.com/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}
    ),
    WorkloadPriorityClass: manifest(WorkloadPriorityClass, value=-5, description="d" * 2048),
    AdmissionCheck: manifest(
        AdmissionCheck,
        spec={
            "controllerName": "kueue.x-k8s.io/multikueue",
            "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "m"},
        },
    ),
    ProvisioningRequestConfig: manifest(
        ProvisioningRequestConfig,
        spec={
            "provisioningClassName": "queued-provisioning.gke.io",
            "parameters": {"maxRunDurationSeconds": "100"},
            "managedResources": ["nvidia.com/gpu"],
            "retryStrategy": {"backoffLimitCount": 0},
            "podSetUpdates": {"nodeSelector": [{"key": "k", "valueFromProvisioningClassDetail": "d"}]},
            "podSetMergePolicy": "IdenticalPodTemplates",
        },
    ),
    MultiKueueConfig: manifest(MultiKueueConfig, spec={"clusters": ["a", "b"], "quotaManagement": "Manual"}),
    MultiKueueCluster: manifest(MultiKueueCluster, spec={"clusterSource": {"kubeConfig": {"location": "s"}}}),
}

GROUP = "spec.resourceGroups[0]"
QUOTA = "spec.resourceGroups[0].flavors[1].resources[0]"
CONCURRENT = {"migration": {"mode": "TryPreferredFlavors", "constraints": {"lastAcceptableFlavorName": "gpu"}}}

BROKEN: list[tuple[str, type[KubernetesObject], dict[str, Any], list[str]]] = [
    (
        "W2 resource names are qualified names",
        ClusterQueue,
        {f"{GROUP}.coveredResources[0]": "cpu!", f"{GROUP}.flavors[0].resources[0].name": "cpu!"},
        [
            f'{GROUP}.coveredResources[0]: "cpu!" is not a qualified name: letters, digits, "-", "_" and ".", '
            "alphanumeric at both ends"
        ],
    ),
    (
        "W3 a resource is covered once in all groups",
        ClusterQueue,
        {
            "spec.resourceGroups[1].coveredResources[0]": "cpu",
            "spec.resourceGroups[1].flavors[0].resources[0].name": "cpu",
        },
        [
            'spec.resourceGroups[1].coveredResources[0]: "cpu" is listed already in '
            "resourceGroups[0].coveredResources[0]; cover each resource in one place"
        ],
    ),
    (
        "W4 a flavor stands in one group",
        Cohort,
        {"spec.resourceGroups[1].flavors[0].name": "h100"},
        [
            'spec.resourceGroups[1].flavors[0].name: flavor "h100" is used already in resourceGroups[0].flavors[0]; '
            "list each flavor in one resource group only"
        ],
    ),
    (
        "W5 quotas come in the order of coveredResources",
        ClusterQueue,
        {f"{GROUP}.flavors[1].resources": [quota("memory", 1), quota("cpu", 1)]},
        [
            f"{GROUP}.flavors[1].resources: are in the order memory, cpu, but coveredResources are cpu, memory; "
            "list the resources in the order of coveredResources",
        ],
    ),
    (
        "W5 a resource that is not covered",
        ClusterQueue,
        {f"{QUOTA}.name": "gpu"},
        [f'{QUOTA}.name: is "gpu", but coveredResources[0] is "cpu"; write "cpu"'],
    ),
    (
        "CEL (b) every covered resource has a quota",
        ClusterQueue,
        {f"{GROUP}.flavors[1].resources": [quota("cpu", 1)]},
        [f'{GROUP}.flavors[1].resources: has 1 of the 2 resources in coveredResources; add "memory"'],
    ),
    (
        "CEL (b) no quota for another resource",
        Cohort,
        {f"{GROUP}.flavors[1].resources[2]": quota("pods", 1)},
        [f'{GROUP}.flavors[1].resources: has 3 resources, but coveredResources has 2; remove "pods"'],
    ),
    (
        "W6 amounts are not negative",
        ClusterQueue,
        {f"{QUOTA}.nominalQuota": -1},
        [f"{QUOTA}.nominalQuota: is -1, below 0; write 0 or more"],
    ),
    (
        "W6 limits are not negative",
        Cohort,
        {f"{QUOTA}.borrowingLimit": "-1m", f"{QUOTA}.lendingLimit": -2},
        [
            f"{QUOTA}.borrowingLimit: is -1m, below 0; write 0 or more",
            f"{QUOTA}.lendingLimit: is -2, below 0; write 0 or more",
        ],
    ),
    (
        "W7 and CEL (a): no limits without a cohort",
        ClusterQueue,
        {"spec.cohortName": ABSENT},
        [
            f"{QUOTA}.borrowingLimit: is set, but the ClusterQueue is in no cohort; set cohortName or leave "
            "borrowingLimit out",
            f"{QUOTA}.lendingLimit: is set, but the ClusterQueue is in no cohort; set cohortName or leave "
            "lendingLimit out",
        ],
    ),
    (
        "W8 no limits without a parent",
        Cohort,
        {"spec.parentName": ABSENT},
        [
            f"{QUOTA}.borrowingLimit: is set, but the Cohort has no parent; set parentName or leave borrowingLimit out",
            f"{QUOTA}.lendingLimit: is set, but the Cohort has no parent; set parentName or leave lendingLimit out",
        ],
    ),
    (
        "W9 a ClusterQueue lends no more than it owns",
        ClusterQueue,
        {f"{QUOTA}.lendingLimit": "8001m"},
        [f"{QUOTA}.lendingLimit: is 8001m, more than the nominalQuota of 8; write 8 or less"],
    ),
    (
        "W11 the selector is valid",
        ClusterQueue,
        {"spec.namespaceSelector.matchExpressions[0].values": []},
        [
            "spec.namespaceSelector.matchExpressions[0].values: is missing, and operator In needs at least one value; "
            "add values"
        ],
    ),
    (
        "CEL (c) a preference needs TryNextFlavor twice, after defaulting",
        ClusterQueue,
        {"spec.flavorFungibility.whenCanBorrow": ABSENT},
        [
            'spec.flavorFungibility.preference: is set, but whenCanBorrow is "MayStopSearch"; write whenCanBorrow: '
            '"TryNextFlavor" or leave the preference out'
        ],
    ),
    (
        "CEL (c) both are wrong",
        ClusterQueue,
        {"spec.flavorFungibility.whenCanBorrow": ABSENT, "spec.flavorFungibility.whenCanPreempt": "MayStopSearch"},
        [
            'spec.flavorFungibility.preference: is set, but whenCanBorrow and whenCanPreempt are "MayStopSearch"; '
            'write whenCanBorrow and whenCanPreempt: "TryNextFlavor" or leave the preference out'
        ],
    ),
    (
        "CEL (d) preempting while borrowing needs reclaiming",
        ClusterQueue,
        {"spec.preemption.reclaimWithinCohort": ABSENT},
        [
            'spec.preemption.borrowWithinCohort.policy: is "LowerPriority", but reclaimWithinCohort is "Never"; write '
            'reclaimWithinCohort: "LowerPriority" or "Any", or leave borrowWithinCohort out'
        ],
    ),
    (
        "W13 a weight is not negative",
        ClusterQueue,
        {"spec.fairSharing.weight": -1},
        ["spec.fairSharing.weight: is -1, below 0; write 0 or more"],
    ),
    (
        "W13 a weight is 0 or more than a nano",
        Cohort,
        {"spec.fairSharing.weight": "1n"},
        ["spec.fairSharing.weight: is 1n, too small to count; write 0, or more than 1n"],
    ),
    (
        "W14 a check names flavors of its ClusterQueue",
        ClusterQueue,
        {"spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]": "h10"},
        [
            'spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]: "h10" is not a flavor of this ClusterQueue; '
            'did you mean "h100"?'
        ],
    ),
    (
        "W15 concurrent admission needs one group",
        ClusterQueue,
        {"spec.concurrentAdmissionPolicy": CONCURRENT},
        ["spec.resourceGroups: has 2 groups while concurrentAdmissionPolicy is set; write exactly one"],
    ),
    (
        "W15 concurrent admission is not for StrictFIFO, constraints are for one mode, the last flavor is known",
        ClusterQueue,
        {
            "spec.resourceGroups": GROUPS[1:],
            "spec.admissionChecksStrategy": ABSENT,
            "spec.queueingStrategy": "StrictFIFO",
            "spec.concurrentAdmissionPolicy": {
                "migration": {"mode": "RetainFirstAdmission", "constraints": {"lastAcceptableFlavorName": "x"}}
            },
        },
        [
            'spec.queueingStrategy: is "StrictFIFO" while concurrentAdmissionPolicy is set; write "BestEffortFIFO"',
            'spec.concurrentAdmissionPolicy.migration.constraints: is set in mode "RetainFirstAdmission"; only '
            '"TryPreferredFlavors" takes constraints',
            'spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName: "x" is not a flavor of '
            "this ClusterQueue; write one of gpu",
        ],
    ),
    (
        "a fraction goes in quotes",
        ClusterQueue,
        {f"{QUOTA}.nominalQuota": 8.5},
        [f'{QUOTA}.nominalQuota: is a number with a fraction, which goes in quotes here; write "8.5"'],
    ),
    (
        "W17 node labels have valid keys",
        ResourceFlavor,
        {"spec.nodeLabels": {"a/b/c": "x"}},
        [
            'spec.nodeLabels.a/b/c.[key]: its prefix "a/b" is wrong: "a/b" is not a DNS-1123 subdomain: lower-case '
            'letters, digits, "-" and ".", alphanumeric at both ends'
        ],
    ),
    (
        "W17 node labels have valid values",
        ResourceFlavor,
        {"spec.nodeLabels": {"a": "x y"}},
        ['spec.nodeLabels.a: "x y" is not a label value: letters, digits, "-", "_" and ".", alphanumeric at both ends'],
    ),
    (
        "CEL (a) a topology needs a node label",
        ResourceFlavor,
        {"spec.nodeLabels": ABSENT},
        ["spec.nodeLabels: is empty, but topologyName is set; name at least one label of the nodes"],
    ),
    (
        "CEL (c) a taint has one of three effects",
        ResourceFlavor,
        {"spec.nodeTaints[0].effect": "Never"},
        ["spec.nodeTaints[0].effect: Input should be 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'"],
    ),
    (
        "a taint's time is a time",
        ResourceFlavor,
        {"spec.nodeTaints[1].timeAdded": "today"},
        ['spec.nodeTaints[1].timeAdded: "today" is not a time such as "2026-01-31T12:00:00Z"'],
    ),
    (
        "W18 a taint's key is a label key",
        ResourceFlavor,
        {"spec.nodeTaints[0].key": ""},
        ["spec.nodeTaints[0].key: it is empty"],
    ),
    (
        "W18 a taint's value is a label value",
        ResourceFlavor,
        {"spec.nodeTaints[0].value": "-"},
        [
            'spec.nodeTaints[0].value: "-" is not a label value: letters, digits, "-", "_" and ".", alphanumeric at '
            "both ends"
        ],
    ),
    (
        "W18 taints are unique by key and effect",
        ResourceFlavor,
        {"spec.nodeTaints[1].effect": "NoSchedule"},
        ['spec.nodeTaints[1]: key "gpu" with effect "NoSchedule" is listed twice; keep one of them'],
    ),
    (
        "CEL (d) a toleration's operator is Equal or Exists",
        ResourceFlavor,
        {"spec.tolerations[1].operator": "Gt", "spec.tolerations[1].value": "1"},
        ['spec.tolerations[1].operator: is "Gt"; write "Equal" or "Exists"'],
    ),
    (
        "CEL (d) Exists takes no value, not even an empty one",
        ResourceFlavor,
        {"spec.tolerations[0].value": ""},
        ['spec.tolerations[0].value: is set, but operator is "Exists"; leave the value out'],
    ),
    (
        "CEL (d) an effect is not empty",
        ResourceFlavor,
        {"spec.tolerations[0].effect": ""},
        ["spec.tolerations[0].effect: is empty; leave it out to tolerate every effect"],
    ),
    (
        "topology levels are unique",
        Topology,
        {"spec.levels": [{"nodeLabel": "rack"}, {"nodeLabel": "rack"}]},
        ['spec.levels[1].nodeLabel: "rack" is listed already; list each label once'],
    ),
    (
        "the hostname is the last level",
        Topology,
        {"spec.levels[2]": {"nodeLabel": "rack"}},
        ['spec.levels[1].nodeLabel: "kubernetes.io/hostname" is not the last level; list levels widest first'],
    ),
    (
        "a kind is like a kind",
        AdmissionCheck,
        {"spec.parameters.kind": "1st"},
        ['spec.parameters.kind: "1st" is not a kind: letters, digits and "-", starting with a letter'],
    ),
    (
        "managed resources are unique",
        ProvisioningRequestConfig,
        {"spec.managedResources[1]": "nvidia.com/gpu"},
        ['spec.managedResources: "nvidia.com/gpu" is listed twice'],
    ),
    (
        "cluster names are unique",
        MultiKueueConfig,
        {"spec.clusters[2]": "a"},
        ['spec.clusters[2]: "a" is listed already; list each cluster once'],
    ),
    (
        "a cluster has one source",
        MultiKueueCluster,
        {"spec.clusterSource.clusterProfileRef": {"name": "p"}},
        ["spec.clusterSource: has both kubeConfig and clusterProfileRef; keep one of them"],
    ),
    (
        "a cluster has some source",
        MultiKueueCluster,
        {"spec.clusterSource.kubeConfig": ABSENT},
        ["spec.clusterSource: has neither kubeConfig nor clusterProfileRef; add one of them"],
    ),
    (
        "a priority fits an int32",
        WorkloadPriorityClass,
        {"value": 2**31},
        ["value: Input should be less than or equal to 2147483647"],
    ),
    (
        "cluster-scoped kinds have no namespace",
        ClusterQueue,
        {"metadata.namespace": "team"},
        ["metadata.namespace: ClusterQueue is cluster-scoped; leave the namespace out"],
    ),
]


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
