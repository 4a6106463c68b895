"""Names that the write half gives to things of its own."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

#: Anything but nothing: what is wrong with a name is told together with the rest, but jsii makes nothing without one.
Name = Annotated[str, Field(min_length=1, max_length=1000)]

#: The application that holds cluster-scoped and tenancy objects, and the one that holds Argo CD's own.
PLATFORM: Final = "platform"
ARGOCD: Final = "argocd"
#: The one that takes runs of queues that are no tenant's.
RUNS: Final = "runs"

#: Declared size of a node pool, on its ResourceFlavor: JSON `{"nodes": n, "perNode": {resource: quantity}}`.
CAPACITY_ANNOTATION: Final = "trainshed.dev/capacity"

#: Kinds that an application may hold unless said otherwise: runs and what belongs to them. LocalQueue,
#: ResourceQuota and RoleBinding are left out on purpose: who can make a LocalQueue chooses the quota it draws on.
WORKLOAD_KINDS: Final[tuple[tuple[str, str], ...]] = (
    ("", "ConfigMap"),
    ("", "PersistentVolumeClaim"),
    ("", "Service"),
    ("batch", "CronJob"),
    ("batch", "Job"),
    ("batch.volcano.sh", "Job"),
    ("jobset.x-k8s.io", "JobSet"),
    ("trainer.kubeflow.org", "TrainJob"),
    ("trainer.kubeflow.org", "TrainingRuntime"),
)
