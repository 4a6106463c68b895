"""Sync waves and options: what must exist first comes first, what kills runs asks first (argocd.md B.3, B.4)."""

from __future__ import annotations

import pytest

from trainshed.gitops.waves import sync_options, wave

KUEUE = "kueue.x-k8s.io"


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (("apiextensions.k8s.io", "CustomResourceDefinition"), ("", "Namespace")),
        (("", "Namespace"), (KUEUE, "LocalQueue")),
        ((KUEUE, "Topology"), (KUEUE, "ResourceFlavor")),
        ((KUEUE, "MultiKueueCluster"), (KUEUE, "MultiKueueConfig")),
        ((KUEUE, "MultiKueueConfig"), (KUEUE, "AdmissionCheck")),
        ((KUEUE, "ProvisioningRequestConfig"), (KUEUE, "AdmissionCheck")),
        ((KUEUE, "ResourceFlavor"), (KUEUE, "ClusterQueue")),
        ((KUEUE, "AdmissionCheck"), (KUEUE, "ClusterQueue")),
        ((KUEUE, "Cohort"), (KUEUE, "ClusterQueue")),
        ((KUEUE, "ClusterQueue"), (KUEUE, "LocalQueue")),
        (("rbac.authorization.k8s.io", "Role"), ("rbac.authorization.k8s.io", "RoleBinding")),
        (("", "ServiceAccount"), ("rbac.authorization.k8s.io", "RoleBinding")),
        ((KUEUE, "LocalQueue"), ("trainer.kubeflow.org", "TrainingRuntime")),
        (("trainer.kubeflow.org", "TrainingRuntime"), ("trainer.kubeflow.org", "TrainJob")),
        (("", "Service"), ("batch", "Job")),
        (("scheduling.volcano.sh", "Queue"), ("batch.volcano.sh", "Job")),
        (("argoproj.io", "AppProject"), ("argoproj.io", "Application")),
        ((KUEUE, "WorkloadPriorityClass"), ("jobset.x-k8s.io", "JobSet")),
    ],
)
def test_what_is_needed_comes_first(earlier: tuple[str, str], later: tuple[str, str]) -> None:
    assert wave(*earlier) < wave(*later)


def test_workloads_are_in_the_last_wave() -> None:
    """A queued Job reports Suspended, for which a sync waits for ever unless nothing comes after it (argo-cd#10600)."""
    workloads = {wave(*pair) for pair in [("batch", "Job"), ("jobset.x-k8s.io", "JobSet"), ("batch.volcano.sh", "Job")]}
    assert workloads == {10}
    assert wave("ray.io", "RayJob") == 10


@pytest.mark.parametrize(
    ("pair", "options"),
    [
        (("", "ConfigMap"), ""),
        (("", "Namespace"), "Delete=confirm,Prune=confirm"),
        (("", "PersistentVolumeClaim"), "Delete=confirm,Prune=confirm"),
        (("batch", "Job"), "Prune=confirm"),
        (("apiextensions.k8s.io", "CustomResourceDefinition"), "Prune=false,ServerSideApply=true"),
        ((KUEUE, "LocalQueue"), "Prune=confirm,SkipDryRunOnMissingResource=true"),
        ((KUEUE, "ClusterQueue"), "Prune=confirm,PruneLast=true,SkipDryRunOnMissingResource=true"),
        (("scheduling.volcano.sh", "Queue"), "Prune=confirm,PruneLast=true,SkipDryRunOnMissingResource=true"),
        (("trainer.kubeflow.org", "TrainJob"), "Prune=confirm,SkipDryRunOnMissingResource=true"),
    ],
)
def test_options(pair: tuple[str, str], options: str) -> None:
    assert sync_options(*pair) == options
