"""A tenant: namespaces, owners, and a share of the hardware, said in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from constructs import Construct
from pydantic import ValidationError

from trainshed.api.base import KubernetesObject
from trainshed.api.explain import faults_of
from trainshed.faults import Fault, nearest
from trainshed.gitops.application import Access
from trainshed.quantity import Quantity
from trainshed.tenancy.external import External, name_of, same_cluster
from trainshed.tenancy.kueue import Cohort
from trainshed.tenancy.pool import Claimant, NodePool
from trainshed.tenancy.queue_ref import QueueRef
from trainshed.tenancy.shares import Resources, Share
from trainshed.tenancy.spec import PodSecurity, TenantSpec, WorkloadKind
from trainshed.tenancy.tenant_objects import allowed_kinds, tenant_objects
from trainshed.tenancy.tiers import TIERS, declared_classes, ensure_tier


class Tenant(Claimant):
    """Namespaces with Pod Security labels, a ClusterQueue in its cohort, a LocalQueue in each namespace, RBAC for the
    owners, and a LimitRange; all in the application `platform`. Its runs go to the application of its own name, which
    Argo CD keeps to the tenant's namespaces and workload kinds.

    Amounts are per node pool: `nodes(3)`, or `resources(cpu=96, …)`. See `TenantSpec` for each argument's meaning.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        namespaces: Sequence[str],
        guarantee: Mapping[NodePool, Share],
        owners: Sequence[str] = (),
        cohort: Cohort | External | None = None,
        borrow: Mapping[NodePool, Share | Literal["unlimited"]] | None = None,
        lend: Literal["all", "none"] | Mapping[NodePool, Share] = "all",
        priority: str | None = None,
        workload_kinds: Sequence[WorkloadKind] = ("TrainJob", "JobSet", "Job"),
        pod_security: PodSecurity = "restricted",
        container_defaults: Mapping[str, str | int | Quantity] | None = None,
        cluster_queue: str | None = None,
        local_queue: str | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.spec: TenantSpec | None = None
        self.namespaces = list(namespaces)
        self.per_node: dict[str, Resources] = {}
        self.guaranteed: dict[str, Resources] = {}
        same_cluster(self, cohort, "cohort")
        given: dict[str, Any] = {
            "namespaces": self.namespaces,
            "guarantee": self._by_name(guarantee, "guarantee"),
            "owners": list(owners),
            "cohort": name_of(cohort) if cohort else None,
            "borrow": self._by_name(borrow or {}, "borrow"),
            "lend": lend if isinstance(lend, str) else self._by_name(lend, "lend"),
            "priority": priority,
            "workload_kinds": list(workload_kinds),
            "pod_security": pod_security,
            "cluster_queue": cluster_queue,
            "local_queue": local_queue,
        }
        if container_defaults is not None:
            given["container_defaults"] = dict(container_defaults)
        self._adopt(given)

    @property
    def name(self) -> str:
        """The tenant's name: its id."""
        return self.id

    def queue(self, namespace: str) -> QueueRef:
        """The tenant's LocalQueue in one of its namespaces, for a run to be submitted to."""
        if namespace not in self.namespaces:
            hint = nearest(namespace, self.namespaces) or f"its namespaces are {', '.join(self.namespaces)}"
            self.fault(f'has no namespace "{namespace}"', field="queue", fix=hint)
        local_queue = (self.spec and self.spec.local_queue) or self.id
        return QueueRef(local_queue, namespace, self, self.id, self.spec.priority if self.spec else None)

    def home(self) -> str:
        """Tenancy objects stand in `platform`: whoever may write them decides on quota."""
        return self.default_application

    def claims(self) -> Mapping[str, Resources]:
        """What is guaranteed, by pool."""
        return self.guaranteed

    def validate(self) -> Iterable[Fault]:
        """The priority is a tier or a WorkloadPriorityClass of the cluster."""
        priority = self.spec.priority if self.spec else None
        if priority and priority not in (known := declared_classes(self.cluster)):
            choices = sorted({*known, *TIERS})
            hint = nearest(priority, choices) or f"the cluster has {', '.join(choices)}"
            yield Fault(f'"{priority}" is no WorkloadPriorityClass', self.title, "priority", hint, self.place)

    def render(self) -> Iterable[KubernetesObject]:
        """Everything of the tenant but its runs."""
        if self.spec is not None:
            yield from tenant_objects(self.id, self.spec, self.per_node)

    def _adopt(self, given: dict[str, Any]) -> None:
        try:
            self.spec = TenantSpec.model_validate(given)
        except ValidationError as error:
            for fault in faults_of(error, object=self.title, place=self.place, model=TenantSpec):
                self.cluster.report(fault)
            return
        self.guaranteed = {pool: share.of(self.per_node[pool]) for pool, share in self.spec.guarantee.items()}
        self.cluster.application(self.id, Access(list(self.spec.namespaces), allowed_kinds(self.spec)))
        if self.spec.priority:
            ensure_tier(self, self.spec.priority)

    def _by_name(self, shares: Mapping[NodePool, Any], field: str) -> dict[str, Any]:
        for pool in shares:
            same_cluster(self, pool, field)
            self.per_node[pool.name] = pool.per_node
        return {pool.name: share for pool, share in shares.items()}
