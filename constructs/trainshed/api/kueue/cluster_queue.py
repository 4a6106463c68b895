"""ClusterQueue (kueue.x-k8s.io/v1beta2), as in Kueue v0.19.2."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.kueue.fair_sharing import FairSharing, weight_rules
from trainshed.api.kueue.quota import (
    ResourceGroups,
    flavor_names,
    limits_without_parent_rules,
    quotas,
    repeated_rules,
    size_rules,
)
from trainshed.api.selectors import LabelSelector
from trainshed.api.types import DnsSubdomain, Int32, Str, keyed_by, unique
from trainshed.faults import nearest

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
Fungibility = Literal["MayStopSearch", "TryNextFlavor"]


class AdmissionCheckStrategyRule(Model):
    """One admission check, and the flavors it is needed for (absent or empty: all of them)."""

    name: Annotated[Str, Field(min_length=1, max_length=316)]
    on_flavors: Annotated[list[DnsSubdomain], Field(max_length=64), unique] | None = None


class AdmissionChecksStrategy(Model):
    """Checks which a workload must pass after it got quota and before it starts."""

    admission_checks: Annotated[list[AdmissionCheckStrategyRule], Field(min_length=1, max_length=64), keyed_by("name")]


class AdmissionScope(Model):
    """Whether the order of LocalQueues follows their past usage."""

    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]


class ConcurrentAdmissionConstraints(Model):
    """How far down the list of flavors a workload may go."""

    last_acceptable_flavor_name: DnsSubdomain | None = None


class ConcurrentAdmissionMigration(Model):
    """What happens to a running workload when a flavor listed earlier becomes free."""

    constraints: ConcurrentAdmissionConstraints | None = None
    mode: Literal["TryPreferredFlavors", "RetainFirstAdmission"]


class ConcurrentAdmissionPolicy(Model):
    """Try several flavors at the same time (alpha gate ConcurrentAdmission)."""

    migration: ConcurrentAdmissionMigration


class FlavorFungibility(Model):
    """When to take a flavor, when to try the next. Defaults: MayStopSearch to borrow, TryNextFlavor to preempt."""

    when_can_borrow: Fungibility | None = None
    when_can_preempt: Fungibility | None = None
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None

    def rules(self) -> Iterator[Broken]:
        """A preference needs a search over all flavors (CRD rule on flavorFungibility, after defaulting)."""
        if self.preference is None:
            return
        effective = {
            "whenCanBorrow": self.when_can_borrow or "MayStopSearch",
            "whenCanPreempt": self.when_can_preempt or "TryNextFlavor",
        }
        stopping = [field for field, policy in effective.items() if policy != "TryNextFlavor"]
        if stopping:
            fields = " and ".join(stopping)
            yield Broken(
                "preference",
                f'is set, but {fields} {"is" if len(stopping) == 1 else "are"} "MayStopSearch"',
                f'write {fields}: "TryNextFlavor" or leave the preference out',
            )


class BorrowWithinCohort(Model):
    """Whether a workload may preempt in other ClusterQueues while its own is borrowing (default: never)."""

    policy: Literal["Never", "LowerPriority"] | None = None
    max_priority_threshold: Int32 | None = None


class ClusterQueuePreemption(Model):
    """Whom a pending workload may push out. Every default is Never."""

    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] | None = None
    borrow_within_cohort: BorrowWithinCohort | None = None
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] | None = None

    def rules(self) -> Iterator[Broken]:
        """Preempting while borrowing needs reclaiming (CRD rule on preemption, after defaulting)."""
        borrow = self.borrow_within_cohort.policy if self.borrow_within_cohort else None
        if (self.reclaim_within_cohort or "Never") == "Never" and (borrow or "Never") != "Never":
            yield Broken(
                "borrowWithinCohort.policy",
                f'is "{borrow}", but reclaimWithinCohort is "Never"',
                'write reclaimWithinCohort: "LowerPriority" or "Any", or leave borrowWithinCohort out',
            )


class ClusterQueueSpec(Model):
    """What a ClusterQueue owns, whom it serves and how it orders them.

    `namespace_selector` absent matches no namespace; an empty one matches every namespace.
    """

    resource_groups: ResourceGroups | None = None
    cohort_name: DnsSubdomain | None = None
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] | None = None
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility | None = None
    preemption: ClusterQueuePreemption | None = None
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    stop_policy: StopPolicy | None = None
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None

    def rules(self) -> Iterator[Broken]:
        """`pkg/webhooks/clusterqueue_webhook.go`, and the CRD rule on borrowing without a cohort."""
        groups = self.resource_groups or []
        yield from repeated_rules(groups)
        if self.cohort_name is None:
            yield from limits_without_parent_rules(groups, "the ClusterQueue is in no cohort", "cohortName")
        yield from self._lending_rules()
        yield from size_rules(groups)
        yield from weight_rules(self.fair_sharing)
        yield from self._on_flavors_rules()
        yield from self._concurrent_admission_rules()

    def _lending_rules(self) -> Iterator[Broken]:
        """Nothing is lent that is not owned (validateLendingLimit)."""
        for path, _, quota in quotas(self.resource_groups or []):
            if quota.lending_limit is not None and quota.lending_limit > quota.nominal_quota:
                yield Broken(
                    f"{path}.lendingLimit",
                    f"is {quota.lending_limit}, more than the nominalQuota of {quota.nominal_quota}",
                    f"write {quota.nominal_quota} or less",
                )

    def _on_flavors_rules(self) -> Iterator[Broken]:
        """An admission check names flavors of this ClusterQueue (validateAdmissionCheckOnFlavors)."""
        known = flavor_names(self.resource_groups or [])
        checks = self.admission_checks_strategy.admission_checks if self.admission_checks_strategy else []
        for check_index, check in enumerate(checks):
            for index, name in enumerate(check.on_flavors or []):
                if name not in known:
                    yield Broken(
                        f"admissionChecksStrategy.admissionChecks[{check_index}].onFlavors[{index}]",
                        f'"{name}" is not a flavor of this ClusterQueue',
                        nearest(name, known) or _one_of(known),
                    )

    def _concurrent_admission_rules(self) -> Iterator[Broken]:
        """What the policy needs (validateConcurrentAdmissionPolicy; Kueue checks it while the alpha gate is on)."""
        if self.concurrent_admission_policy is None:
            return
        groups, used = self.resource_groups or [], "while concurrentAdmissionPolicy is set"
        if len(groups) != 1:
            yield Broken("resourceGroups", f"has {len(groups)} groups {used}", "write exactly one")
        elif len(groups[0].flavors) > 16:
            yield Broken(
                "resourceGroups[0].flavors", f"has {len(groups[0].flavors)} flavors {used}", "list 16 or fewer"
            )
        if self.queueing_strategy == "StrictFIFO":
            yield Broken("queueingStrategy", f'is "StrictFIFO" {used}', 'write "BestEffortFIFO"')
        migration = self.concurrent_admission_policy.migration
        path, constraints = "concurrentAdmissionPolicy.migration", migration.constraints
        if constraints is None:
            return
        if migration.mode != "TryPreferredFlavors":
            yield Broken(
                f"{path}.constraints",
                f'is set in mode "{migration.mode}"',
                'only "TryPreferredFlavors" takes constraints',
            )
        last, known = constraints.last_acceptable_flavor_name, flavor_names(groups)
        if last is not None and last not in known:
            yield Broken(
                f"{path}.constraints.lastAcceptableFlavorName",
                f'"{last}" is not a flavor of this ClusterQueue',
                nearest(last, known) or _one_of(known),
            )


def _one_of(names: list[str]) -> str:
    return f"write one of {', '.join(names)}" if names else "it has no flavors at all: add resourceGroups"


class ClusterQueue(KubernetesObject):
    """Quota for a set of namespaces, by resource and flavor. Its `concurrentAdmissionPolicy` can't change later."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("spec.concurrentAdmissionPolicy",)

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["ClusterQueue"] = "ClusterQueue"
    spec: ClusterQueueSpec | None = None
