"""What is handed to a component: other components, and shares by node pool, checked where they are handed over.

A type checker finds these mistakes too; here they are told to those who run none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from trainshed.gitops.component import Component
from trainshed.quantity import Quantity
from trainshed.tenancy.external import same_cluster
from trainshed.tenancy.pool import NodePool
from trainshed.tenancy.shares import Resources, Share

Unlimited = Literal["unlimited"]
S = TypeVar("S", Share, Share | Unlimited)

_ZERO = Quantity(0)


def by_pool(user: Component, shares: Mapping[NodePool, S] | None, field: str, *words: str) -> dict[NodePool, S]:
    """`shares` without those that are not a Share (or one of `words`) of a pool of the user's cluster: each is told."""
    if not isinstance(shares, Mapping):
        if shares is not None:
            user.fault(f"is {shares!r}", field=field, fix="write for example {pool: nodes(3)}")
        return {}
    sound: dict[NodePool, S] = {}
    for pool, share in shares.items():
        if not isinstance(pool, NodePool):
            user.fault(f"{pool!r} is no NodePool", field=field, fix="use the NodePool itself as the key")
        elif not isinstance(share, Share) and share not in words:
            choices = " or ".join(["nodes(…)", "resources(…)", *(f'"{word}"' for word in words)])
            user.fault(f"is {share!r}", field=f"{field}.{pool.name}", fix=f"write {choices}")
        elif same_cluster(user, pool, field):
            sound[pool] = share
    return sound


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


def lendable(user: Component, lend: Mapping[NodePool, Share], owned: Mapping[NodePool, Share]) -> dict[NodePool, Share]:
    """`lend` without the pools of which more is lent than owned: each is told (Kueue 0.19.2, webhook on quotas)."""
    sound = {}
    for pool, share in lend.items():
        if error := over_lent(share, owned.get(pool), pool.per_node):
            user.fault(error, field=f"lend.{pool.name}", fix="lend less", at=("lend", pool.name))
        else:
            sound[pool] = share
    return sound
