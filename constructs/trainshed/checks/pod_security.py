"""What Pod Security levels refuse in a pod (kubernetes v1.36, `staging/src/k8s.io/pod-security-admission/policy`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainshed.checks.pods import containers, named
from trainshed.fleet.access import Node, dig, items, mapping, mappings
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet

LEVELS: Final = ("privileged", "baseline", "restricted")
Violation = tuple[Path, str, str]

_BASELINE_CAPABILITIES: Final = frozenset({
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
})  # fmt: skip
_RESTRICTED_VOLUMES: Final = frozenset({
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
    "secret",
})  # fmt: skip
#: Namespaced sysctls that need no permission of the kubelet (`check_sysctls.go`).
_SYSCTLS: Final = frozenset({
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
})  # fmt: skip
_SELINUX_TYPES: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
_HOST_NAMESPACES: Final = ("hostNetwork", "hostPID", "hostIPC")


def violations(level: str, pod_set: PodSet) -> Iterator[Violation]:
    """(path in the template, what is wrong, what would be right) for each field that `level` refuses."""
    if level in ("baseline", "restricted"):
        yield from _baseline(pod_set)
    if level == "restricted":
        yield from _restricted(pod_set)


def _baseline(pod_set: PodSet) -> Iterator[Violation]:
    for field in _HOST_NAMESPACES:
        if pod_set.spec.get(field) is True:
            yield ("spec", field), f"{field} is true", f"remove {field}"
    for index, volume in mappings(pod_set.spec, "volumes"):
        if dig(volume, "hostPath") is not None:
            yield (
                ("spec", "volumes", index, "hostPath", "path"),
                "a hostPath volume is used",
                "use another kind of volume",
            )
    for index, entry in mappings(pod_set.spec, "securityContext", "sysctls"):
        name = entry.get("name")
        if isinstance(name, str) and name not in _SYSCTLS:
            at: Path = ("spec", "securityContext", "sysctls", index)
            yield at, f"the sysctl {name} is set", "remove it, or let the node set it"
    yield from _profiles(pod_set.spec, ("spec", "securityContext"), "the pod")
    for path, container in containers(pod_set):
        context: Path = (*path, "securityContext")
        yield from _profiles(container, context, named(container))
        if dig(container, "securityContext", "procMount") not in (None, "", "Default"):
            yield (*context, "procMount"), f"{named(container)} unmasks /proc", "remove procMount"
        if dig(container, "securityContext", "privileged") is True:
            yield (*context, "privileged"), f"{named(container)} is privileged", "remove privileged"
        for index, capability in enumerate(items(container, "securityContext", "capabilities", "add")):
            if isinstance(capability, str) and capability not in _BASELINE_CAPABILITIES:
                at = (*context, "capabilities", "add", index)
                yield at, f"{named(container)} adds the capability {capability}", f"remove {capability}"
        for index, port in mappings(container, "ports"):
            if dig(port, "hostPort") not in (None, 0):
                yield (*path, "ports", index, "hostPort"), f"{named(container)} uses a host port", "remove hostPort"


def _profiles(holder: Node, path: Path, name: str) -> Iterator[Violation]:
    """Profiles of a pod's or a container's security context that switch a protection off."""
    context = mapping(holder, "securityContext")
    for field in ("seccompProfile", "appArmorProfile"):
        if dig(context, field, "type") == "Unconfined":
            yield (*path, field, "type"), f"{name} has {field} Unconfined", "write RuntimeDefault"
    options = mapping(context, "seLinuxOptions")
    if options.get("type", "") not in _SELINUX_TYPES or options.get("user") or options.get("role"):
        yield (*path, "seLinuxOptions"), f"{name} sets SELinux options", "remove seLinuxOptions"


def _restricted(pod_set: PodSet) -> Iterator[Violation]:
    for index, volume in mappings(pod_set.spec, "volumes"):
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        if sources and sources[0] not in _RESTRICTED_VOLUMES and sources[0] != "hostPath":
            at: Path = ("spec", "volumes", index)
            yield at, f"a volume of the kind {sources[0]} is used", "use a claim, emptyDir, ConfigMap or Secret"
    for path, container in containers(pod_set):
        yield from _restricted_container(pod_set.spec, path, container)


def _restricted_container(pod: Node, path: Path, container: Node) -> Iterator[Violation]:
    context: Path = (*path, "securityContext")
    name = named(container)
    if dig(container, "securityContext", "allowPrivilegeEscalation") is not False:
        yield context, f"{name} does not forbid privilege escalation", "write allowPrivilegeEscalation: false"
    may_be_root = effective(pod, container, "runAsNonRoot") is not True
    if effective(pod, container, "runAsUser") == 0:
        fix = "write another runAsUser, such as 10001" + (", and runAsNonRoot: true" if may_be_root else "")
        yield context, f"{name} runs as user 0", fix
    elif may_be_root:
        yield context, f"{name} may run as root", "write runAsNonRoot: true"
    profile = dig(container, "securityContext", "seccompProfile", "type") or dig(
        pod, "securityContext", "seccompProfile", "type"
    )
    if profile not in ("RuntimeDefault", "Localhost", "Unconfined"):  # Unconfined is against baseline already
        yield context, f"{name} has no seccomp profile", "write seccompProfile: {type: RuntimeDefault}"
    if "ALL" not in items(container, "securityContext", "capabilities", "drop"):
        yield context, f"{name} does not drop all capabilities", "write capabilities: {drop: [ALL]}"
    for index, capability in enumerate(items(container, "securityContext", "capabilities", "add")):
        if capability in _BASELINE_CAPABILITIES and capability != "NET_BIND_SERVICE":
            at = (*context, "capabilities", "add", index)
            yield at, f"{name} adds the capability {capability}", f"remove {capability}"


def effective(pod: Node, container: Node, field: str) -> object:
    """A field of a container's security context, the pod's where the container has none."""
    own = dig(container, "securityContext", field)
    return own if own is not None else dig(pod, "securityContext", field)
