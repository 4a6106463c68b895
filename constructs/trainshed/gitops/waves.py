"""Argo CD sync waves and sync options, by kind.

Argo CD orders one wave by kind and then by name, keyed by Kind alone, so custom resources with references between them
need explicit waves (argo-cd 3.5, `gitops-engine/pkg/sync/sync_tasks.go`). Workloads come last: a Kueue-held Job reports
Suspended, for which a sync waits for ever (argo-cd#10600). Pruning runs through the waves in reverse.
"""

from __future__ import annotations

from typing import Final

WAVE_ANNOTATION: Final = "argocd.argoproj.io/sync-wave"
OPTIONS_ANNOTATION: Final = "argocd.argoproj.io/sync-options"

Kind = tuple[str, str]

_KUEUE: Final = "kueue.x-k8s.io"
_VOLCANO: Final = "scheduling.volcano.sh"
_TRAINER: Final = "trainer.kubeflow.org"
_RBAC: Final = "rbac.authorization.k8s.io"

#: Kinds that are not listed are workloads or what belongs to one.
WAVES: Final[dict[Kind, int]] = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): -50,
    ("", "Namespace"): -40,
    ("scheduling.k8s.io", "PriorityClass"): -35,
    (_KUEUE, "WorkloadPriorityClass"): -35,
    (_KUEUE, "Topology"): -31,
    (_KUEUE, "ResourceFlavor"): -30,
    (_KUEUE, "MultiKueueCluster"): -29,
    (_KUEUE, "MultiKueueConfig"): -28,
    (_KUEUE, "ProvisioningRequestConfig"): -28,
    (_KUEUE, "AdmissionCheck"): -27,
    (_KUEUE, "Cohort"): -25,
    (_KUEUE, "ClusterQueue"): -20,
    (_VOLCANO, "Queue"): -20,
    ("argoproj.io", "AppProject"): -15,
    ("", "ConfigMap"): -12,
    ("", "Secret"): -12,
    ("", "ServiceAccount"): -12,
    (_KUEUE, "LocalQueue"): -10,
    ("", "LimitRange"): -10,
    ("", "ResourceQuota"): -10,
    (_RBAC, "ClusterRole"): -10,
    (_RBAC, "ClusterRoleBinding"): -10,
    (_RBAC, "Role"): -10,
    (_RBAC, "RoleBinding"): -9,
    ("networking.k8s.io", "NetworkPolicy"): -10,
    ("", "PersistentVolumeClaim"): -8,
    ("", "Service"): -6,
    (_TRAINER, "ClusterTrainingRuntime"): -5,
    (_TRAINER, "TrainingRuntime"): -5,
    (_VOLCANO, "PodGroup"): -5,
}
WORKLOAD_WAVE: Final = 10

_MISSING_CRD: Final = "SkipDryRunOnMissingResource=true"
_KEEP_UNTIL_CONFIRMED: Final = ("Prune=confirm",)

#: Deleting one of these by a mistaken commit would kill what runs, or leave what waits in a queue waiting for ever:
#: Argo CD asks first, and prunes what others stand on last.
_OPTIONS: Final[dict[Kind, tuple[str, ...]]] = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): ("Prune=false", "ServerSideApply=true"),
    ("", "Namespace"): ("Delete=confirm", "Prune=confirm"),
    ("", "PersistentVolumeClaim"): ("Delete=confirm", "Prune=confirm"),
    (_KUEUE, "ClusterQueue"): ("Prune=confirm", "PruneLast=true"),
    (_KUEUE, "Cohort"): ("Prune=confirm", "PruneLast=true"),
    (_KUEUE, "ResourceFlavor"): ("Prune=confirm", "PruneLast=true"),
    (_KUEUE, "LocalQueue"): _KEEP_UNTIL_CONFIRMED,
    (_VOLCANO, "Queue"): ("Prune=confirm", "PruneLast=true"),
    ("batch", "Job"): _KEEP_UNTIL_CONFIRMED,
    ("jobset.x-k8s.io", "JobSet"): _KEEP_UNTIL_CONFIRMED,
    (_TRAINER, "TrainJob"): _KEEP_UNTIL_CONFIRMED,
    ("batch.volcano.sh", "Job"): _KEEP_UNTIL_CONFIRMED,
}

#: Groups that every API server serves; anything else is a custom resource, whose CRD another Application may bring.
_BUILT_IN: Final = frozenset(
    {
        "",
        "apps",
        "autoscaling",
        "batch",
        "policy",
        "apiextensions.k8s.io",
        "networking.k8s.io",
        "scheduling.k8s.io",
        _RBAC,
    }
)


def wave(group: str, kind: str) -> int:
    """The sync wave of a kind; workloads and unknown kinds go last."""
    return WAVES.get((group, kind), WORKLOAD_WAVE)


def sync_options(group: str, kind: str) -> str:
    """The sync options of a kind as the annotation spells them, sorted; empty when it needs none."""
    options = _OPTIONS.get((group, kind), ())
    if group not in _BUILT_IN:
        options = (*options, _MISSING_CRD)
    return ",".join(sorted(options))
