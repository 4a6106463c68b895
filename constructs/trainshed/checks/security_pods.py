"""What a pod may do to its node and to others: rights that training does not need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, items, mappings, text
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "security"
_HOST_NAMESPACES: Final = ("hostPID", "hostIPC")
#: Device plugins that mount RDMA devices themselves offer resources of these names.
_RDMA_PREFIXES: Final = ("rdma/", "mellanox.com/", "nvidia.com/hostdev", "openshift.io/mlnx", "vpc.amazonaws.com/efa")
#: Folders of the node whose content is the node's own or every pod's.
_SENSITIVE: Final = ("/", "/etc", "/proc", "/sys", "/root", "/home", "/boot", "/run", "/var/run", "/var/lib/kubelet")
_SOCKETS: Final = ("docker.sock", "containerd.sock", "crio.sock")
#: Beyond these a container is root on its node by another name.
_DANGEROUS: Final = frozenset(
    {"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "NET_ADMIN", "SYS_RAWIO", "BPF", "DAC_READ_SEARCH"}
)


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
    it for nothing: a device plugin hands out GPUs and RDMA devices, and registering memory needs IPC_LOCK alone.
    Fix: Drop `privileged`; for RDMA add the capability IPC_LOCK and request the device plugin's resource.
    Bad:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - {name: node, image: trainer, securityContext: {privileged: true}}
    Good:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - {name: node, image: trainer, securityContext: {capabilities: {add: [IPC_LOCK]}}}
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet":  # drivers and agents of the nodes themselves
            continue
        rdma = requests_rdma(pod_set)
        for path, container in containers(pod_set):
            if dig(container, "securityContext", "privileged") is True:
                fix = "remove privileged and add the capability IPC_LOCK" if rdma else "remove privileged"
                message = f"{named(container)} is privileged: root on its node, with everybody's devices and data"
                yield issue(pod_set, (*path, "securityContext", "privileged"), message, fix)


@rule("security-host-namespaces", severity="error", family=FAMILY)
def host_namespaces(fleet: Fleet) -> Iterator[Issue]:
    """A workload shares the process or IPC namespace of its node.

    Why: With hostPID a pod sees and can signal every process of its node, with hostIPC it reads their shared memory,
    other tenants' included. Shared memory between a run's own processes needs neither: that is what a memory-backed
    emptyDir at /dev/shm is for.
    Fix: Remove the field; mount an emptyDir with `medium: Memory` at /dev/shm.
    Bad:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              hostIPC: true
              restartPolicy: Never
              containers: [{name: node, image: trainer}]
    Good:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers: [{name: node, image: trainer}]
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
    Bad:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - name: node
                image: trainer
                resources: {limits: {rdma/hca: "1"}}
                volumeMounts: [{name: ib, mountPath: /dev/infiniband}]
              volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]
    Good:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers: [{name: node, image: trainer, resources: {limits: {rdma/hca: "1"}}}]
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet":
            continue
        rdma = requests_rdma(pod_set)
        for index, volume in mappings(pod_set.spec, "volumes"):
            path = text(volume, "hostPath", "path")
            if not path:
                continue
            at = ("spec", "volumes", index, "hostPath", "path")
            folder = path.rstrip("/") or "/"
            if folder.startswith("/dev/infiniband"):
                if rdma:
                    message = f'hostPath {path} is mounted, but "{rdma}" already brings the InfiniBand devices'
                    yield issue(pod_set, at, message, "remove the volume and its mount")
                else:
                    message = f"hostPath {path} reaches the InfiniBand devices past every quota"
                    yield issue(pod_set, at, message, "request the device plugin's resource, such as rdma/hca")
            elif folder in _SENSITIVE or folder.endswith(_SOCKETS):
                message = f"hostPath {path} gives the pod its node's own files"
                yield issue(pod_set, at, message, "use a PersistentVolumeClaim or an emptyDir", "error")


@rule("security-capabilities", severity="warning", family=FAMILY)
def capabilities(fleet: Fleet) -> Iterator[Issue]:
    """A container adds a capability that amounts to root on the node.

    Why: SYS_ADMIN, SYS_MODULE, SYS_PTRACE and the like let a container leave its isolation. Training needs none of
    them; RDMA needs IPC_LOCK.
    Fix: Remove the capability.
    Bad:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - {name: node, image: trainer, securityContext: {capabilities: {add: [SYS_ADMIN]}}}
    Good:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - {name: node, image: trainer, securityContext: {capabilities: {drop: [ALL], add: [IPC_LOCK]}}}
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet":
            continue
        for path, container in containers(pod_set):
            for index, capability in enumerate(items(container, "securityContext", "capabilities", "add")):
                if isinstance(capability, str) and capability.removeprefix("CAP_") in _DANGEROUS:
                    at = (*path, "securityContext", "capabilities", "add", index)
                    message = f"{named(container)} adds {capability}, with which it can leave its isolation"
                    yield issue(pod_set, at, message, f"remove {capability}")
