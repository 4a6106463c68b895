"""What a tenant is, as people say it: one model for Python stacks and for tenant files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.kueue import ClusterQueuePreemption, FairSharing
from trainshed.api.kueue.fair_sharing import weight_rules
from trainshed.api.types import DnsLabel, DnsSubdomain, LabelValue, Str, shaped, unique
from trainshed.gitops.keys import NamespaceLabel
from trainshed.quantity import Quantity
from trainshed.tenancy.kueue import StopPolicy
from trainshed.tenancy.shares import Resources, Share, amount_rules

WorkloadKind = Literal["TrainJob", "JobSet", "Job", "CronJob"]
QueueingStrategy = Literal["StrictFIFO", "BestEffortFIFO"]
PodSecurity = Literal["restricted", "baseline", "privileged"]


#: Whoever may run pods in one of these can reach what controls the cluster.
SYSTEM_NAMESPACES: Final = frozenset(
    ("argocd", "default", "jobset-system", "kubeflow-system", "kueue-system", "volcano-system")
)


def _owner_error(owner: str) -> str:
    if not owner.strip():
        return "is empty; name a group of your directory"
    if owner.startswith("system:") or not owner.isprintable():
        return f"{owner!r} is no group of people; name a group of your directory"
    return ""


#: A group of people, as the cluster's identity provider calls it.
Owner = Annotated[Str, shaped(_owner_error)]


def small_container() -> Resources:
    """One CPU and 2 GiB: enough for a shell or a sidecar."""
    return {"cpu": Quantity("1"), "memory": Quantity("2Gi")}


class TenantSpec(Model):
    """A tenant: who it is, what it is guaranteed, what it may borrow and lend.

    Amounts are per node pool, by the pool's name: `{nodes: 3}`, `{resources: {cpu: 96, …}}`, or for borrowing
    `unlimited`. Nothing is borrowed unless `borrow` says so; idle quota is lent unless `lend` says otherwise. Kueue
    tries pools without devices first, so that runs without GPUs leave GPU nodes free, then the others in the order of
    `guarantee`, then of `borrow`.
    """

    namespaces: Annotated[
        list[DnsLabel],
        Field(min_length=1, description="Namespaces of the tenant; each gets a LocalQueue."),
        unique,
    ]
    guarantee: Annotated[
        dict[DnsSubdomain, Share],
        Field(
            min_length=1,
            description="Quota that is the tenant's own, by node pool (Kueue: nominalQuota). Runs are tried in pools "
            "without devices first, then in the order written here.",
        ),
    ]
    owners: Annotated[
        list[Owner], Field(description="Groups that may submit runs in the tenant's namespaces."), unique
    ] = []
    cohort: Annotated[DnsSubdomain | None, Field(description="Cohort in which idle quota is lent and borrowed.")] = None
    borrow: Annotated[
        dict[DnsSubdomain, Share | Literal["unlimited"]],
        Field(description="What may be borrowed on top, by node pool (Kueue: borrowingLimit). Default: nothing."),
    ] = {}
    lend: Annotated[
        Literal["all", "none"] | dict[DnsSubdomain, Share],
        Field(
            description="What others may borrow while it is idle (Kueue: lendingLimit), by node pool; of a pool that "
            "is not named, all. Default: all."
        ),
    ] = "all"
    priority: Annotated[
        DnsSubdomain | None,
        Field(description="Priority tier of the tenant's runs: low, normal, high, or a WorkloadPriorityClass."),
    ] = None
    workload_kinds: Annotated[
        list[WorkloadKind],
        Field(
            min_length=1,
            description="Kinds of workload the tenant's application and owners may write. Default: all but CronJob.",
        ),
        unique,
    ] = ["TrainJob", "JobSet", "Job"]
    pod_security: Annotated[
        PodSecurity, Field(description="Pod Security level enforced in the tenant's namespaces.")
    ] = "restricted"
    container_defaults: Annotated[
        Resources,
        Field(description="Requests and limits of containers that name none, so that quota counts every pod."),
    ] = Field(default_factory=small_container)
    cluster_queue: Annotated[
        DnsSubdomain | None, Field(description="Name of the ClusterQueue. Default: the tenant's name.")
    ] = None
    local_queue: Annotated[
        DnsLabel | None, Field(description="Name of the LocalQueues. Default: the tenant's name.")
    ] = None
    namespace_labels: Annotated[
        dict[NamespaceLabel, LabelValue], Field(description="Labels of the tenant's namespaces, on top of ours.")
    ] = {}
    queueing_strategy: Annotated[
        QueueingStrategy,
        Field(description="Whether a run that does not fit yet holds back later ones (StrictFIFO) or not."),
    ] = "BestEffortFIFO"
    preemption: Annotated[
        ClusterQueuePreemption | None,
        Field(
            description="Whom a waiting run may push out. Default: runs of lower priority of the tenant, and whoever "
            "of its cohort holds what the tenant is guaranteed. What is given stands alone: the rest is Never."
        ),
    ] = None
    admission_checks: Annotated[
        list[DnsSubdomain], Field(description="AdmissionChecks that a run has to pass besides quota."), unique
    ] = []
    fair_sharing_weight: Annotated[
        Quantity | None,
        Field(description="Weight in sharing out idle quota, where Kueue shares fairly. Default (Kueue): 1."),
    ] = None
    stop_policy: Annotated[
        StopPolicy | None,
        Field(
            description="Hold admits no run any more; HoldAndDrain also evicts those that run, as before the tenant "
            "is removed. Default: neither."
        ),
    ] = None

    def rules(self) -> Iterator[Broken]:
        """Namespaces and groups of the system are nobody's; borrowing and lending need a cohort (Kueue 0.19.2,
        webhook); only what is guaranteed is lent."""
        for index, namespace in enumerate(self.namespaces):
            if namespace in SYSTEM_NAMESPACES or namespace.startswith("kube-"):
                yield Broken(
                    f"namespaces[{index}]",
                    f'"{namespace}" belongs to the cluster itself, and its rights would go to the tenant',
                    "give the tenant a namespace of its own",
                )
        if self.cohort is None and self.borrow:
            yield Broken("borrow", "is set, but the tenant is in no cohort", "name a cohort or leave borrow out")
        if self.cohort is None and self.lend != "all":
            yield Broken("lend", "is set, but the tenant is in no cohort", "name a cohort or leave lend out")
        if isinstance(self.lend, dict):
            for pool in self.lend:
                if pool not in self.guarantee:
                    yield Broken(f"lend.{pool}", "is lent, but nothing of this pool is guaranteed", "leave it out")
        yield from amount_rules(self.container_defaults, "containerDefaults")
        for broken in weight_rules(FairSharing(weight=self.fair_sharing_weight)):
            yield Broken("fairSharingWeight", broken.message, broken.fix)
