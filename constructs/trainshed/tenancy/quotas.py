"""From shares of node pools to Kueue's resource groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trainshed.api.kueue import FlavorQuotas, ResourceGroup, ResourceQuota
from trainshed.quantity import Quantity
from trainshed.tenancy.shares import Resources, ordered

_ZERO: Final = Quantity(0)


@dataclass(frozen=True)
class PoolQuota:
    """Quota in one pool. `borrow` or `lend` None: no limit is written; a mapping limits what it names and all else to
    0."""

    nominal: Resources
    borrow: Resources | None = None
    lend: Resources | None = None


def resource_groups(quotas: Mapping[str, PoolQuota]) -> list[ResourceGroup]:
    """One resource group over all pools, in the order given: Kueue tries their flavors in this order.

    A resource may be covered by one group only (Kueue 0.19.2, webhook), so pools share a group and a pool that lacks
    one of its resources gets 0 of it.
    """
    covered = ordered({name for quota in quotas.values() for name in quota.nominal})
    flavors = [
        FlavorQuotas(name=pool, resources=[_quota(name, quota) for name in covered]) for pool, quota in quotas.items()
    ]
    return [ResourceGroup(covered_resources=covered, flavors=flavors)] if covered else []


def _quota(resource: str, quota: PoolQuota) -> ResourceQuota:
    return ResourceQuota(
        name=resource,
        nominal_quota=quota.nominal.get(resource, _ZERO),
        borrowing_limit=None if quota.borrow is None else quota.borrow.get(resource, _ZERO),
        lending_limit=None if quota.lend is None else quota.lend.get(resource, _ZERO),
    )
