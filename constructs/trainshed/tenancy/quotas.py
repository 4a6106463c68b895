"""From shares of node pools to Kueue's resource groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from trainshed.api.core.resources import is_extended
from trainshed.api.kueue import FlavorQuotas, ResourceGroup, ResourceQuota
from trainshed.quantity import Quantity
from trainshed.tenancy.shares import Resources, ordered

_ZERO: Final = Quantity(0)


@dataclass(frozen=True)
class PoolQuota:
    """Quota in one pool. `borrow` or `lend` None: no limit is written; a mapping limits what it names and all else to
    0. `devices`: the pool's nodes have some."""

    nominal: Resources
    borrow: Resources | None = None
    lend: Resources | None = None
    devices: bool = False


def has_devices(per_node: Iterable[str]) -> bool:
    """Whether nodes that offer these resources have GPUs or the like."""
    return any(map(is_extended, per_node))


def resource_groups(quotas: Mapping[str, PoolQuota]) -> list[ResourceGroup]:
    """One resource group over all pools: those without devices first, otherwise in the order given.

    Kueue tries flavors in the order listed and takes the first that fits (Kueue 0.19.2, flavor assignment): a pod that
    asks for no device fits wherever CPUs are free, and would hold the CPUs of GPU nodes. One that asks for a device
    finds none of it in the pools before, so it passes them.

    A resource may be covered by one group only (Kueue 0.19.2, webhook), so pools share a group and a pool that lacks
    one of its resources gets 0 of it.
    """
    covered = ordered({name for quota in quotas.values() for name in quota.nominal})
    tried = sorted(quotas.items(), key=lambda item: item[1].devices)
    flavors = [FlavorQuotas(name=pool, resources=[_quota(name, quota) for name in covered]) for pool, quota in tried]
    return [ResourceGroup(covered_resources=covered, flavors=flavors)] if covered else []


def _quota(resource: str, quota: PoolQuota) -> ResourceQuota:
    return ResourceQuota(
        name=resource,
        nominal_quota=quota.nominal.get(resource, _ZERO),
        borrowing_limit=None if quota.borrow is None else quota.borrow.get(resource, _ZERO),
        lending_limit=None if quota.lend is None else quota.lend.get(resource, _ZERO),
    )
