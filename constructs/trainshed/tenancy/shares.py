"""Amounts of a node pool: whole nodes, or explicit resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import AfterValidator, Field, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from trainshed.api.base import Broken
from trainshed.api.core.resources import is_extended, node_resource_error
from trainshed.api.types import Int32, shaped
from trainshed.gitops.values import Value, made, read_as
from trainshed.quantity import Quantity

_AMOUNT: Final = TypeAdapter(Quantity)


def _quantity(value: Any) -> Any:
    amount: Quantity = _AMOUNT.validate_python(value)
    if amount < Quantity(0):
        raise PydanticCustomError("quantity", "{amount} is negative; write 0 or more", {"amount": str(amount)})
    return value


#: `cpu`, `memory`, or a device such as `nvidia.com/gpu`.
ResourceName = Annotated[str, shaped(node_resource_error)]
Resources = dict[str, Quantity]
#: As people write an amount: 8, "64Gi", 0.5.
AnyAmount = str | int | float | Quantity
#: One that is not negative.
Amount = Annotated[AnyAmount, AfterValidator(_quantity)]

_WHOLE: Final = "devices are counted whole"
#: Counted in bytes; whatever is meant is more than this.
_MEASURED: Final = ("memory", "ephemeral-storage")
_SMALLEST: Final = Quantity("1Mi")

#: The order in which Kueue's coveredResources are listed: what every pod needs first, then devices by name.
_FIRST = ("cpu", "memory")


class Share(Value):
    """A part of a node pool: `nodes` (whole nodes, times what one offers) or `resources` (explicit amounts)."""

    example: ClassVar[str] = "nodes(3)"

    nodes: Annotated[Int32, Field(ge=0)] | None = None
    resources: Annotated[Mapping[str, AnyAmount], read_as(Resources)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _no_number(cls, given: Any) -> Any:
        if isinstance(given, int) and not isinstance(given, bool):
            told = f"is the number {given}, must be a mapping; write {{nodes: {given}}}"
            raise PydanticCustomError("share", "{told}", {"told": told})
        return given

    @property
    def amounts(self) -> Resources:
        """The explicit amounts, none where the share counts nodes."""
        return cast("Resources", self.resources or {})

    def rules(self) -> Iterator[Broken]:
        """Exactly one of the two, and no negative amount."""
        if (self.nodes is None) == (self.resources is None):
            yield Broken("", "needs either nodes or resources", 'write for example "nodes: 3"')
        yield from amount_rules(self.amounts, "resources")

    def of(self, per_node: Mapping[str, Quantity]) -> Resources:
        """The amounts this share stands for, in a pool whose nodes offer `per_node` each."""
        if self.resources is not None:
            return dict(self.amounts)
        return {name: amount * (self.nodes or 0) for name, amount in per_node.items()}


def nodes(count: int) -> Share:
    """`count` whole nodes of the pool. A count that is none is told as a mistake (see `gitops.values`)."""
    return made(Share, "nodes()", {"nodes": count}, lambda _: "count")


def resources(**amounts: AnyAmount) -> Share:
    """Explicit amounts; a name with other characters is given as `resources(**{"nvidia.com/gpu": 24})`.

    What is no quantity, a negative one, and a part of a device are told as mistakes (see `gitops.values`).
    """
    return made(Share, "resources()", {"resources": amounts}, _argument)


def _argument(field: str) -> str:
    return field.removeprefix("resources[").removesuffix("]")


def amount_rules(amounts: Mapping[str, Quantity], field: str) -> Iterator[Broken]:
    """No negative amount, devices whole, memory with a unit; each name is a resource's."""
    for name, amount in amounts.items():
        if error := node_resource_error(name):
            told, _, fix = error.partition("; ")
            yield Broken(f"{field}[{name}]", f"the key is wrong: {told}", fix or 'write for example "nvidia.com/gpu"')
        elif amount < Quantity(0):
            yield Broken(f"{field}[{name}]", f"{amount} is negative", "write 0 or more")
        else:
            yield from unit_rules(name, amount, f"{field}[{name}]")


def unit_rules(name: str, amount: Quantity, field: str) -> Iterator[Broken]:
    """Devices are whole, and memory is more than some bytes: a number without a unit is that."""
    if is_extended(name) and not amount.is_whole():
        yield Broken(field, f"{amount.value.numerator / amount.value.denominator} is not a whole number", _WHOLE)
    elif name in _MEASURED and Quantity(0) < amount < _SMALLEST:
        few = str(amount).isdigit()
        told = f"{amount} is bytes" if few else f"{amount} is less than {_SMALLEST}"
        yield Broken(field, told, f'write it with its unit, such as "{amount if few else 64}Gi"')


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
