"""Which class models which kind. Looking one up imports its module; importing this module imports none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal

from trainshed.api.base import KubernetesObject

Scope = Literal["Namespaced", "Cluster"]

_MODULES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "v1": {
        "core.configmap": ("ConfigMap",),
        "core.limit_range": ("LimitRange",),
        "core.namespace": ("Namespace",),
        "core.quota": ("ResourceQuota",),
        "core.service": ("Service",),
        "core.service_account": ("ServiceAccount",),
        "core.volume_claim": ("PersistentVolumeClaim",),
    },
    "batch/v1": {"batch": ("CronJob", "Job")},
    "networking.k8s.io/v1": {"networking": ("NetworkPolicy",)},
    "rbac.authorization.k8s.io/v1": {"rbac": ("Role", "RoleBinding")},
    "scheduling.k8s.io/v1": {"scheduling": ("PriorityClass",)},
    "kueue.x-k8s.io/v1beta2": {
        "kueue": (
            "AdmissionCheck",
            "ClusterQueue",
            "Cohort",
            "LocalQueue",
            "MultiKueueCluster",
            "MultiKueueConfig",
            "ProvisioningRequestConfig",
            "ResourceFlavor",
            "Topology",
            "WorkloadPriorityClass",
        ),
    },
    "batch.volcano.sh/v1alpha1": {"volcano": ("CronJob", "Job")},
    "scheduling.volcano.sh/v1beta1": {"volcano": ("PodGroup", "Queue")},
    "leaderworkerset.x-k8s.io/v1": {"lws": ("LeaderWorkerSet",)},
    "scheduling.run.ai/v2": {"kai": ("Queue",)},
    "scheduling.run.ai/v2alpha2": {"kai": ("PodGroup",)},
    "kai.scheduler/v1alpha1": {"kai": ("Topology",)},
    "jobset.x-k8s.io/v1alpha2": {"jobset": ("JobSet",)},
    "trainer.kubeflow.org/v1alpha1": {"trainer": ("ClusterTrainingRuntime", "TrainJob", "TrainingRuntime")},
    "argoproj.io/v1alpha1": {"argocd": ("AppProject", "Application", "ApplicationSet")},
}

#: `(apiVersion, kind)` to `module:Class`.
ENTRIES: Final[dict[tuple[str, str], str]] = {
    (api_version, kind): f"trainshed.api.{module}:{kind}"
    for api_version, modules in _MODULES.items()
    for module, kinds in modules.items()
    for kind in kinds
}

#: Every modelled `(apiVersion, kind)`.
KINDS: Final[tuple[tuple[str, str], ...]] = tuple(ENTRIES)


@cache
def model_for(api_version: str, kind: str) -> type[KubernetesObject] | None:
    """The class for a kind at a version, or None when there is none."""
    entry = ENTRIES.get((api_version, kind))
    if entry is None:
        return None
    module, _, name = entry.partition(":")
    model: type[KubernetesObject] = getattr(import_module(module), name)
    return model


def scope_of(api_version: str, kind: str) -> Scope | None:
    """Whether objects of a kind live in namespaces, or None when the kind is not modelled."""
    model = model_for(api_version, kind)
    if model is None:
        return None
    return "Namespaced" if model.namespaced else "Cluster"


def parse_manifest(manifest: Mapping[str, Any]) -> KubernetesObject | None:
    """The object that `manifest` describes, or None for a kind that is not modelled.

    Raises pydantic.ValidationError when the manifest does not fit its kind.
    """
    api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    model = model_for(api_version, kind)
    return None if model is None else model.parse(manifest)
