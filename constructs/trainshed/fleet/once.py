"""What is worked out once for each fleet, or for each pod template."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar


class Keeper(Protocol):
    """What answers are kept in: a Fleet, a PodSet."""

    kept: dict[object, Any]


K = TypeVar("K", bound=Keeper)
T = TypeVar("T")


def once(work: Callable[[K], T]) -> Callable[[K], T]:
    """`work`, whose answer its argument keeps for everybody who asks: no generator, and not to be changed."""

    @wraps(work)
    def kept(of: K) -> T:
        if work not in of.kept:
            of.kept[work] = work(of)
        found: T = of.kept[work]
        return found

    return kept
