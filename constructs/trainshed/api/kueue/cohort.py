"""Cohort (kueue.x-k8s.io/v1beta2), as in Kueue v0.19.2."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.kueue.fair_sharing import FairSharing, weight_rules
from trainshed.api.kueue.quota import ResourceGroups, limits_without_parent_rules, repeated_rules
from trainshed.api.types import DnsSubdomain


class CohortSpec(Model):
    """Quota that a cohort adds to that of its members, and the cohort above it (absent: it is a root)."""

    parent_name: DnsSubdomain | None = None
    resource_groups: ResourceGroups | None = None
    fair_sharing: FairSharing | None = None

    def rules(self) -> Iterator[Broken]:
        """`pkg/webhooks/cohort_webhook.go`. Unlike a ClusterQueue, a Cohort may lend more than its own quota."""
        groups = self.resource_groups or []
        yield from repeated_rules(groups)
        if self.parent_name is None:
            yield from limits_without_parent_rules(groups, "the Cohort has no parent", "parentName")
        yield from weight_rules(self.fair_sharing)


class Cohort(KubernetesObject):
    """A node in the tree of ClusterQueues that share unused quota. The object is optional: a name alone makes one."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ()

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["Cohort"] = "Cohort"
    spec: CohortSpec | None = None
