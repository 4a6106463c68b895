"""How an object's file is called: `<Kind>.[<namespace>.]<name>.yaml`, decided by the object alone.

A name never depends on the files beside it, so that adding an object renames no other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from trainshed.naming import short_hash

_EXTENSION: Final = ".yaml"
_LENGTH_MAX: Final = 200  # file systems allow 255; archives and check-out tools like some room
_ORDINARY: Final = re.compile(r"[A-Za-z0-9._-]+")

# Kinds of Kubernetes itself and, of kinds that several extensions have, the one meant by the bare word.
_HOME: Final = {
    kind: group
    for group, kinds in {
        "": "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod "
        "PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
        "admissionregistration.k8s.io": "MutatingWebhookConfiguration ValidatingAdmissionPolicy "
        "ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
        "apiextensions.k8s.io": "CustomResourceDefinition",
        "apiregistration.k8s.io": "APIService",
        "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
        "argoproj.io": "Application ApplicationSet AppProject",
        "autoscaling": "HorizontalPodAutoscaler",
        "batch": "CronJob Job",
        "kueue.x-k8s.io": "Topology Workload",
        "networking.k8s.io": "Ingress IngressClass NetworkPolicy",
        "policy": "PodDisruptionBudget",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
        "scheduling.k8s.io": "PriorityClass",
        "scheduling.volcano.sh": "PodGroup Queue",
        "storage.k8s.io": "CSIDriver StorageClass VolumeAttachment",
    }.items()
    for kind in kinds.split()
}


def identity(manifest: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """(group, kind, namespace, name): two manifests with one identity are one object to the API server."""
    metadata = manifest.get("metadata") or {}
    group, slash, _ = str(manifest.get("apiVersion", "")).rpartition("/")
    return (
        group if slash else "",
        str(manifest.get("kind", "")),
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or ""),
    )


def file_name(manifest: Mapping[str, Any]) -> str:
    """The file name of one object: `LocalQueue.namespace-1.llm.yaml`, `ClusterQueue.high.yaml`.

    A kind whose word belongs to another group carries its own: `Job-batch.volcano.sh.namespace-1.llm.yaml`. Characters
    that some file system refuses are percent-encoded; names over 200 characters are cut and end in a hash.
    """
    group, kind, namespace, name = identity(manifest)
    word = kind if _HOME.get(kind, group) == group else f"{kind}-{group or 'core'}"
    stem = ".".join(_encoded(part) for part in (word, namespace, name) if part)
    if len(stem) + len(_EXTENSION) > _LENGTH_MAX:
        mark = short_hash([group, kind, namespace, name])
        stem = f"{stem[: _LENGTH_MAX - len(_EXTENSION) - len(mark) - 1]}-{mark}"
    return stem + _EXTENSION


def _encoded(part: str) -> str:
    return part if _ORDINARY.fullmatch(part) else quote(part, safe="").replace("~", "%7E")
