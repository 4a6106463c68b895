"""Amounts of a node pool: whole nodes, or explicit resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.types import Int32
from trainshed.quantity import Quantity

Resources = dict[str, Quantity]

#: The order in which Kueue's coveredResources are listed: what every pod needs first, then devices by name.
_FIRST = ("cpu", "memory")


class Share(Model):
    """A part of a node pool: `nodes` (whole nodes, times what one offers) or `resources` (explicit amounts)."""

    nodes: Annotated[Int32, Field(ge=0)] | None = None
    resources: Resources | None = None

    def rules(self) -> Iterator[Broken]:
        """Exactly one of the two, and no negative amount."""
        if (self.nodes is None) == (self.resources is None):
            yield Broken("", "needs either nodes or resources", 'write for example "nodes: 3"')
        for name, amount in (self.resources or {}).items():
            if amount < Quantity(0):
                yield Broken(f"resources[{name}]", f"{amount} is negative", "write 0 or more")

    def of(self, per_node: Mapping[str, Quantity]) -> Resources:
        """The amounts this share stands for, in a pool whose nodes offer `per_node` each."""
        if self.resources is not None:
            return dict(self.resources)
        return {name: amount * (self.nodes or 0) for name, amount in per_node.items()}


def nodes(count: int) -> Share:
    """`count` whole nodes of the pool. Raises pydantic.ValidationError for a negative count."""
    return Share(nodes=count)


def resources(**amounts: str | int | Quantity) -> Share:
    """Explicit amounts; a name with other characters is given as `resources(**{"nvidia.com/gpu": 24})`.

    Raises pydantic.ValidationError for what is no quantity, and for a negative one.
    """
    return Share.model_validate({"resources": amounts})


def ordered(names: set[str]) -> list[str]:
    """Resource names in the order Trainshed lists them: cpu, memory, then the rest by name."""
    return [name for name in _FIRST if name in names] + sorted(names.difference(_FIRST))


def total(amounts: list[Resources]) -> Resources:
    """The sum of several resource lists, per resource."""
    summed: Resources = {}
    for amount in amounts:
        for name, quantity in amount.items():
            summed[name] = summed[name] + quantity if name in summed else quantity
    return summed
