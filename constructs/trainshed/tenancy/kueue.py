"""Components for Kueue's queues, one to one with its kinds. `Tenant` makes most of these for you."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from constructs import Construct

from trainshed.api import kueue as api
from trainshed.api.base import KubernetesObject, ObjectMeta
from trainshed.api.selectors import LabelSelector, LabelSelectorRequirement
from trainshed.api.types import DnsLabel, DnsSubdomain, Int32, Str
from trainshed.gitops.component import Component
from trainshed.quantity import Quantity
from trainshed.tenancy.admission import AdmissionCheck
from trainshed.tenancy.external import External, name_of
from trainshed.tenancy.pool import Claimant, NodePool
from trainshed.tenancy.queue_ref import QueueRef
from trainshed.tenancy.quotas import PoolQuota, has_devices, resource_groups
from trainshed.tenancy.references import lendable
from trainshed.tenancy.shares import Amount, Resources, Share

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


def selects(namespaces: Sequence[str]) -> LabelSelector:
    """A selector for namespaces by name."""
    by_name = LabelSelectorRequirement(key=NAMESPACE_LABEL, operator="In", values=list(namespaces))
    return LabelSelector(match_expressions=[by_name])


class Cohort(Claimant):
    """Queues that lend each other idle quota. Its own `quota` is on top of its members'.

    `quota` maps pools to shares; `parent` makes a tree of cohorts.
    """

    def __init__(
        self,
        scope: Construct,
        id: DnsSubdomain,
        *,
        parent: Cohort | External | None = None,
        quota: Mapping[NodePool, Share] | None = None,
        fair_sharing_weight: Amount | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.name = id
        self.parent = parent
        self.weight = fair_sharing_weight
        self.quota = dict(quota or {})

    def claims(self) -> Mapping[str, Resources]:
        """What the cohort owns by itself."""
        return amounts(self.quota)

    def render(self) -> Iterable[KubernetesObject]:
        """One Cohort."""
        groups = resource_groups({pool: PoolQuota(owned) for pool, owned in amounts(self.quota).items()})
        yield api.Cohort(
            metadata=ObjectMeta(name=self.name),
            spec=api.CohortSpec(
                parent_name=name_of(self.parent) if self.parent else None,
                resource_groups=groups or None,
                fair_sharing=fair_sharing(self.weight),
            ),
        )


class ClusterQueue(Claimant):
    """Quota over node pools. `quota`, `borrow` and `lend` map pools to shares.

    Limits that are not given are not written: in a cohort that means everything may be borrowed and lent. Of a pool
    that is only borrowed from, nothing is owned. Kueue tries pools without devices first, then the others in the order
    given. `namespaces` names who may use it (None: every namespace). For what this does not say, pass a `spec`, which
    then stands alone.
    """

    def __init__(
        self,
        scope: Construct,
        id: DnsSubdomain,
        *,
        quota: Mapping[NodePool, Share] | None = None,
        borrow: Mapping[NodePool, Share] | None = None,
        lend: Mapping[NodePool, Share] | None = None,
        namespaces: Sequence[DnsLabel] | None = None,
        cohort: Cohort | External | None = None,
        queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO",
        preemption: api.ClusterQueuePreemption | None = None,
        admission_checks: Sequence[AdmissionCheck | External] = (),
        fair_sharing_weight: Amount | None = None,
        stop_policy: StopPolicy | None = None,
        spec: api.ClusterQueueSpec | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.name = id
        self.spec = spec
        self.quota = dict(quota or {})
        self.borrow = dict(borrow or {})
        self.lend = lendable(self, lend, self.quota)
        self.namespaces = None if namespaces is None else list(namespaces)
        self.cohort = cohort
        self.queueing_strategy = queueing_strategy
        self.preemption = preemption
        self.admission_checks = list(admission_checks)
        self.weight = fair_sharing_weight
        self.stop_policy = stop_policy
        if spec is not None and (quota or borrow or lend or cohort or namespaces or admission_checks):
            self.fault("stands alone, but quota or another argument is given too", field="spec", fix="pass one of them")
        if cohort is None:
            self._refuse_limits()

    def claims(self) -> Mapping[str, Resources]:
        """Nominal quota by pool."""
        if self.spec is None:
            return amounts(self.quota)
        flavors = [flavor for group in self.spec.resource_groups or [] for flavor in group.flavors]
        return {flavor.name: {quota.name: quota.nominal_quota for quota in flavor.resources} for flavor in flavors}

    def render(self) -> Iterable[KubernetesObject]:
        """One ClusterQueue."""
        yield api.ClusterQueue(metadata=ObjectMeta(name=self.name), spec=self.spec or self._spec())

    def _spec(self) -> api.ClusterQueueSpec:
        owned, borrowed, lent = amounts(self.quota), amounts(self.borrow), amounts(self.lend)
        for pool in self.borrow:
            owned.setdefault(pool.name, dict.fromkeys(pool.per_node, Quantity(0)))
        devices = {pool.name: has_devices(pool.per_node) for pool in (*self.quota, *self.borrow)}
        quotas = {
            pool: PoolQuota(nominal, borrowed.get(pool), lent.get(pool), devices[pool])
            for pool, nominal in owned.items()
        }
        checks = [api.AdmissionCheckStrategyRule(name=name_of(check)) for check in self.admission_checks]
        return api.ClusterQueueSpec(
            resource_groups=resource_groups(quotas) or None,
            cohort_name=name_of(self.cohort) if self.cohort else None,
            queueing_strategy=self.queueing_strategy,
            namespace_selector=LabelSelector() if self.namespaces is None else selects(self.namespaces),
            preemption=self.preemption,
            admission_checks_strategy=api.AdmissionChecksStrategy(admission_checks=checks) if checks else None,
            stop_policy=self.stop_policy,
            fair_sharing=fair_sharing(self.weight),
        )

    def _refuse_limits(self) -> None:
        """Kueue 0.19.2: there is nobody to borrow from or to lend to outside a cohort."""
        for field, limits in (("borrow", self.borrow), ("lend", self.lend)):
            if limits:
                self.fault("is set, but the queue is in no cohort", field=field, fix="name a cohort or leave it out")
        self.borrow, self.lend = {}, {}


class LocalQueue(Component):
    """The door to a ClusterQueue in one namespace; runs name it. Its ClusterQueue cannot be changed later."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        namespace: DnsLabel,
        cluster_queue: ClusterQueue | External,
        name: DnsLabel | None = None,
        runs: DnsLabel = "runs",
        stop_policy: StopPolicy | None = None,
        fair_sharing_weight: Amount | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.name = name or id
        self.namespace = namespace
        self.cluster_queue = cluster_queue
        self.runs = runs
        self.stop_policy = stop_policy
        self.weight = fair_sharing_weight

    @property
    def ref(self) -> QueueRef:
        """This queue, as runs see it; their application is `runs`."""
        if self.is_broken:
            return QueueRef(self.id, self.id, self)
        return QueueRef(self.name, self.namespace, self, self.runs)

    def render(self) -> Iterable[KubernetesObject]:
        """One LocalQueue."""
        yield api.LocalQueue(
            metadata=ObjectMeta(name=self.name, namespace=self.namespace),
            spec=api.LocalQueueSpec(
                cluster_queue=name_of(self.cluster_queue),
                stop_policy=self.stop_policy,
                fair_sharing=fair_sharing(self.weight),
            ),
        )


class WorkloadPriorityClass(Component):
    """Order among queued workloads; kube-scheduler's preemption does not see it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        value: Int32,
        description: Str | None = None,
        name: DnsSubdomain | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.name = name or id
        self.value = value
        self.description = description

    def render(self) -> Iterable[KubernetesObject]:
        """One WorkloadPriorityClass."""
        yield api.WorkloadPriorityClass(
            metadata=ObjectMeta(name=self.name), value=self.value, description=self.description
        )


def amounts(shares: Mapping[NodePool, Share]) -> dict[str, Resources]:
    """Shares as amounts, by pool name."""
    return {pool.name: share.of(pool.per_node) for pool, share in shares.items()}


def fair_sharing(weight: Amount | None) -> api.FairSharing | None:
    """Fair sharing with this weight, or none."""
    return None if weight is None else api.FairSharing(weight=Quantity(weight))
