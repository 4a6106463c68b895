"""Volumes and temporary folders of training pods."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, dig, items, mapping, mappings, strings, text
from trainshed.fleet.amounts import quantity
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.launchers import Kind
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import gpus
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "resources"
_TEMPORARY: Final = ("/tmp", "/var/tmp", "/usr/tmp", "/var", "/")
_WHOLE_NODE: Final = 8
_TRAINERS: Final[tuple[Kind, ...]] = ("torchrun", "accelerate", "deepspeed", "python")
_HOSTNAME: Final = "kubernetes.io/hostname"


def _one_node(pod_set: PodSet) -> bool:
    """Whether the pods are told to share a node."""
    if text(pod_set.spec, "nodeName") or _HOSTNAME in strings(pod_set.spec, "nodeSelector"):
        return True
    terms = items(pod_set.spec, "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return any(text(term, "topologyKey") == _HOSTNAME for term in terms)


def _claims(fleet: Fleet, workload: Workload, pod_set: PodSet) -> Iterator[tuple[Path, str, Document | None, Node]]:
    """(path, name, document, spec) of the claims that all pods of a pod set share."""
    owned = {
        text(template, "metadata", "name"): mapping(template, "spec")
        for _, policy in mappings(workload.manifest, "spec", "volumeClaimPolicies")
        for _, template in mappings(policy, "templates")
    }
    for index, volume in mappings(pod_set.spec, "volumes"):
        place: Path = ("spec", "volumes", index, "persistentVolumeClaim", "claimName")
        name = text(volume, "persistentVolumeClaim", "claimName")
        found = fleet.namespaces.find("", "PersistentVolumeClaim", workload.namespace, name) if name else None
        if found is not None and found.judged:
            yield place, name, found, mapping(found.manifest, "spec")
    for path, container in pod_set.containers:
        for index, mount in mappings(container, "volumeMounts"):
            if workload.form == "JobSet" and (name := text(mount, "name")) in owned:
                yield (*path, "volumeMounts", index, "name"), name, None, owned[name]


@rule("resources-claim-on-several-nodes", severity="error", family=FAMILY)
def claim_on_several_nodes(fleet: Fleet) -> Iterator[Issue]:
    """Pods on several nodes share a claim that only one node can mount.

    Why: ReadWriteOnce means one node (ReadWriteOncePod: one pod). The first pod's node gets the volume; pods on others
    stay in ContainerCreating with "Multi-Attach error".
    Fix: Use a claim with ReadWriteMany, or one claim for each pod.
    """
    for workload in fleet.workloads:
        mounted: dict[str, int] = {}
        for pod_set in workload.pod_sets:
            for path, name, claim, spec in _claims(fleet, workload, pod_set):
                before = mounted.get(name, 0)
                mounted[name] = before + (0 if _sequential(workload) else pod_set.count)
                pods = before + pod_set.count
                if pods < 2 or not pod_set.count:
                    continue
                modes = [mode for mode in items(spec, "accessModes") if isinstance(mode, str)]
                if not modes or any(mode in ("ReadWriteMany", "ReadOnlyMany") for mode in modes):
                    continue
                severity = _severity(pod_set, modes, claim)
                if severity is None:
                    continue
                one = "pod" if "ReadWriteOncePod" in modes else "node"
                message = f'{pods} pods mount the claim "{name}", which is {modes[0]}: for one {one} at a time'
                related = (("its access modes", claim, ("spec", "accessModes")),) if claim else ()
                document, written = pod_set.at(path)
                fix = "use a claim with accessModes: [ReadWriteMany]"
                yield Issue(document, written, message, fix, severity, related)


def _sequential(workload: Workload) -> bool:
    """Whether pod sets run one after the other, such as initializers before the nodes."""
    return any(pod_set.item.get("dependsOn") for pod_set in workload.pod_sets) or workload.form == "JobFlow"


def _severity(pod_set: PodSet, modes: list[str], claim: Document | None) -> Severity | None:
    """How certain it is that the pods lie on different nodes."""
    if "ReadWriteOncePod" in modes:
        return "error"
    devices = sum(gpus(container) or 0 for _, container in pod_set.containers)
    if _one_node(pod_set) or (claim is None and not devices):
        return None
    return "error" if devices >= _WHOLE_NODE or _apart(pod_set) else "warning"


def _apart(pod_set: PodSet) -> bool:
    terms = items(pod_set.spec, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return any(text(term, "topologyKey") == _HOSTNAME for term in terms)


@rule("resources-no-temporary-folder", severity="warning", family=FAMILY)
def no_temporary_folder(fleet: Fleet) -> Iterator[Issue]:
    """A training container has a read-only root filesystem and no writable folder for temporary files.

    Why: Python, torch and its compiler write below /tmp (or TMPDIR). With readOnlyRootFilesystem and nothing mounted
    there they stop with "No usable temporary directory found".
    Fix: Mount an emptyDir at /tmp.
    """
    starts = {
        (id(member.pod_set.document), member.pod_set.path + member.path)
        for run in fleet.runs
        for member in run.members
        if member.launch.kind in _TRAINERS
    }
    for _, pod_set in pod_sets(fleet):
        for path, container in pod_set.containers:
            if dig(container, "securityContext", "readOnlyRootFilesystem") is not True:
                continue
            trains = (id(pod_set.document), pod_set.path + path) in starts or gpus(container)
            if trains and not _writable(pod_set, container):
                message = f"{named(container)} has readOnlyRootFilesystem: true and no writable volume at /tmp"
                at = (*path, "securityContext", "readOnlyRootFilesystem")
                yield issue(pod_set, at, message, "mount an emptyDir at /tmp")


def _writable(pod_set: PodSet, container: Node) -> bool:
    """Whether temporary files have a place: /tmp and its like, TMPDIR, the working directory."""
    volumes = {text(volume, "name"): volume for _, volume in mappings(pod_set.spec, "volumes")}
    wanted = [*_TEMPORARY, text(container, "workingDir")]
    for _, variable in mappings(container, "env"):
        if text(variable, "name") in ("TMPDIR", "TEMP", "TMP"):
            wanted.append(text(variable, "value") or "/tmp")
    for _, mount in mappings(container, "volumeMounts"):
        folder = text(mount, "mountPath").rstrip("/") or "/"
        volume = volumes.get(text(mount, "name"), {})
        if mount.get("readOnly") is True or any(kind in volume for kind in ("configMap", "secret", "downwardAPI")):
            continue
        if any(place and (place == folder or _inside(place, folder)) for place in wanted):
            return True
    return False


def _inside(place: str, folder: str) -> bool:
    return posixpath.normpath(place).startswith(folder.rstrip("/") + "/") and folder != "/"


@rule("resources-volume-beyond-limit", severity="warning", family=FAMILY)
def volume_beyond_limit(fleet: Fleet) -> Iterator[Issue]:
    """A volume on the node's disk may hold more than the pod's limit of ephemeral storage.

    Why: What lies in an emptyDir counts towards the pod's ephemeral-storage limit: the kubelet evicts the pod before
    the volume is full.
    Fix: Raise the limit of ephemeral-storage, or lower sizeLimit.
    """
    for _, pod_set in pod_sets(fleet):
        limits = [
            quantity(mapping(container, "resources", "limits").get("ephemeral-storage"))
            for _, container in pod_set.containers
        ]
        known = [limit for limit in limits if limit is not None]
        if not known or len(known) < len(limits):
            continue
        total = known[0]
        for limit in known[1:]:
            total = total + limit
        for index, volume in mappings(pod_set.spec, "volumes"):
            source = mapping(volume, "emptyDir")
            size = quantity(source.get("sizeLimit"))
            if size is not None and text(source, "medium") == "" and size > total:
                at = ("spec", "volumes", index, "emptyDir", "sizeLimit")
                message = f'volume "{text(volume, "name")}" may hold {size}, and the pod is evicted beyond {total}'
                yield issue(pod_set, at, message, "raise the limit of ephemeral-storage, or lower sizeLimit")


@rule("resources-huge-pages-not-requested", severity="error", family=FAMILY)
def huge_pages(fleet: Fleet) -> Iterator[Issue]:
    """A pod mounts huge pages and requests none.

    Why: An emptyDir with a medium of huge pages is refused by the kubelet unless a container requests pages of that
    size.
    Fix: Request hugepages-2Mi or hugepages-1Gi, with an equal limit.
    """
    for _, pod_set in pod_sets(fleet):
        for index, volume in mappings(pod_set.spec, "volumes"):
            medium = text(volume, "emptyDir", "medium")
            if medium.startswith("HugePages"):
                size = medium.lower().partition("-")[2]
                if not any(name.startswith("hugepages-") and name.lower().endswith(size) for name in pod_set.requests):
                    at = ("spec", "volumes", index, "emptyDir", "medium")
                    message = f'volume "{text(volume, "name")}" is {medium}, and no container requests such pages'
                    yield issue(pod_set, at, message, f"request hugepages-{medium.partition('-')[2] or '2Mi'}")
