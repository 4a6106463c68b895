"""LocalQueue (kueue.x-k8s.io/v1beta2), as in Kueue v0.19.2."""

from typing import ClassVar, Literal

from trainshed.api.base import KubernetesObject, Model
from trainshed.api.kueue.fair_sharing import FairSharing
from trainshed.api.types import DnsSubdomain


class LocalQueueSpec(Model):
    """The ClusterQueue behind a LocalQueue. Kueue accepts one without `cluster_queue` and never admits from it."""

    cluster_queue: DnsSubdomain | None = None
    stop_policy: Literal["None", "Hold", "HoldAndDrain"] | None = None
    fair_sharing: FairSharing | None = None


class LocalQueue(KubernetesObject):
    """A namespace's way into a ClusterQueue. To move it to another ClusterQueue, delete it and create it anew."""

    namespaced: ClassVar[bool] = True
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("spec.clusterQueue",)

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["LocalQueue"] = "LocalQueue"
    spec: LocalQueueSpec | None = None
