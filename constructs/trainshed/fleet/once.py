"""What is worked out once for each fleet."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

T = TypeVar("T")


def once(work: Callable[[Fleet], T]) -> Callable[[Fleet], T]:
    """`work`, whose answer the fleet keeps for everybody who asks: no generator, and not to be changed."""

    @wraps(work)
    def kept(fleet: Fleet) -> T:
        if work not in fleet.kept:
            fleet.kept[work] = work(fleet)
        found: T = fleet.kept[work]
        return found

    return kept
