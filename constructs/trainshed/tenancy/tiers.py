"""Priority tiers: three WorkloadPriorityClasses that exist as soon as a tenant names one."""

from __future__ import annotations

from typing import Final

from trainshed.gitops.cluster import Cluster
from trainshed.gitops.component import Component
from trainshed.tenancy.kueue import WorkloadPriorityClass

#: Values leave room between and around them for classes of one's own.
TIERS: Final = {"low": 100, "normal": 500, "high": 1000}


def declared_classes(cluster: Cluster) -> list[str]:
    """The names of all WorkloadPriorityClasses in the cluster."""
    return [component.name for component in cluster.declared(WorkloadPriorityClass)]


def ensure_tier(user: Component, name: str) -> None:
    """Makes the class of tier `name` in the user's cluster unless there is one of that name."""
    if name in TIERS and name not in declared_classes(user.cluster):
        WorkloadPriorityClass(
            user.cluster, f"priority-{name}", name=name, value=TIERS[name], description=f"Tier {name}"
        )
