"""SparkApplication (sparkoperator.k8s.io/v1beta2): a driver and its executors, from fields instead of pod templates.

spark-operator v2.3 `api/v1beta2`, Spark 3.5 `KubernetesConf` (memory overhead).
"""

from __future__ import annotations

import re
from typing import Any, Final

from trainshed.fleet.access import Node, items, mapping, strings, text
from trainshed.fleet.amounts import quantity
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.workloads.at import At, counted

_MEMORY: Final = re.compile(r"([0-9]{1,15})([kmgt]?)b?", re.IGNORECASE | re.ASCII)
_MIB: Final = {"k": 1 / 1024, "m": 1, "": 1, "g": 1024, "t": 1024 * 1024}
_LEAST_OVERHEAD: Final = 384
_POD_FIELDS: Final = ("nodeSelector", "tolerations", "affinity", "serviceAccountName", "schedulerName", "hostNetwork")


def spark_application(at: At) -> Workload:
    """A SparkApplication: `driver` and `executor` times instances."""
    executors = counted(mapping(at.manifest, "spec", "executor"), "instances")
    pod_sets = [_role(at, "driver", 1, ()), _role(at, "executor", executors, ("instances",))]
    return at.workload("SparkApplication", pod_sets)


def _role(at: At, role: str, count: int, count_path: Path) -> PodSet:
    place: Path = ("spec", role)
    settings = mapping(at.manifest, *place)
    template = mapping(settings, "template")
    pod_set = at.pod_set(
        role, count, *place, "template", count_path=(*place, *count_path), item=settings, item_path=at.path + place
    )
    containers = items(template, "spec", "containers")
    first = containers[0] if containers and isinstance(containers[0], dict) else {"name": f"spark-kubernetes-{role}"}
    first = {**first, "resources": _resources(at, settings)}
    for field in ("image", "env", "volumeMounts"):
        if settings.get(field):
            first[field] = settings[field]
    spec: Node = {**mapping(template, "spec"), "containers": [first, *containers[1:]]}
    spec |= {field: settings[field] for field in _POD_FIELDS if settings.get(field)}
    if scheduler := text(at.manifest, "spec", "batchScheduler"):
        spec.setdefault("schedulerName", scheduler)
    metadata: Node = {
        field: {**strings(template, "metadata", field), **strings(settings, field)}
        for field in ("labels", "annotations")
    }
    pod_set.rewrite({"metadata": metadata, "spec": spec})
    source = (at.document, (*at.path, *place))
    pod_set.origins = {("spec", "containers", 0): source, ("metadata",): source}
    pod_set.origins |= {
        ("spec", field): (source[0], (*source[1], field)) for field in _POD_FIELDS if settings.get(field)
    }
    return pod_set


def _resources(at: At, settings: Node) -> Node:
    requests: dict[str, Any] = {"cpu": settings.get("coreRequest") or settings.get("cores") or 1}
    limits: dict[str, Any] = {}
    memory = _mebibytes(settings.get("memory", "1g"))
    if memory is not None:
        factor = quantity(mapping(at.manifest, "spec").get("memoryOverheadFactor")) or quantity("0.1")
        overhead = _mebibytes(settings.get("memoryOverhead"))
        if overhead is None:
            overhead = max(int(memory * factor.value), _LEAST_OVERHEAD) if factor else _LEAST_OVERHEAD
        requests["memory"] = limits["memory"] = f"{memory + overhead}Mi"
    gpu = mapping(settings, "gpu")
    if text(gpu, "name"):
        requests[text(gpu, "name")] = limits[text(gpu, "name")] = gpu.get("quantity")
    return {"requests": requests, "limits": limits}


def _mebibytes(value: Any) -> int | None:
    """A Java size: `4g` is 4 GiB, a number without a unit counts MiB."""
    match = _MEMORY.fullmatch(value) if isinstance(value, str) else None
    return int(int(match[1]) * _MIB[match[2].lower()]) if match else None
