"""What a pod takes of its node: namespaces, folders, ports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.checks.security_pods import requests_rdma
from trainshed.fleet.access import dig, mappings, text
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "security"
_HOST_NAMESPACES: Final = ("hostPID", "hostIPC")
#: Folders of the node whose content is the node's own or every pod's.
_SENSITIVE: Final = (
    "/",
    "/dev",
    "/etc",
    "/proc",
    "/sys",
    "/root",
    "/home",
    "/boot",
    "/run",
    "/var/run",
    "/var/lib/kubelet",
)
_SENSITIVE_BELOW: Final = (
    "/etc/kubernetes", "/var/lib/docker", "/var/lib/containerd", "/var/lib/etcd", "/var/log", "/var/run/secrets",
    "/run/secrets",
)  # fmt: skip
#: What drivers and device plugins of the node offer: read by the pods that use the device.
_DRIVERS: Final = ("/dev/", "/usr/", "/opt/", "/home/kubernetes/bin", "/lib/modules", "/sys/", "/proc/", "/run/nvidia")
#: Folders whose name says that their content may be lost.
_SCRATCH: Final = re.compile(r"cache|scratch|tmp|temp|nvme|ssd|local|ephemeral", re.IGNORECASE)
_SOCKETS: Final = ("docker.sock", "containerd.sock", "crio.sock")


@rule("security-host-namespaces", severity="error", family=FAMILY)
def host_namespaces(fleet: Fleet) -> Iterator[Issue]:
    """A workload shares the process or IPC namespace of its node.

    Why: With hostPID a pod sees and can signal every process of its node, with hostIPC it reads their shared memory,
    other tenants' included. Shared memory between a run's own processes needs neither: that is what a memory-backed
    emptyDir at /dev/shm is for.
    Fix: Remove the field; mount an emptyDir with `medium: Memory` at /dev/shm.
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet":
            continue
        for field in _HOST_NAMESPACES:
            if pod_set.spec.get(field) is True:
                what = (
                    "sees and may signal every process of its node"
                    if field == "hostPID"
                    else ("reads the shared memory of every process of its node")
                )
                yield issue(pod_set, ("spec", field), f"{field} is true: the pod {what}", f"remove {field}")


@rule("security-host-path", severity="warning", family=FAMILY)
def host_path(fleet: Fleet) -> Iterator[Issue]:
    """A workload mounts a folder of its node that it should not need.

    Why: A hostPath binds the run to what one node happens to hold, bypasses quota and isolation, and with folders such
    as /etc, /var/run or a container runtime's socket gives the node away. RDMA devices are mounted by the device plugin
    that the container requests them from.
    Fix: For RDMA drop the volume and request the plugin's resource; for data and caches use a PersistentVolumeClaim or
    an emptyDir.
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet":
            continue
        rdma = requests_rdma(pod_set)
        for index, volume in mappings(pod_set.spec, "volumes"):
            path = text(volume, "hostPath", "path")
            if path:
                at = ("spec", "volumes", index, "hostPath", "path")
                yield from _host_folder(pod_set, at, path, rdma, _read_only(pod_set, text(volume, "name")))


def _requested_gpu(pod_set: PodSet) -> str:
    """The NVIDIA resource that the pods request, empty where they request none."""
    return next(
        (name for name, amount in pod_set.requests.items() if name.startswith("nvidia.com/") and amount.value), ""
    )


def _host_folder(pod_set: PodSet, at: Path, path: str, rdma: str, read_only: bool) -> Iterator[Issue]:
    folder = path.rstrip("/") or "/"
    if folder.startswith("/dev/nvidia") and (gpu := _requested_gpu(pod_set)):
        message = f'hostPath {path} is mounted, but "{gpu}" already brings the devices of the GPUs that the pod gets'
        yield issue(pod_set, at, message, "remove the volume and its mount")
    elif folder.startswith("/dev/infiniband"):
        if rdma:
            message = f'hostPath {path} is mounted, but "{rdma}" already brings the InfiniBand devices'
            yield issue(pod_set, at, message, "remove the volume and its mount")
        else:
            message = f"hostPath {path} reaches the InfiniBand devices past every quota"
            yield issue(pod_set, at, message, "request the device plugin's resource, such as rdma/hca")
    elif folder == "/dev/shm":
        message = "hostPath /dev/shm is the shared memory of every process of the node"
        yield issue(pod_set, at, message, "use an emptyDir with medium: Memory")
    elif folder in _SENSITIVE or folder.startswith(_SENSITIVE_BELOW) or folder.endswith(_SOCKETS):
        message = f"hostPath {path} gives the pod its node's own files"
        yield issue(pod_set, at, message, "use a PersistentVolumeClaim or an emptyDir", "error")
    elif not read_only and not folder.startswith(_DRIVERS):
        local = bool(_SCRATCH.search(folder))
        message = f"hostPath {path} is written on whatever node the pod runs on, past quota and isolation"
        fix = "use a PersistentVolumeClaim, or an emptyDir for what may be lost"
        yield issue(pod_set, at, message, fix, "info" if local else None)


def _read_only(pod_set: PodSet, name: str) -> bool:
    """Whether every mount of the volume is read-only."""
    mounts = [
        mount
        for _, container in containers(pod_set)
        for _, mount in mappings(container, "volumeMounts")
        if text(mount, "name") == name
    ]
    return all(mount.get("readOnly") is True for mount in mounts)


@rule("security-host-port", severity="warning", family=FAMILY)
def host_port(fleet: Fleet) -> Iterator[Issue]:
    """A container of a workload takes a port of its node.

    Why: One pod per node can have the port, so a second run, or a second pod of this one, stays Pending; and the port
    is open to whoever reaches the node. Pods reach each other without it.
    Fix: Remove `hostPort`.
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet" or pod_set.spec.get("hostNetwork") is True:
            continue
        for path, container in containers(pod_set):
            for index, port in mappings(container, "ports"):
                number = dig(port, "hostPort")
                if isinstance(number, int) and number > 0:
                    message = f"{named(container)} takes port {number} of its node"
                    yield issue(pod_set, (*path, "ports", index, "hostPort"), message, "remove hostPort")
