"""Names that controllers derive from an object's name, for kinds whose admission does not check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.addresses import name_of
from trainshed.fleet.workload import Workload
from trainshed.naming import LABEL_MAX, dns1035_label_error

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "names"
_KUBEFLOW: Final = frozenset({"PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"})
#: KubeRay v1.4, `ray-operator/controllers/ray/utils/constant.go`: names that are refused beyond this.
_RAY: Final = {"RayCluster": 53, "RayJob": 47, "RayService": 47}
_REVISION: Final = 11


@rule("names-derived-too-long", severity="error", family=FAMILY)
def derived_too_long(fleet: Fleet) -> Iterator[Issue]:
    """An object's name is too long for the names that are made from it.

    Why: Pods, Services and labels get names such as `<job>-worker-15`, at most 63 characters. Kubeflow's jobs make a
    Service for each pod; a StatefulSet labels its pods with its name and a hash of 10 characters; KubeRay refuses
    RayClusters beyond 53 and RayJobs beyond 47 characters. The object itself is accepted up to 253.
    Fix: Shorten the name.
    """
    for workload in fleet.workloads:
        name = name_of(workload)
        if not name or workload.document.generated or workload.path:
            continue
        for message in _errors(workload, name):
            yield Issue(workload.document, ("metadata", "name"), message, "shorten the name")


def _errors(workload: Workload, name: str) -> Iterator[str]:
    kind = workload.kind
    if kind in _KUBEFLOW:
        longest = ""
        for pod_set in workload.pod_sets:
            launcher = kind == "MPIJob" and pod_set.name == "launcher"
            made = f"{name}-{pod_set.name}" if launcher else f"{name}-{pod_set.name}-{max(pod_set.count - 1, 0)}"
            longest = max(longest, made, key=len)
        if len(longest) > LABEL_MAX:
            over = len(longest) - LABEL_MAX
            yield f'its pod "{longest}" has {len(longest)} characters, {over} more than the {LABEL_MAX} allowed'
        elif kind != "MPIJob" and longest and dns1035_label_error(name):
            yield f'its Services begin with "{name}", and a Service\'s name begins with a letter'
    elif kind == "StatefulSet" and len(name) + _REVISION > LABEL_MAX:
        most = LABEL_MAX - _REVISION
        yield f"it has {len(name)} characters; with the hash of its pods' label at most {most} are allowed"
    elif kind in _RAY and len(name) > _RAY[kind]:
        yield f"it has {len(name)} characters, and KubeRay allows {_RAY[kind]} for a {kind}"
