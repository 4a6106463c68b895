"""Resource lists of manifests that may hold anything, as exact amounts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from trainshed.quantity import Quantity

Amounts = dict[str, Quantity]

ZERO: Final = Quantity(0)
_LONGEST: Final = 64


@lru_cache(maxsize=1 << 14, typed=True)
def _parsed(value: str | int | float) -> Quantity | None:
    try:
        return Quantity(value)
    except (ValueError, OverflowError):
        return None


def quantity(value: Any) -> Quantity | None:
    """The value as a quantity, or None where it is none. Quantities read from equal text are one shared object."""
    kind = value.__class__
    if kind is str:
        return _parsed(value) if len(value) <= _LONGEST else None
    return _parsed(value) if kind is int or kind is float else None


def amounts(node: Any) -> Amounts:
    """A resource list (`{"cpu": "4", …}`) without the entries that are no quantities."""
    if node.__class__ is not dict:
        return {}
    return {name: amount for name, value in node.items() if (amount := quantity(value)) is not None}


def add(total: Amounts, more: Amounts) -> None:
    """Adds `more` to `total`, in place."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def raise_to(total: Amounts, other: Amounts) -> None:
    """Raises each amount of `total` to that of `other` where it is lower or missing, in place."""
    for name, amount in other.items():
        if name not in total or total[name] < amount:
            total[name] = amount
