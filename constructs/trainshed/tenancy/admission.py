"""Components for what Kueue asks beyond quota: admission checks, provisioning requests, other clusters; and the two
kinds below a NodePool, for pools that `NodePool` cannot describe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from constructs import Construct

from trainshed.api import kueue as api
from trainshed.api.base import Broken, KubernetesObject, ObjectMeta
from trainshed.api.types import DnsSubdomain, LabelKey, Str
from trainshed.gitops.component import Component
from trainshed.tenancy.external import External, name_of
from trainshed.tenancy.shares import ResourceName

_GROUP = "kueue.x-k8s.io"


class ResourceFlavor(Component):
    """A flavor written field by field. `NodePool` makes one with its capacity, which checks can use."""

    def __init__(self, scope: Construct, id: DnsSubdomain, spec: api.ResourceFlavorSpec | None = None) -> None:
        super().__init__(scope, id)
        self.name = id
        self.spec = spec or api.ResourceFlavorSpec()

    def render(self) -> Iterable[KubernetesObject]:
        """One ResourceFlavor."""
        yield api.ResourceFlavor(metadata=ObjectMeta(name=self.name), spec=self.spec)


class Topology(Component):
    """Levels of the data centre as node labels, widest first. They cannot be changed later: make a new one."""

    def __init__(self, scope: Construct, id: DnsSubdomain, *, levels: Sequence[LabelKey]) -> None:
        super().__init__(scope, id)
        self.name = id
        self.levels = list(levels)

    def render(self) -> Iterable[KubernetesObject]:
        """One Topology."""
        levels = [api.TopologyLevel(node_label=label) for label in self.levels]
        yield api.Topology(metadata=ObjectMeta(name=self.name), spec=api.TopologySpec(levels=levels))


class ProvisioningRequestConfig(Component):
    """How nodes are asked for before a workload is admitted."""

    def __init__(
        self,
        scope: Construct,
        id: DnsSubdomain,
        *,
        provisioning_class: Str,
        parameters: Mapping[str, Str] | None = None,
        managed_resources: Sequence[ResourceName] = (),
        retry: api.ProvisioningRequestRetryStrategy | None = None,
        pod_set_updates: api.PodSetUpdates | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.name = id
        self.provisioning_class = provisioning_class
        self.parameters = dict(parameters or {})
        self.managed_resources = list(managed_resources)
        self.retry = retry
        self.pod_set_updates = pod_set_updates

    def render(self) -> Iterable[KubernetesObject]:
        """One ProvisioningRequestConfig."""
        yield api.ProvisioningRequestConfig(
            metadata=ObjectMeta(name=self.name),
            spec=api.ProvisioningRequestConfigSpec(
                provisioning_class_name=self.provisioning_class,
                parameters=self.parameters or None,
                managed_resources=self.managed_resources or None,
                retry_strategy=self.retry,
                pod_set_updates=self.pod_set_updates,
            ),
        )


class MultiKueueCluster(Component):
    """A worker cluster, reached with the kubeconfig in a Secret of Kueue's namespace (key `kubeconfig`)."""

    def __init__(self, scope: Construct, id: DnsSubdomain, *, kubeconfig_secret: Str) -> None:
        super().__init__(scope, id)
        self.name = id
        self.kubeconfig_secret = kubeconfig_secret

    def render(self) -> Iterable[KubernetesObject]:
        """One MultiKueueCluster."""
        source = api.ClusterSource(kube_config=api.KubeConfig(location=self.kubeconfig_secret, location_type="Secret"))
        yield api.MultiKueueCluster(
            metadata=ObjectMeta(name=self.name), spec=api.MultiKueueClusterSpec(cluster_source=source)
        )


class MultiKueueConfig(Component):
    """The worker clusters that workloads may be sent to."""

    def __init__(self, scope: Construct, id: DnsSubdomain, *, clusters: Sequence[MultiKueueCluster | External]) -> None:
        super().__init__(scope, id)
        self.name = id
        self.clusters = list(clusters)

    def render(self) -> Iterable[KubernetesObject]:
        """One MultiKueueConfig."""
        spec = api.MultiKueueConfigSpec(clusters=[name_of(cluster) for cluster in self.clusters])
        yield api.MultiKueueConfig(metadata=ObjectMeta(name=self.name), spec=spec)


class AdmissionCheck(Component):
    """A condition that a ClusterQueue asks for besides quota.

    `uses` is a ProvisioningRequestConfig or MultiKueueConfig, which also tells the controller; for another controller
    give its name as `controller`, and `parameters` if it has some.
    """

    def __init__(
        self,
        scope: Construct,
        id: DnsSubdomain,
        *,
        uses: ProvisioningRequestConfig | MultiKueueConfig | None = None,
        controller: Str | None = None,
        parameters: api.AdmissionCheckParametersReference | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.name = id
        self.controller = controller
        self.parameters = parameters
        if uses is not None:
            many = isinstance(uses, MultiKueueConfig)
            self.controller = api.MULTIKUEUE_CONTROLLER if many else api.PROVISIONING_CONTROLLER
            kind = "MultiKueueConfig" if many else "ProvisioningRequestConfig"
            self.parameters = api.AdmissionCheckParametersReference(api_group=_GROUP, kind=kind, name=uses.name)
        if (uses is None) == (controller is None):
            self.spoil([Broken("uses", "is needed, or controller, and not both", "pass one of them")])

    def render(self) -> Iterable[KubernetesObject]:
        """One AdmissionCheck."""
        spec = api.AdmissionCheckSpec(controller_name=self.controller or "", parameters=self.parameters)
        yield api.AdmissionCheck(metadata=ObjectMeta(name=self.name), spec=spec)
