"""Pod templates and whole objects inside kinds that have no model here: their parts do have one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel

from trainshed.api.registry import model_for
from trainshed.fleet.access import dig, mapping, mappings
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

_TEMPLATE: Final = ("spec", "template")
_RAY: Final = (("headGroupSpec", "template"), ("workerGroupSpecs", "*", "template"))
_KUBEFLOW: Final = {
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}

#: Where the pod templates of a (group, kind) stand; `*` is every item or every value.
_PATHS: Final[dict[tuple[str, str], tuple[Path, ...]]] = {
    **{("apps", kind): (_TEMPLATE,) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")},
    ("", "ReplicationController"): (_TEMPLATE,),
    **{("kubeflow.org", kind): (("spec", field, "*", "template"),) for kind, field in _KUBEFLOW.items()},
    ("ray.io", "RayCluster"): tuple(("spec", *path) for path in _RAY),
    ("ray.io", "RayJob"): (
        *(("spec", "rayClusterSpec", *path) for path in _RAY),
        ("spec", "submitterPodTemplate"),
    ),
    ("ray.io", "RayService"): tuple(("spec", "rayClusterConfig", *path) for path in _RAY),
    ("flow.volcano.sh", "JobTemplate"): (("spec", "tasks", "*", "template"),),
}


def modelled_parts(document: Document) -> Iterator[tuple[Path, type[BaseModel], dict[str, Any]]]:
    """(path, model, data) of each part of `document` that has a model while the whole has none."""
    key = (document.group, document.kind)
    if key == ("", "Pod"):
        from trainshed.api.core.pod import PodSpec

        yield ("spec",), PodSpec, mapping(document.manifest, "spec")
    elif key in _PATHS:
        from trainshed.api.core.pod import PodTemplateSpec

        for pattern in _PATHS[key]:
            for path in _matches(document.manifest, pattern, ()):
                data = dig(document.manifest, *path)
                if isinstance(data, dict):
                    yield path, PodTemplateSpec, data
    elif key == ("workload.codeflare.dev", "AppWrapper"):
        for index, component in mappings(document.manifest, "spec", "components"):
            data = mapping(component, "template")
            api_version, kind = data.get("apiVersion"), data.get("kind")
            if isinstance(api_version, str) and isinstance(kind, str) and (model := model_for(api_version, kind)):
                yield ("spec", "components", index, "template"), model, data


def _matches(node: Any, pattern: Path, start: Path) -> Iterator[Path]:
    if not pattern:
        yield start
        return
    if pattern[0] != "*":
        if isinstance(node, dict) and pattern[0] in node:
            yield from _matches(node[pattern[0]], pattern[1:], (*start, pattern[0]))
    elif isinstance(node, dict):
        for key, child in node.items():
            yield from _matches(child, pattern[1:], (*start, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _matches(child, pattern[1:], (*start, index))
