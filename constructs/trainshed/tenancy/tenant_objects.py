"""The API objects of a tenant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from trainshed.api.base import KubernetesObject, ObjectMeta
from trainshed.api.core.limit_range import LimitRange, LimitRangeItem, LimitRangeSpec
from trainshed.api.kueue import (
    AdmissionChecksStrategy,
    AdmissionCheckStrategyRule,
    ClusterQueue,
    ClusterQueuePreemption,
    ClusterQueueSpec,
    LocalQueue,
    LocalQueueSpec,
)
from trainshed.api.rbac import PolicyRule, Role, RoleBinding, RoleRef, Subject
from trainshed.quantity import Quantity
from trainshed.tenancy.kueue import fair_sharing, selects
from trainshed.tenancy.namespace import namespace_object
from trainshed.tenancy.quotas import PoolQuota, has_devices, resource_groups
from trainshed.tenancy.shares import Resources
from trainshed.tenancy.spec import TenantSpec, WorkloadKind

TENANT_LABEL: Final = "trainshed.dev/tenant"
_RBAC: Final = "rbac.authorization.k8s.io"

#: (group, kind) pairs that a workload kind needs besides the common ones, and its RBAC resource.
WORKLOADS: Final = {
    "TrainJob": ("trainer.kubeflow.org", ("trainjobs", "trainingruntimes")),
    "JobSet": ("jobset.x-k8s.io", ("jobsets",)),
    "Job": ("batch", ("jobs",)),
    "CronJob": ("batch", ("cronjobs",)),
}
_COMMON_ACCESS: Final = (("", "ConfigMap"), ("", "PersistentVolumeClaim"), ("", "Service"))
_KIND_ACCESS: Final = {
    "TrainJob": (("trainer.kubeflow.org", "TrainJob"), ("trainer.kubeflow.org", "TrainingRuntime")),
    "JobSet": (("jobset.x-k8s.io", "JobSet"),),
    "Job": (("batch", "Job"),),
    "CronJob": (("batch", "CronJob"),),
}


def allowed_kinds(spec: TenantSpec) -> list[tuple[str, str]]:
    """(group, kind) pairs that the tenant's application may write. No LocalQueue, ResourceQuota or RoleBinding: whoever
    makes a LocalQueue chooses the quota it draws on."""
    return sorted({*_COMMON_ACCESS, *(pair for kind in spec.workload_kinds for pair in _KIND_ACCESS[kind])})


def tenant_objects(tenant: str, spec: TenantSpec, per_node: Mapping[str, Resources]) -> Iterable[KubernetesObject]:
    """Namespaces, ClusterQueue, LocalQueues, RBAC and LimitRanges of a tenant, in the order people read them."""
    cluster_queue = spec.cluster_queue or tenant
    yield _cluster_queue(cluster_queue, spec, per_node)
    limits = _limits(spec)
    for namespace in spec.namespaces:
        yield namespace_object(namespace, spec.pod_security, {**spec.namespace_labels, TENANT_LABEL: tenant})
        yield LocalQueue(
            metadata=ObjectMeta(name=spec.local_queue or tenant, namespace=namespace),
            spec=LocalQueueSpec(cluster_queue=cluster_queue),
        )
        yield LimitRange(metadata=ObjectMeta(name="container-defaults", namespace=namespace), spec=limits)
        if spec.owners:
            yield _role(namespace, tenant, spec)
            yield _role_binding(namespace, tenant, spec)


def _cluster_queue(name: str, spec: TenantSpec, per_node: Mapping[str, Resources]) -> ClusterQueue:
    checks = [AdmissionCheckStrategyRule(name=check) for check in spec.admission_checks]
    usual = ClusterQueuePreemption(
        reclaim_within_cohort="Any" if spec.cohort else "Never", within_cluster_queue="LowerPriority"
    )
    return ClusterQueue(
        metadata=ObjectMeta(name=name),
        spec=ClusterQueueSpec(
            resource_groups=resource_groups(_quotas(spec, per_node)),
            cohort_name=spec.cohort,
            queueing_strategy=spec.queueing_strategy,
            namespace_selector=selects(spec.namespaces),
            preemption=spec.preemption or usual,
            admission_checks_strategy=AdmissionChecksStrategy(admission_checks=checks) if checks else None,
            stop_policy=spec.stop_policy,
            fair_sharing=fair_sharing(spec.fair_sharing_weight),
        ),
    )


def _quotas(spec: TenantSpec, per_node: Mapping[str, Resources]) -> dict[str, PoolQuota]:
    """Guaranteed pools, then those that are only borrowed from."""
    return {pool: _pool_quota(pool, spec, per_node[pool]) for pool in dict.fromkeys((*spec.guarantee, *spec.borrow))}


def _pool_quota(pool: str, spec: TenantSpec, per_node: Resources) -> PoolQuota:
    share, devices = spec.guarantee.get(pool), has_devices(per_node)
    nominal = share.of(per_node) if share else dict.fromkeys(per_node, Quantity(0))
    if spec.cohort is None:
        return PoolQuota(nominal, devices=devices)
    borrow = spec.borrow.get(pool)
    borrowable = None if borrow == "unlimited" else {} if borrow is None else borrow.of(per_node)
    if spec.lend == "none":
        return PoolQuota(nominal, borrowable, {}, devices)
    lent = spec.lend.get(pool) if isinstance(spec.lend, dict) else None
    return PoolQuota(nominal, borrowable, lent.of(per_node) if lent else None, devices)


def _limits(spec: TenantSpec) -> LimitRangeSpec:
    amounts = spec.container_defaults
    return LimitRangeSpec(limits=[LimitRangeItem(type="Container", default=amounts, default_request=amounts)])


def _role(namespace: str, tenant: str, spec: TenantSpec) -> Role:
    rules = list(_rules(tuple(spec.workload_kinds)))
    return Role(metadata=ObjectMeta(name=f"{tenant}-owner", namespace=namespace), rules_=rules)


@cache  # most tenants run the same kinds of workload
def _rules(workload_kinds: tuple[WorkloadKind, ...]) -> tuple[PolicyRule, ...]:
    run = ["create", "delete", "get", "list", "patch", "update", "watch"]
    look = ["get", "list", "watch"]
    workloads = (WORKLOADS[kind] for kind in workload_kinds)
    return (
        *(PolicyRule(api_groups=[group], resources=list(names), verbs=run) for group, names in workloads),
        PolicyRule(api_groups=[""], resources=["configmaps", "persistentvolumeclaims", "services"], verbs=run),
        PolicyRule(api_groups=[""], resources=["pods", "pods/log", "events"], verbs=look),
        PolicyRule(api_groups=["kueue.x-k8s.io"], resources=["localqueues", "workloads"], verbs=look),
    )


def _role_binding(namespace: str, tenant: str, spec: TenantSpec) -> RoleBinding:
    return RoleBinding(
        metadata=ObjectMeta(name=f"{tenant}-owner", namespace=namespace),
        role_ref=RoleRef(api_group=_RBAC, kind="Role", name=f"{tenant}-owner"),
        subjects=[Subject(api_group=_RBAC, kind="Group", name=owner) for owner in spec.owners],
    )
