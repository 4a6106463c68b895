"""ProvisioningRequestConfig (kueue.x-k8s.io/v1beta2), as in Kueue v0.19.2."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trainshed.api.base import KubernetesObject, Model
from trainshed.api.types import DnsSubdomain, Int32, LabelKey, Str, keyed_by, unique


class ProvisioningRequestRetryStrategy(Model):
    """How often and how late to ask again. Defaults: 3 times, 60 s doubling up to 1800 s; a count of 0: never."""

    backoff_limit_count: Int32 | None = None
    backoff_base_seconds: Int32 | None = None
    backoff_max_seconds: Int32 | None = None


class NodeSelectorUpdate(Model):
    """A node selector entry whose value comes from a detail that the provisioning class reports."""

    key: Annotated[LabelKey, Field(min_length=1, max_length=317)]
    value_from_provisioning_class_detail: Annotated[Str, Field(min_length=1, max_length=32768)]


class PodSetUpdates(Model):
    """What is written into the pods once nodes are provisioned."""

    node_selector: Annotated[list[NodeSelectorUpdate], Field(max_length=8), keyed_by("key")] | None = None


class ProvisioningRequestConfigSpec(Model):
    """How to ask the cluster autoscaler for nodes. `managed_resources` absent: ask for every workload."""

    provisioning_class_name: DnsSubdomain
    parameters: Annotated[dict[Str, Annotated[Str, Field(max_length=255)]], Field(max_length=100)] | None = None
    managed_resources: Annotated[list[Str], Field(max_length=100), unique] | None = None
    retry_strategy: ProvisioningRequestRetryStrategy | None = None
    pod_set_updates: PodSetUpdates | None = None
    pod_set_merge_policy: Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"] | None = None


class ProvisioningRequestConfig(KubernetesObject):
    """Parameters of an AdmissionCheck with the controller `kueue.x-k8s.io/provisioning-request`."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ()

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["ProvisioningRequestConfig"] = "ProvisioningRequestConfig"
    spec: ProvisioningRequestConfigSpec | None = None
