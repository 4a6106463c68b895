"""MultiKueueConfig and MultiKueueCluster (kueue.x-k8s.io/v1beta2), as in Kueue v0.19.2."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.types import Str


class MultiKueueConfigSpec(Model):
    """The worker clusters, by the names of their MultiKueueClusters; the incremental dispatcher takes them in order.

    `quota_management: Automated` works with the alpha gate MultiKueueManagerQuotaAutomation only.
    """

    clusters: Annotated[list[Annotated[Str, Field(max_length=256)]], Field(min_length=1, max_length=20)]
    quota_management: Literal["Manual", "Automated"] | None = None

    def rules(self) -> Iterator[Broken]:
        """CRD rule on clusters: no cluster twice."""
        for index, name in enumerate(self.clusters):
            if name in self.clusters[:index]:
                yield Broken(f"clusters[{index}]", f'"{name}" is listed already', "list each cluster once")


class MultiKueueConfig(KubernetesObject):
    """Parameters of an AdmissionCheck with the controller `kueue.x-k8s.io/multikueue`."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ()

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["MultiKueueConfig"] = "MultiKueueConfig"
    spec: MultiKueueConfigSpec | None = None


class KubeConfig(Model):
    """Where the kubeconfig is: the name of a Secret in Kueue's namespace (default; key `kubeconfig`), or a path."""

    location: Annotated[Str, Field(min_length=1, max_length=256)]
    location_type: Literal["Secret", "Path"] | None = None


class ClusterProfileReference(Model):
    """A ClusterProfile of the cluster inventory, in Kueue's namespace."""

    name: Annotated[Str, Field(min_length=1, max_length=256)]


class ClusterSource(Model):
    """How to reach the worker cluster."""

    kube_config: KubeConfig | None = None
    cluster_profile_ref: ClusterProfileReference | None = None

    def rules(self) -> Iterator[Broken]:
        """CRD rule on clusterSource: exactly one of the two."""
        if self.kube_config is not None and self.cluster_profile_ref is not None:
            yield Broken("", "has both kubeConfig and clusterProfileRef", "keep one of them")
        if self.kube_config is None and self.cluster_profile_ref is None:
            yield Broken("", "has neither kubeConfig nor clusterProfileRef", "add one of them")


class MultiKueueClusterSpec(Model):
    """One worker cluster."""

    cluster_source: ClusterSource


class MultiKueueCluster(KubernetesObject):
    """A worker cluster that MultiKueue can send workloads to."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ()

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["MultiKueueCluster"] = "MultiKueueCluster"
    spec: MultiKueueClusterSpec | None = None
