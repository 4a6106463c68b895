"""A valid object of each kind of Kueue, which the rules' tests edit."""

from __future__ import annotations

from typing import Any

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
