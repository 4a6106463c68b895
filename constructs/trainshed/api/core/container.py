"""Containers: init, regular and ephemeral.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, validateContainerCommon and its callers.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from trainshed.api.base import Broken, Model
from trainshed.api.core.env import ConfigMapEnvSource, EnvFromSource, EnvVar, EnvVarSource, SecretEnvSource
from trainshed.api.core.probe import Lifecycle, Probe, probe_rules
from trainshed.api.core.resources import ResourceClaim, ResourceRequirements
from trainshed.api.core.security import Capabilities, SecurityContext
from trainshed.api.core.shapes import PortNumber, Text, backsteps_error, descending_path_error, port_name_error
from trainshed.api.types import Bool, DnsLabel, Int32, Str, keyed_by, shaped, unique

_PROBE_FIELDS: Final = ("liveness_probe", "readiness_probe", "startup_probe")

__all__ = [
    "Capabilities",
    "ConfigMapEnvSource",
    "Container",
    "ContainerPort",
    "ContainerResizePolicy",
    "ContainerRestartRule",
    "ContainerRestartRuleOnExitCodes",
    "EnvFromSource",
    "EnvVar",
    "EnvVarSource",
    "EphemeralContainer",
    "Lifecycle",
    "Probe",
    "ResourceClaim",
    "ResourceRequirements",
    "SecretEnvSource",
    "SecurityContext",
    "VolumeDevice",
    "VolumeMount",
]


class ContainerPort(Model):
    """A port that the container listens on. `host_port` opens it on the node as well, once per node."""

    container_port: PortNumber
    host_ip: Annotated[Str | None, Field(alias="hostIP")] = None
    host_port: Annotated[Int32, Field(ge=0, le=65535)] | None = None
    name: Str | None = None
    protocol: Literal["", "TCP", "UDP", "SCTP"] | None = None

    def rules(self) -> Iterator[Broken]:
        """validateContainerPorts."""
        if self.name and (error := port_name_error(self.name)):
            yield Broken("name", error)


class ContainerResizePolicy(Model):
    """What a change of cpu or memory in place does to the container."""

    resource_name: Literal["cpu", "memory"]
    restart_policy: Literal["NotRequired", "RestartContainer"]


class ContainerRestartRuleOnExitCodes(Model):
    """Exit codes that a restart rule is about."""

    operator: Literal["In", "NotIn"]
    values: Annotated[list[Int32], Field(max_length=255), unique] | None = None


class ContainerRestartRule(Model):
    """Restarts the container, or all containers of the pod (Kubernetes 1.36), after one of the exit codes."""

    action: Literal["Restart", "RestartAllContainers"]
    exit_codes: ContainerRestartRuleOnExitCodes | None = None

    def rules(self) -> Iterator[Broken]:
        """validateContainerRestartPolicy."""
        if self.exit_codes is None:
            yield Broken("exitCodes", "is missing", "add exitCodes with an operator and values")


class VolumeDevice(Model):
    """A raw block device: a claim with volumeMode Block at a path in the container."""

    device_path: Annotated[Text, shaped(backsteps_error)]
    name: Text


class VolumeMount(Model):
    """One of the pod's volumes at a path in the container."""

    bind_mount_options: Annotated[list[Literal["noexec", "nodev", "nosuid"]], unique] | None = None
    mount_path: Text
    mount_propagation: Literal["None", "HostToContainer", "Bidirectional"] | None = None
    name: Text
    read_only: Bool | None = None
    recursive_read_only: Literal["Disabled", "IfPossible", "Enabled"] | None = None
    sub_path: Annotated[Str, shaped(descending_path_error)] | None = None
    sub_path_expr: Annotated[Str, shaped(descending_path_error)] | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidateVolumeMounts, validateMountRecursiveReadOnly; and the documented rule of a path without colons."""
        if ":" in self.mount_path:
            yield Broken("mountPath", f'"{self.mount_path}" contains ":"', "write the path in the container alone")
        if self.sub_path and self.sub_path_expr:
            yield Broken("subPathExpr", "stands beside subPath", "keep one of them")
        if self.recursive_read_only in ("IfPossible", "Enabled"):
            if not self.read_only:
                yield Broken("recursiveReadOnly", "needs readOnly: true beside it", "write readOnly: true")
            if self.mount_propagation not in (None, "None"):
                yield Broken("recursiveReadOnly", "excludes mountPropagation", "remove mountPropagation")


def _ports(ports: list[Any]) -> list[Any]:
    """A map list by port and protocol, where an unwritten protocol is TCP; and names of ports are unique."""
    for index, port in enumerate(ports):
        for other in ports[:index]:
            if (port.container_port, port.protocol or "TCP") == (other.container_port, other.protocol or "TCP"):
                told = f"containerPort {port.container_port} and protocol {port.protocol or 'TCP'}"
                raise PydanticCustomError("duplicate", "two items have {told}", {"told": told})
            if port.name and port.name == other.name:
                raise PydanticCustomError("duplicate", "two items have {told}", {"told": f'name "{port.name}"'})
    return ports


class Container(Model):
    """One container. `image` may be absent where a controller or a runtime patch fills it in."""

    args: list[Str] | None = None
    command: list[Str] | None = None
    env: Annotated[list[EnvVar], keyed_by("name")] | None = None
    env_from: list[EnvFromSource] | None = None
    image: Str | None = None
    image_pull_policy: Literal["", "Always", "IfNotPresent", "Never"] | None = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: DnsLabel
    ports: Annotated[list[ContainerPort], AfterValidator(_ports)] | None = None
    readiness_probe: Probe | None = None
    resize_policy: Annotated[list[ContainerResizePolicy], keyed_by("resource_name")] | None = None
    resources: ResourceRequirements | None = None
    restart_policy: Literal["Always", "OnFailure", "Never"] | None = None
    restart_policy_rules: Annotated[list[ContainerRestartRule], Field(max_length=20)] | None = None
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: Bool | None = None
    stdin_once: Bool | None = None
    termination_message_path: Str | None = None
    termination_message_policy: Literal["", "File", "FallbackToLogsOnError"] | None = None
    tty: Bool | None = None
    volume_devices: Annotated[list[VolumeDevice], keyed_by("device_path")] | None = None
    volume_mounts: Annotated[list[VolumeMount], keyed_by("mount_path")] | None = None
    working_dir: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """validateContainerCommon; since Kubernetes 1.34 every container may have a restart policy of its own."""
        for field, probe in self.probes().items():
            yield from probe_rules(field, probe)
        if self.restart_policy_rules and self.restart_policy is None:
            yield Broken("restartPolicy", "is missing, and restartPolicyRules need it", "add restartPolicy")
        yield from self._mount_rules()

    def probes(self) -> dict[str, Probe]:
        """The probes that are set, by their field."""
        probes = {
            "livenessProbe": self.liveness_probe,
            "readinessProbe": self.readiness_probe,
            "startupProbe": self.startup_probe,
        }
        return {field: probe for field, probe in probes.items() if probe is not None}

    def _mount_rules(self) -> Iterator[Broken]:
        """ValidateVolumeMounts, ValidateVolumeDevices: one volume is mounted or attached, not both."""
        privileged = self.security_context is not None and self.security_context.privileged
        devices = {one.name for one in self.volume_devices or []}
        paths = {one.device_path for one in self.volume_devices or []}
        for index, mount in enumerate(self.volume_mounts or []):
            if mount.mount_propagation == "Bidirectional" and not privileged:
                yield Broken(
                    f"volumeMounts[{index}].mountPropagation",
                    "Bidirectional needs a privileged container",
                    "write securityContext.privileged: true, or HostToContainer",
                )
            if mount.name in devices:
                yield Broken(f"volumeMounts[{index}].name", f'"{mount.name}" is in volumeDevices as well')
            if mount.mount_path in paths:
                yield Broken(f"volumeMounts[{index}].mountPath", f'"{mount.mount_path}" is a device path as well')


class EphemeralContainer(Container):
    """A container for debugging. The API server adds it to running pods only; templates cannot use it."""

    target_container_name: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """allowedEphemeralContainerFields: nothing that a workload would rely on."""
        yield from super().rules()
        for name in ("lifecycle", "ports", "resources", *_PROBE_FIELDS):
            if getattr(self, name) is not None:
                yield Broken(type(self).model_fields[name].alias or name, "cannot be set for an ephemeral container")
