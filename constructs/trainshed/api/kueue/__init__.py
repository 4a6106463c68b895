"""Kueue's own kinds at kueue.x-k8s.io/v1beta2, as in Kueue v0.19.2 (its CRDs and webhooks)."""

from trainshed.api.kueue.admission_check import (
    MULTIKUEUE_CONTROLLER,
    PROVISIONING_CONTROLLER,
    AdmissionCheck,
    AdmissionCheckParametersReference,
    AdmissionCheckSpec,
)
from trainshed.api.kueue.cluster_queue import (
    AdmissionChecksStrategy,
    AdmissionCheckStrategyRule,
    AdmissionScope,
    BorrowWithinCohort,
    ClusterQueue,
    ClusterQueuePreemption,
    ClusterQueueSpec,
    ConcurrentAdmissionConstraints,
    ConcurrentAdmissionMigration,
    ConcurrentAdmissionPolicy,
    FlavorFungibility,
)
from trainshed.api.kueue.cohort import Cohort, CohortSpec
from trainshed.api.kueue.fair_sharing import FairSharing
from trainshed.api.kueue.local_queue import LocalQueue, LocalQueueSpec
from trainshed.api.kueue.multikueue import (
    ClusterProfileReference,
    ClusterSource,
    KubeConfig,
    MultiKueueCluster,
    MultiKueueClusterSpec,
    MultiKueueConfig,
    MultiKueueConfigSpec,
)
from trainshed.api.kueue.priority import WorkloadPriorityClass
from trainshed.api.kueue.provisioning import (
    NodeSelectorUpdate,
    PodSetUpdates,
    ProvisioningRequestConfig,
    ProvisioningRequestConfigSpec,
    ProvisioningRequestRetryStrategy,
)
from trainshed.api.kueue.quota import FlavorQuotas, ResourceGroup, ResourceQuota
from trainshed.api.kueue.resource_flavor import ResourceFlavor, ResourceFlavorSpec, Taint
from trainshed.api.kueue.topology import HOSTNAME, Topology, TopologyLevel, TopologySpec

__all__ = [
    "HOSTNAME",
    "MULTIKUEUE_CONTROLLER",
    "PROVISIONING_CONTROLLER",
    "AdmissionCheck",
    "AdmissionCheckParametersReference",
    "AdmissionCheckSpec",
    "AdmissionCheckStrategyRule",
    "AdmissionChecksStrategy",
    "AdmissionScope",
    "BorrowWithinCohort",
    "ClusterProfileReference",
    "ClusterQueue",
    "ClusterQueuePreemption",
    "ClusterQueueSpec",
    "ClusterSource",
    "Cohort",
    "CohortSpec",
    "ConcurrentAdmissionConstraints",
    "ConcurrentAdmissionMigration",
    "ConcurrentAdmissionPolicy",
    "FairSharing",
    "FlavorFungibility",
    "FlavorQuotas",
    "KubeConfig",
    "LocalQueue",
    "LocalQueueSpec",
    "MultiKueueCluster",
    "MultiKueueClusterSpec",
    "MultiKueueConfig",
    "MultiKueueConfigSpec",
    "NodeSelectorUpdate",
    "PodSetUpdates",
    "ProvisioningRequestConfig",
    "ProvisioningRequestConfigSpec",
    "ProvisioningRequestRetryStrategy",
    "ResourceFlavor",
    "ResourceFlavorSpec",
    "ResourceGroup",
    "ResourceQuota",
    "Taint",
    "Topology",
    "TopologyLevel",
    "TopologySpec",
    "WorkloadPriorityClass",
]
