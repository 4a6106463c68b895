"""The pod template: PodTemplateSpec and PodSpec.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, ValidatePodTemplateSpec and ValidatePodSpec.
"""

from collections.abc import Collection, Iterator
from typing import Annotated, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, Model
from trainshed.api.core import pod_rules
from trainshed.api.core.affinity import Affinity, Toleration, TopologySpreadConstraint
from trainshed.api.core.container import Container, EphemeralContainer
from trainshed.api.core.pod_parts import (
    EvictionResponder,
    HostAlias,
    PodDNSConfig,
    PodOS,
    PodReadinessGate,
    PodResourceClaim,
    PodSchedulingGate,
    PodSchedulingGroup,
)
from trainshed.api.core.refs import LocalObjectReference
from trainshed.api.core.resources import ResourceRequirements
from trainshed.api.core.security import PodSecurityContext
from trainshed.api.core.volume import Volume
from trainshed.api.meta import TemplateMeta
from trainshed.api.types import Bool, Int32, Int64, LabelKey, LabelValue, Str, keyed_by
from trainshed.quantity import Quantity


class PodSpec(Model):
    """What a pod runs, and how.

    Unset fields get Kubernetes' defaults: `restart_policy` Always, `termination_grace_period_seconds` 30,
    `dns_policy` ClusterFirst. Mounts are not matched with volumes here, since the owner of a template may add volumes
    of its own: a kind that knows them all calls `mount_rules`.
    """

    active_deadline_seconds: Annotated[Int64, Field(ge=1, le=2**31 - 1)] | None = None
    affinity: Affinity | None = None
    automount_service_account_token: Bool | None = None
    containers: Annotated[list[Container], keyed_by("name")]
    dns_config: PodDNSConfig | None = None
    dns_policy: Literal["", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] | None = None
    enable_service_links: Bool | None = None
    ephemeral_containers: Annotated[list[EphemeralContainer], keyed_by("name")] | None = None
    eviction_responders: Annotated[list[EvictionResponder], Field(max_length=10), keyed_by("name")] | None = None
    host_aliases: Annotated[list[HostAlias], keyed_by("ip")] | None = None
    host_ipc: Annotated[Bool | None, Field(alias="hostIPC")] = None
    host_network: Bool | None = None
    host_pid: Annotated[Bool | None, Field(alias="hostPID")] = None
    host_users: Bool | None = None
    hostname: Str | None = None
    hostname_override: Str | None = None
    image_pull_secrets: Annotated[list[LocalObjectReference], keyed_by("name")] | None = None
    init_containers: Annotated[list[Container], keyed_by("name")] | None = None
    node_name: Str | None = None
    node_selector: dict[LabelKey, LabelValue] | None = None
    os: PodOS | None = None
    overhead: dict[str, Quantity] | None = None
    preemption_policy: Literal["Never", "PreemptLowerPriority"] | None = None
    priority: Int32 | None = None
    priority_class_name: Str | None = None
    readiness_gates: list[PodReadinessGate] | None = None
    resource_claims: Annotated[list[PodResourceClaim], keyed_by("name")] | None = None
    resources: ResourceRequirements | None = None
    restart_policy: Literal["", "Always", "OnFailure", "Never"] | None = None
    runtime_class_name: Str | None = None
    scheduler_name: Str | None = None
    scheduling_gates: Annotated[list[PodSchedulingGate], keyed_by("name")] | None = None
    scheduling_group: PodSchedulingGroup | None = None
    security_context: PodSecurityContext | None = None
    service_account: Str | None = None
    service_account_name: Str | None = None
    set_hostname_as_fqdn: Annotated[Bool | None, Field(alias="setHostnameAsFQDN")] = None
    share_process_namespace: Bool | None = None
    subdomain: Str | None = None
    termination_grace_period_seconds: Annotated[Int64, Field(ge=0)] | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: (
        Annotated[list[TopologySpreadConstraint], keyed_by("topology_key", "when_unsatisfiable")] | None
    ) = None
    volumes: Annotated[list[Volume], keyed_by("name")] | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidatePodSpec, by topic: see `pod_rules`."""
        yield from self._name_rules()
        for rule in pod_rules.ALL:
            yield from rule(self)

    def mount_rules(self, at: str = "", given: Collection[str] = ()) -> Iterator[Broken]:
        """ValidateVolumeMounts: every mount and device names a volume of the pod, or one of the names in `given`.

        `at` is the path of this spec in its object (`spec.template.spec`); `given` are the volumes that the object's
        controller adds, such as JobSet's volumeClaimPolicies.
        """
        yield from pod_rules.mounts(self, f"{at}." if at else "", given)

    def _name_rules(self) -> Iterator[Broken]:
        for field, name, error_of in (
            ("hostname", self.hostname, naming.dns1123_label_error),
            ("subdomain", self.subdomain, naming.dns1123_label_error),
            ("hostnameOverride", self.hostname_override, naming.dns1123_subdomain_error),
            ("nodeName", self.node_name, naming.dns1123_subdomain_error),
            ("priorityClassName", self.priority_class_name, naming.dns1123_subdomain_error),
            ("runtimeClassName", self.runtime_class_name, naming.dns1123_subdomain_error),
            ("serviceAccountName", self.service_account_name, naming.dns1123_subdomain_error),
            ("serviceAccount", self.service_account, naming.dns1123_subdomain_error),
        ):
            if name and (error := error_of(name)):
                yield Broken(field, error)


class PodTemplateSpec(Model):
    """What a controller makes pods from. Names in its metadata are ignored."""

    metadata: TemplateMeta | None = None
    spec: PodSpec | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidatePodTemplateSpec: debugging containers come later, to running pods."""
        if self.spec and self.spec.ephemeral_containers:
            yield Broken("spec.ephemeralContainers", "a template has no ephemeral containers", "remove them")
