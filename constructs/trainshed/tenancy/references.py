"""Shares by node pool, as components are handed them."""

from __future__ import annotations

from collections.abc import Mapping

from trainshed.gitops.component import Component
from trainshed.quantity import Quantity
from trainshed.tenancy.pool import NodePool
from trainshed.tenancy.shares import Resources, Share

_ZERO = Quantity(0)


def over_lent(lent: Share, owned: Share | None, per_node: Resources) -> str:
    """What is wrong when more of a pool is lent than owned; empty when all is well."""
    if owned is None:
        return "is lent, but nothing of this pool is owned"
    if lent.nodes is not None and owned.nodes is not None:
        return f"is {lent.nodes} nodes, more than the {owned.nodes} owned" if lent.nodes > owned.nodes else ""
    mine = owned.of(per_node)
    more = [
        f"is {amount} {name}, more than the {mine.get(name, _ZERO)} owned"
        for name, amount in lent.of(per_node).items()
        if amount > mine.get(name, _ZERO)
    ]
    return ", ".join(more)


def lendable(
    user: Component, lend: Mapping[NodePool, Share] | None, owned: Mapping[NodePool, Share]
) -> dict[NodePool, Share]:
    """`lend` without the pools of which more is lent than owned: each is told (Kueue 0.19.2, webhook on quotas)."""
    sound = {}
    for pool, share in (lend or {}).items():
        if error := over_lent(share, owned.get(pool), pool.per_node):
            user.fault(error, field=f"lend.{pool.name}", fix="lend less", at=("lend", pool.name))
        else:
            sound[pool] = share
    return sound
