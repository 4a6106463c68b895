"""Jobs with replica specs: Kubeflow's PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob and MPIJob."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from trainshed.fleet.access import Node, mapping
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.workloads.at import At, counted

#: Who comes first among the pod sets (training-operator v1.9, `GetPodSets` order in Kueue's kubeflowjob).
_FIRST: Final = ("master", "chief", "launcher", "ps")


def replica_job(field: str, *, workers: int = 1) -> Callable[[At], Workload]:
    """The function for a kind whose replica specs stand in `spec.<field>`, with so many `workers` by default."""

    def read(at: At) -> Workload:
        specs = mapping(at.manifest, "spec", field)
        pod_sets = [
            _replicas(at, field, role, spec, workers if role.lower() == "worker" else 1)
            for role, spec in specs.items()
            if isinstance(role, str) and isinstance(spec, dict)
        ]
        pod_sets.sort(key=lambda pod_set: _FIRST.index(pod_set.name) if pod_set.name in _FIRST else len(_FIRST))
        return at.workload(field.removesuffix("ReplicaSpecs"), pod_sets)

    return read


def _replicas(at: At, field: str, role: str, spec: Node, default: int) -> PodSet:
    place = ("spec", field, role)
    return at.pod_set(
        role.lower(),
        counted(spec, "replicas", default),
        *place,
        "template",
        count_path=(*place, "replicas"),
        item=spec,
        item_path=at.path + place,
    )
