"""What a pod may do to its node and to others: rights that training does not need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pod_security import effective
from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, items
from trainshed.fleet.finding import Severity
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import on_tpu
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "security"
#: Device plugins that mount RDMA devices themselves offer resources of these names.
_RDMA_PREFIXES: Final = ("rdma/", "mellanox.com/", "nvidia.com/hostdev", "openshift.io/mlnx", "vpc.amazonaws.com/efa")
#: Beyond these a container is root on its node by another name.
_ROOT: Final = frozenset({"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO", "DAC_READ_SEARCH"})
_DANGEROUS: Final = _ROOT | {"SYS_PTRACE", "NET_ADMIN", "BPF", "SYS_BOOT", "SYS_TIME", "MAC_ADMIN"}


def requests_rdma(pod_set: PodSet) -> str:
    """The RDMA resource that the pod asks a device plugin for, or an empty string."""
    for _, container in containers(pod_set):
        for kind in ("limits", "requests"):
            amounts = dig(container, "resources", kind)
            for name in amounts if isinstance(amounts, dict) else ():
                if isinstance(name, str) and name.startswith(_RDMA_PREFIXES):
                    return name
    return ""


@rule("security-privileged", severity="error", family=FAMILY)
def privileged(fleet: Fleet) -> Iterator[Issue]:
    """A container of a workload is privileged.

    Why: A privileged container is root on its node: it sees the GPUs and the data of every other tenant. Training needs
    it for nothing: a device plugin hands out GPUs and RDMA devices, and registering memory needs IPC_LOCK alone. TPU
    chips are the exception: JobSet's and KubeRay's own samples open them so (kuberay#2466); there it is a note.
    Fix: Drop `privileged`; for RDMA add the capability IPC_LOCK and request the device plugin's resource.
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet":  # drivers and agents of the nodes themselves
            continue
        rdma = requests_rdma(pod_set)
        for path, container in containers(pod_set):
            if dig(container, "securityContext", "privileged") is True:
                fix = "remove privileged and add the capability IPC_LOCK" if rdma else "remove privileged"
                message = f"{named(container)} is privileged: root on its node, with everybody's devices and data"
                severity: Severity | None = None
                if on_tpu(container):
                    severity, fix = "info", "remove privileged where the chips open without it"
                yield issue(pod_set, (*path, "securityContext", "privileged"), message, fix, severity)


@rule("security-run-as-root", severity="warning", family=FAMILY)
def run_as_root(fleet: Fleet) -> Iterator[Issue]:
    """A container of a run is user 0 on purpose.

    Why: Root in the container is root in every volume it mounts: files that other users cannot read or remove, and one
    flaw of the kernel away from root on the node. Training needs a user that may read the data and write checkpoints.
    Fix: Write another `runAsUser`, with `fsGroup` for the volumes; an init container may still prepare them as root.
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet":
            continue
        for path, container in pod_set.containers:
            own = dig(container, "securityContext", "runAsUser")
            user = effective(pod_set.spec, container, "runAsUser")
            refused = effective(pod_set.spec, container, "runAsNonRoot") is True  # the schema tells of that
            if user == 0 and not isinstance(user, bool) and not refused:
                at: Path = (*path, "securityContext", "runAsUser")
                where: Path = at if own is not None else ("spec", "securityContext", "runAsUser")
                yield issue(pod_set, where, f"{named(container)} runs as root (user 0)", "write another runAsUser")


@rule("security-capabilities", severity="warning", family=FAMILY)
def capabilities(fleet: Fleet) -> Iterator[Issue]:
    """A container adds a capability that amounts to root on the node.

    Why: SYS_ADMIN, SYS_MODULE, SYS_PTRACE and the like let a container leave its isolation. Training needs none of
    them; RDMA needs IPC_LOCK.
    Fix: Remove the capability.
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet":
            continue
        for path, container in containers(pod_set):
            for index, capability in enumerate(items(container, "securityContext", "capabilities", "add")):
                if isinstance(capability, str) and capability.removeprefix("CAP_") in _DANGEROUS:
                    at = (*path, "securityContext", "capabilities", "add", index)
                    message = f"{named(container)} adds {capability}, with which it can leave its isolation"
                    severity: Severity | None = "error" if capability.removeprefix("CAP_") in _ROOT else None
                    yield issue(pod_set, at, message, f"remove {capability}", severity)
                elif isinstance(capability, str) and capability.startswith("CAP_"):
                    at = (*path, "securityContext", "capabilities", "add", index)
                    message = f"{named(container)} adds {capability}; Kubernetes writes capabilities without CAP_, and"
                    message += " containerd looks for CAP_" + capability
                    yield issue(pod_set, at, message, f"write {capability.removeprefix('CAP_')}", "error")
