"""Shared memory: what data loaders and NCCL need between the processes of a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, mapping, mappings, text
from trainshed.fleet.amounts import amounts, quantity
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import gpus, on_tpu
from trainshed.fleet.words import literal, number
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "resources"
_SHM: Final = ("/dev/shm", "/dev", "/")
_DEFAULT: Final = 64 * 2**20
_IDLE: Final = frozenset({"sleep", "echo", "true", "tail", "nvidia-smi", "pause", "date", "cat", "set", "trap", "wait"})


def shared_memory(container: Node, pod_set: PodSet) -> tuple[Path, Node] | None:
    """(path in the template, volume) of what the container has at /dev/shm."""
    for _, mount in mappings(container, "volumeMounts"):
        if (text(mount, "mountPath").rstrip("/") or "/") in _SHM:
            for index, volume in mappings(pod_set.spec, "volumes"):
                if text(volume, "name") == text(mount, "name"):
                    return ("spec", "volumes", index), volume
            return ("spec", "volumes"), {}
    return None


def _processes(fleet: Fleet) -> tuple[dict[tuple[int, Path], int], set[tuple[int, Path]]]:
    """How many processes torchrun starts in a container, where it says so, by pod template and container; and the
    containers that only idle."""
    found: dict[tuple[int, Path], int] = {}
    names: dict[tuple[int, Path], set[str]] = {}
    for run in fleet.runs:
        for member in run.members:
            key = (id(member.pod_set.document), member.pod_set.path + member.path)
            names.setdefault(key, set()).add(member.launch.name if member.launch.kind == "other" else "")
        for member in run.torch:
            option = member.launch.option("nproc-per-node")
            count = number(option.word) if option else 1
            if count is None and option and literal(option.word) in ("gpu", "auto"):
                count = gpus(member.container) or 1
            if count is not None:
                key = (id(member.pod_set.document), member.pod_set.path + member.path)
                found[key] = max(count, found.get(key, 0))
    return found, {key for key, programs in names.items() if programs <= _IDLE}


@rule("resources-shm-missing", severity="warning", family=FAMILY)
def shm_missing(fleet: Fleet) -> Iterator[Issue]:
    """Several training processes share a container that has 64 MiB of shared memory.

    Why: Without a volume at /dev/shm the container runtime's 64 MiB are all there is: data loaders end with "Bus
    error", NCCL with "no space left on device" (nccl#525).
    Fix: Mount an emptyDir with `medium: Memory` and a sizeLimit at /dev/shm; it counts towards the memory limit.
    """
    started, idle = _processes(fleet)
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "DaemonSet" or pod_set.spec.get("hostIPC") is True:
            continue
        for path, container in pod_set.containers:
            devices = gpus(container) or 0
            count = max(started.get((id(pod_set.document), pod_set.path + path), 0), devices if devices > 1 else 0)
            if count < 2 or not devices or shared_memory(container, pod_set) or _apart(container):
                continue
            if (id(pod_set.document), pod_set.path + path) in idle:
                continue
            what = f"{devices} GPUs" if devices > 1 else f"{count} processes"
            message = (
                f"{named(container)} has {what} and no volume at /dev/shm: 64 MiB of shared memory for all of them"
            )
            volume = next((name for name in _memory_volumes(pod_set)), "")
            fix = f'mount the volume "{volume}" at /dev/shm' if volume else _SHM_FIX
            yield issue(pod_set, path, message, fix)


_SHM_FIX: Final = "mount an emptyDir {medium: Memory, sizeLimit: …} at /dev/shm"


def _apart(container: Node) -> bool:
    """Whether its devices share no memory through the host: MIG slices, TPU chips."""
    return on_tpu(container) or any("/mig-" in name for name in amounts(mapping(container, "resources", "limits")))


def _memory_volumes(pod_set: PodSet) -> Iterator[str]:
    for _, volume in mappings(pod_set.spec, "volumes"):
        if text(volume, "emptyDir", "medium") == "Memory":
            yield text(volume, "name")


@rule("resources-shm-not-memory", severity="warning", family=FAMILY)
def shm_not_memory(fleet: Fleet) -> Iterator[Issue]:
    """The volume at /dev/shm is a folder on the node's disk.

    Why: An emptyDir without `medium: Memory` lies on disk: what should be shared memory goes through the page cache to
    the disk, is slow, and fills ephemeral storage.
    Fix: Write `medium: Memory` and a sizeLimit.
    """
    for pod_set, path, volume, container in _mounted(fleet):
        if isinstance(volume.get("emptyDir"), dict) and text(volume, "emptyDir", "medium") == "":
            message = f'/dev/shm of {named(container)} is the volume "{text(volume, "name")}", an emptyDir on disk'
            yield issue(pod_set, (*path, "emptyDir"), message, "write medium: Memory")


def _mounted(fleet: Fleet) -> Iterator[tuple[PodSet, Path, Node, Node]]:
    """(pod set, path of the volume, volume, container), once for each volume at /dev/shm."""
    for _, pod_set in pod_sets(fleet):
        seen: set[Path] = set()
        for _, container in pod_set.containers:
            found = shared_memory(container, pod_set)
            if found is not None and found[0] not in seen:
                seen.add(found[0])
                yield pod_set, *found, container


@rule("resources-shm-size", severity="warning", family=FAMILY)
def shm_size(fleet: Fleet) -> Iterator[Issue]:
    """The shared memory's size does not fit the container's memory limit, or is no more than the default.

    Why: Pages of a memory volume count towards the container's memory limit: a sizeLimit that takes all of it lets
    the container be killed before the volume is full. A sizeLimit of 64Mi is what a container has without the volume.
    Fix: Leave room between sizeLimit and the memory limit.
    """
    for pod_set, path, volume, container in _mounted(fleet):
        size = quantity(mapping(volume, "emptyDir").get("sizeLimit"))
        if text(volume, "emptyDir", "medium") != "Memory":
            continue
        at = (*path, "emptyDir", "sizeLimit")
        limit = quantity(mapping(container, "resources", "limits").get("memory"))
        if size is None:
            bound = "its memory limit" if limit is not None else "half of the node's memory"
            message = f"the shared memory of {named(container)} has no sizeLimit and may grow to {bound}"
            yield issue(pod_set, (*path, "emptyDir"), message, "add sizeLimit", "info")
        elif limit is not None and size >= limit:
            message = f"/dev/shm may take {size}, and the memory limit of {named(container)} is {limit} in all"
            yield issue(pod_set, at, message, "raise the memory limit, or lower sizeLimit")
        elif 2**20 <= size.value <= _DEFAULT and (gpus(container) or 0) > 1 and not on_tpu(container):
            message = f"sizeLimit is {size}, and without the volume {named(container)} would have 64Mi"
            yield issue(pod_set, at, message, "write some gibibytes, such as 16Gi")
