"""A tenant: namespaces, owners, and a share of the hardware, said in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from constructs import Construct
from pydantic import Field, ValidationError

from trainshed.api.base import KubernetesObject
from trainshed.api.explain import faults_of
from trainshed.api.explain_words import shown
from trainshed.api.kueue import ClusterQueuePreemption
from trainshed.api.types import DnsLabel, DnsSubdomain, LabelValue, unique
from trainshed.faults import Fault, nearest
from trainshed.gitops.application import Access
from trainshed.gitops.keys import NamespaceLabel
from trainshed.gitops.names import ARGOCD, PLATFORM, RUNS
from trainshed.gitops.values import calling_place
from trainshed.tenancy.admission import AdmissionCheck
from trainshed.tenancy.external import External, name_of
from trainshed.tenancy.kueue import Cohort, StopPolicy
from trainshed.tenancy.pool import Claimant, NodePool
from trainshed.tenancy.queue_ref import QueueRef
from trainshed.tenancy.references import lendable
from trainshed.tenancy.shares import Amount, ResourceName, Resources, Share
from trainshed.tenancy.spec import Owner, PodSecurity, QueueingStrategy, TenantSpec, WorkloadKind
from trainshed.tenancy.tenant_objects import allowed_kinds, tenant_objects
from trainshed.tenancy.tiers import TIERS, declared_classes, ensure_tier

#: Applications that are not a tenant's: a tenant of that name would get their rights, or lose them theirs.
RESERVED: Final = (PLATFORM, ARGOCD, RUNS)


class Tenant(Claimant):
    """Namespaces with Pod Security labels, a ClusterQueue in its cohort, a LocalQueue in each namespace, RBAC for its
    owners if it has some, and a LimitRange; all in the application `platform`. Its runs go to the application of its
    own name, which Argo CD keeps to the tenant's namespaces and workload kinds.

    Amounts are per node pool: `nodes(3)`, or `resources(cpu=96, …)`. Kueue tries pools without devices first, so that
    runs without GPUs leave GPU nodes free, then the others in the order of `guarantee`, then of `borrow`. Of a pool
    that `lend` does not name, all is lent. Where only some pools have topology levels, runs reach these only with a
    `topology` of their own (Kueue 0.19.2 places runs without one by topology if all flavors of a queue have one). See
    `TenantSpec` for each argument's meaning.
    """

    claim_field = "guarantee"
    main_kind = "ClusterQueue"

    def __init__(
        self,
        scope: Construct,
        id: DnsLabel,
        *,
        namespaces: Annotated[Sequence[DnsLabel], Field(min_length=1), unique],
        guarantee: Annotated[Mapping[NodePool, Share], Field(min_length=1)],
        owners: Annotated[Sequence[Owner], unique] = (),
        cohort: Cohort | External | None = None,
        borrow: Mapping[NodePool, Share | Literal["unlimited"]] | None = None,
        lend: Literal["all", "none"] | Mapping[NodePool, Share] = "all",
        priority: DnsSubdomain | None = None,
        workload_kinds: Annotated[Sequence[WorkloadKind], Field(min_length=1), unique] = ("TrainJob", "JobSet", "Job"),
        pod_security: PodSecurity = "restricted",
        container_defaults: Mapping[ResourceName, Amount] | None = None,
        cluster_queue: DnsSubdomain | None = None,
        local_queue: DnsLabel | None = None,
        namespace_labels: Mapping[NamespaceLabel, LabelValue] | None = None,
        queueing_strategy: QueueingStrategy = "BestEffortFIFO",
        preemption: ClusterQueuePreemption | None = None,
        admission_checks: Sequence[AdmissionCheck | External] = (),
        fair_sharing_weight: Amount | None = None,
        stop_policy: StopPolicy | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.spec: TenantSpec | None = None
        self.namespaces = list(namespaces)
        self.per_node: dict[str, Resources] = {}
        self.guaranteed: dict[str, Resources] = {}
        given: dict[str, Any] = {
            "namespaces": self.namespaces,
            "guarantee": self._by_name(guarantee),
            "owners": list(owners),
            "cohort": name_of(cohort) if cohort else None,
            "borrow": self._by_name(borrow or {}),
            "lend": lend if isinstance(lend, str) else self._by_name(lendable(self, lend, guarantee)),
            "priority": priority,
            "workload_kinds": list(workload_kinds),
            "pod_security": pod_security,
            "cluster_queue": cluster_queue,
            "local_queue": local_queue,
            "namespace_labels": dict(namespace_labels or {}),
            "queueing_strategy": queueing_strategy,
            "preemption": preemption,
            "admission_checks": [name_of(check) for check in admission_checks],
            "fair_sharing_weight": fair_sharing_weight,
            "stop_policy": stop_policy,
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
        if self.is_broken:
            return QueueRef(self.id, self.id, self, self.id)
        if namespace not in self.namespaces and self.id not in self.cluster.unsettled:
            near = nearest(namespace, self.namespaces) if isinstance(namespace, str) else ""
            hint = near or f"its namespaces are {', '.join(self.namespaces)}"
            told = f"has no namespace {shown(namespace)}"
            self.cluster.report(Fault(told, self.title, "queue", hint, calling_place()))
            namespace = self.namespaces[0]  # whatever is submitted to it is judged as if it were right
        local_queue = (self.spec and self.spec.local_queue) or self.id
        return QueueRef(local_queue, namespace, self, self.id, self.spec.priority if self.spec else None)

    def instead(self, wanted: Sequence[str]) -> str:
        """A tenant's queue is asked for by its namespace."""
        namespace = self.namespaces[0] if self.namespaces else "namespace"
        name = self.id if self.id.isidentifier() else "tenant"
        return f'{name}.queue("{namespace}")' if "QueueRef" in wanted else ""

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
            place = self.place_of("priority")
            yield Fault(f'"{priority}" is no WorkloadPriorityClass', self.title, "priority", hint, place)

    def render(self) -> Iterable[KubernetesObject]:
        """Everything of the tenant but its runs."""
        if self.spec is not None and self.spec.namespaces:
            yield from tenant_objects(self.id, self.spec, self.per_node)

    def _adopt(self, given: dict[str, Any]) -> None:
        try:
            self.spec = TenantSpec.model_validate(given)
        except ValidationError as error:
            self.is_broken = True
            self.cluster.faults.extend(
                faults_of(error, object=self.title, place=self.place, model=TenantSpec, python=True)
            )
            return
        if self.id in RESERVED:
            told = f'"{self.id}" is an application that is no tenant\'s, as are {", ".join(RESERVED)}'
            self.fault(told, field="name", fix="choose another name", at=("name",))
            self.cluster.unsettled.add(self.id)
        self.spec = self.spec.model_copy(update={"namespaces": self._own_namespaces(self.spec.namespaces)})
        self.guaranteed = {pool: share.of(self.per_node[pool]) for pool, share in self.spec.guarantee.items()}
        if self.id not in RESERVED:  # or it would take that application's rights away
            access = Access(list(self.spec.namespaces), allowed_kinds(self.spec), place=self.place)
            self.cluster.grant(self.id, access)
        if self.spec.priority:
            ensure_tier(self, self.spec.priority)

    def _own_namespaces(self, namespaces: list[str]) -> list[str]:
        """Those that no earlier tenant has: a namespace has one owner."""
        own = []
        for index, namespace in enumerate(namespaces):
            owner = self.cluster.first(f"namespace {namespace}", self)
            if owner.title == self.title:  # of a twin the name is wrong, not the namespaces
                own.append(namespace)
                continue
            told = f'"{namespace}" belongs to {owner.title} ({owner.place}) already'
            self.fault(told, field=f"namespaces[{index}]", fix="choose another", at=("namespaces", index))
            self.cluster.unsettled.add(self.id)
        return own

    def _by_name(self, shares: Mapping[NodePool, Any]) -> dict[str, Any]:
        self.per_node.update((pool.name, pool.per_node) for pool in shares)
        return {pool.name: share for pool, share in shares.items()}
