"""Components for node pools, queues and tenants."""

from trainshed.api.kueue import Taint
from trainshed.tenancy.admission import (
    AdmissionCheck,
    MultiKueueCluster,
    MultiKueueConfig,
    ProvisioningRequestConfig,
    ResourceFlavor,
    Topology,
)
from trainshed.tenancy.external import External
from trainshed.tenancy.kueue import ClusterQueue, Cohort, LocalQueue, WorkloadPriorityClass
from trainshed.tenancy.namespace import Namespace
from trainshed.tenancy.pool import NodePool
from trainshed.tenancy.queue_ref import QueueRef
from trainshed.tenancy.shares import Share, nodes, resources
from trainshed.tenancy.spec import TenantSpec
from trainshed.tenancy.tenant import Tenant
from trainshed.tenancy.volcano import VolcanoQueue, VolcanoScheduler

__all__ = [
    "AdmissionCheck",
    "ClusterQueue",
    "Cohort",
    "External",
    "LocalQueue",
    "MultiKueueCluster",
    "MultiKueueConfig",
    "Namespace",
    "NodePool",
    "ProvisioningRequestConfig",
    "QueueRef",
    "ResourceFlavor",
    "Share",
    "Taint",
    "Tenant",
    "TenantSpec",
    "Topology",
    "VolcanoQueue",
    "VolcanoScheduler",
    "WorkloadPriorityClass",
    "nodes",
    "resources",
]
