"""The rules of a pod as a whole, one function each.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, ValidatePodSpec and its callees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Final

from trainshed.api.base import Broken
from trainshed.api.core.container import Container
from trainshed.api.core.resources import pod_level_rules
from trainshed.faults import nearest

if TYPE_CHECKING:
    from trainshed.api.core.pod import PodSpec


def containers_of(spec: PodSpec) -> Iterator[tuple[str, Container]]:
    """Every container with its path: regular, init, ephemeral."""
    for field, containers in (
        ("containers", spec.containers),
        ("initContainers", spec.init_containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        for index, container in enumerate(containers or []):
            yield f"{field}[{index}]", container


def container_names(spec: PodSpec) -> Iterator[Broken]:
    """validateContainers, validateInitContainers: at least one container, and no name twice in the pod."""
    if not spec.containers:
        yield Broken("containers", "is empty", "add a container")
    seen: dict[str, str] = {}
    for path, container in containers_of(spec):
        if container.name in seen:
            yield Broken(
                f"{path}.name",
                f'"{container.name}" is the name of {seen[container.name]} as well',
                "rename one of them",
            )
        seen.setdefault(container.name, path)


def init_containers(spec: PodSpec) -> Iterator[Broken]:
    """validateInitContainers: only a sidecar (restartPolicy Always) has probes and hooks."""
    for index, one in enumerate(spec.init_containers or []):
        if one.restart_policy == "Always":
            continue
        fields = [*(["lifecycle"] if one.lifecycle else []), *one.probes()]
        for field in fields:
            yield Broken(
                f"initContainers[{index}].{field}",
                "an init container runs to its end and has no such field",
                "write restartPolicy: Always to make it a sidecar, or remove it",
            )


def ephemeral_targets(spec: PodSpec) -> Iterator[Broken]:
    """validateEphemeralContainers: the target is a regular or init container."""
    names = {one.name for one in (*spec.containers, *(spec.init_containers or []))}
    for index, one in enumerate(spec.ephemeral_containers or []):
        if one.target_container_name and one.target_container_name not in names:
            yield Broken(
                f"ephemeralContainers[{index}].targetContainerName",
                f'"{one.target_container_name}" is not a container of the pod',
                nearest(one.target_container_name, names),
            )


def host_ports(spec: PodSpec) -> Iterator[Broken]:
    """validatePodHostNetworkDeps, checkHostPortConflicts."""
    seen: set[tuple[str, str, int]] = set()
    for at, container in enumerate(spec.containers):
        for index, port in enumerate(container.ports or []):
            field = f"containers[{at}].ports[{index}].hostPort"
            if not port.host_port:
                continue
            if spec.host_network and port.host_port != port.container_port:
                yield Broken(
                    field,
                    f"{port.host_port} differs from containerPort {port.container_port} under hostNetwork: true",
                    "write the same number, or remove hostPort",
                )
            key = (port.protocol or "TCP", port.host_ip or "", port.host_port)
            if key in seen:
                yield Broken(field, f"{port.host_port} is taken by another port of the pod", "write another number")
            seen.add(key)


def host_namespaces(spec: PodSpec) -> Iterator[Broken]:
    """validateHostUsers, validatePodSpecSecurityContext, hostnameOverride."""
    for field, value in (("hostNetwork", spec.host_network), ("hostPID", spec.host_pid), ("hostIPC", spec.host_ipc)):
        if value and spec.host_users is False:
            yield Broken(field, "is true beside hostUsers: false", "remove one of the two")
    if spec.share_process_namespace and spec.host_pid:
        yield Broken("shareProcessNamespace", "is true beside hostPID: true", "remove one of the two")
    if spec.hostname_override:
        if len(spec.hostname_override) > 64:
            yield Broken("hostnameOverride", f"has {len(spec.hostname_override)} characters, and 64 are allowed")
        for field, value in (("hostNetwork", spec.host_network), ("setHostnameAsFQDN", spec.set_hostname_as_fqdn)):
            if value:
                yield Broken(field, "is true beside a hostnameOverride", "remove one of the two")


def dns(spec: PodSpec) -> Iterator[Broken]:
    """validatePodDNSConfig."""
    if spec.dns_policy == "None" and not (spec.dns_config and spec.dns_config.nameservers):
        yield Broken("dnsConfig.nameservers", "is missing, and dnsPolicy None needs it", "add a name server")


def root_users(spec: PodSpec) -> Iterator[Broken]:
    """The kubelet (`pkg/kubelet/kuberuntime/security_context.go`) does not start user 0 under runAsNonRoot.

    A container's own setting wins over the pod's, each by itself.
    """
    pod = spec.security_context
    for path, container in containers_of(spec):
        own = container.security_context
        user = own.run_as_user if own and own.run_as_user is not None else (pod.run_as_user if pod else None)
        strict = own.run_as_non_root if own and own.run_as_non_root is not None else (pod and pod.run_as_non_root)
        if user == 0 and strict:
            at = f"{path}." if own and own.run_as_user is not None else ""
            yield Broken(
                f"{at}securityContext.runAsUser",
                f"0 is root, and container {container.name} has runAsNonRoot: true",
                "write another user, or remove runAsNonRoot",
            )


def resource_claims(spec: PodSpec) -> Iterator[Broken]:
    """validateResourceClaimNames: a container uses claims of its pod."""
    names = {one.name for one in spec.resource_claims or []}
    for path, container in containers_of(spec):
        for index, claim in enumerate((container.resources.claims if container.resources else None) or []):
            if claim.name not in names:
                yield Broken(
                    f"{path}.resources.claims[{index}].name",
                    f'"{claim.name}" is not in the pod\'s resourceClaims',
                    nearest(claim.name, names) or "add it to resourceClaims",
                )


def pod_resources(spec: PodSpec) -> Iterator[Broken]:
    """validatePodResources, validatePodResourceConsistency."""
    if spec.resources is None:
        return
    for one in pod_level_rules(spec.resources):
        yield Broken(f"resources.{one.field}", one.message, one.fix)
    for at, container in enumerate(spec.containers):
        for name, limit in ((container.resources.limits if container.resources else None) or {}).items():
            whole = (spec.resources.limits or {}).get(name)
            if whole is not None and limit > whole:
                yield Broken(
                    f"containers[{at}].resources.limits[{name}]", f"{limit} is more than the pod's limit of {whole}"
                )


def resize_policies(spec: PodSpec) -> Iterator[Broken]:
    """validateResizePolicy: a pod that never restarts cannot restart for a resize."""
    if spec.restart_policy != "Never":
        return
    for path, container in containers_of(spec):
        for index, one in enumerate(container.resize_policy or []):
            if one.restart_policy == "RestartContainer" and container.restart_policy in (None, "Never"):
                yield Broken(
                    f"{path}.resizePolicy[{index}].restartPolicy",
                    "RestartContainer contradicts the pod's restartPolicy Never",
                    "write NotRequired",
                )


def stop_signals(spec: PodSpec) -> Iterator[Broken]:
    """validateLifecycle: signals belong to an operating system."""
    for path, container in containers_of(spec):
        if container.lifecycle and container.lifecycle.stop_signal and spec.os is None:
            yield Broken(f"{path}.lifecycle.stopSignal", "needs the pod's os.name", "add os: {name: linux}")


def grace_period(spec: PodSpec) -> Iterator[Broken]:
    """validateSleepAction: a hook does not sleep beyond the grace period (default 30 s)."""
    grace = spec.termination_grace_period_seconds
    grace = 30 if grace is None else grace
    for path, container in containers_of(spec):
        for hook in ("post_start", "pre_stop"):
            handler = getattr(container.lifecycle, hook, None)
            if handler and handler.sleep and handler.sleep.seconds > grace:
                name = "postStart" if hook == "post_start" else "preStop"
                yield Broken(
                    f"{path}.lifecycle.{name}.sleep.seconds",
                    f"{handler.sleep.seconds} is more than the pod's {grace} seconds of grace",
                    "raise terminationGracePeriodSeconds",
                )


def image_mounts(spec: PodSpec) -> Iterator[Broken]:
    """The files of an image are mounted as they are (field documentation of `bindMountOptions`, Kubernetes 1.37)."""
    images = {one.name for one in spec.volumes or [] if one.image is not None}
    for path, container in containers_of(spec):
        for index, mount in enumerate(container.volume_mounts or []):
            if mount.name in images and mount.bind_mount_options:
                yield Broken(f"{path}.volumeMounts[{index}].bindMountOptions", "an image volume takes no mount options")


def mounts(spec: PodSpec, at: str, given: Collection[str]) -> Iterator[Broken]:
    """ValidateVolumeMounts, ValidateVolumeDevices."""
    volumes = {one.name: one for one in spec.volumes or []}
    known = {*volumes, *given}
    for path, container in containers_of(spec):
        uses = [(f"volumeMounts[{i}].name", one.name) for i, one in enumerate(container.volume_mounts or [])]
        devices = [(f"volumeDevices[{i}].name", one.name) for i, one in enumerate(container.volume_devices or [])]
        for field, name in (*uses, *devices):
            if name not in known:
                hint = nearest(name, known) or "add it to the volumes"
                yield Broken(f"{at}{path}.{field}", f'"{name}" is not a volume of the pod', hint)
        for field, name in devices:
            if name in volumes and volumes[name].source not in ("persistentVolumeClaim", "ephemeral"):
                yield Broken(f"{at}{path}.{field}", f'"{name}" is no claim, and only claims are block devices')


Rule = Callable[["PodSpec"], Iterator[Broken]]
ALL: Final[tuple[Rule, ...]] = (
    container_names,
    init_containers,
    ephemeral_targets,
    host_ports,
    host_namespaces,
    dns,
    root_users,
    resource_claims,
    pod_resources,
    resize_policies,
    stop_signals,
    grace_period,
    image_mounts,
)
