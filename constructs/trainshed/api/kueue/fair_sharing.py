"""The weight of a queue or cohort when a cohort's unused quota is shared out (Kueue v0.19.2, v1beta2)."""

from collections.abc import Iterator
from typing import Final

from trainshed.api.base import Broken, Model
from trainshed.api.types import CrdQuantity
from trainshed.quantity import Quantity

_ZERO: Final = Quantity(0)
_SMALLEST: Final = Quantity("1n")


class FairSharing(Model):
    """`weight` is relative to the siblings; Kueue's default is 1, and 0 means: only when nobody else wants it."""

    weight: CrdQuantity | None = None


def weight_rules(fair_sharing: FairSharing | None) -> Iterator[Broken]:
    """0, or more than one nano (validateFairSharing). Kueue checks ClusterQueues and Cohorts, not LocalQueues."""
    weight = fair_sharing.weight if fair_sharing else None
    if weight is None or weight == _ZERO or weight > _SMALLEST:
        return
    if weight < _ZERO:
        yield Broken("fairSharing.weight", f"is {weight}, below 0", "write 0 or more")
    else:
        yield Broken("fairSharing.weight", f"is {weight}, too small to count", "write 0, or more than 1n")
