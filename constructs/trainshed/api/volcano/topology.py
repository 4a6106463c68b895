"""How close together Volcano must place pods: shared by Job, its tasks' partitions, PodGroup and its subgroups."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.types import Int64, Str


class NetworkTopologySpec(Model):
    """The highest tier of HyperNodes that pods may spread over: by number or by name.

    `mode` hard (the default) waits for such a place, soft prefers it. Volcano v1.15.1; without a highest tier, hard is
    not enforced.
    """

    mode: Literal["hard", "soft"] | None = None
    highest_tier_allowed: Annotated[Int64, Field(ge=0)] | None = None
    highest_tier_name: Annotated[Str, Field(max_length=253)] | None = None

    def rules(self) -> Iterator[Broken]:
        """Not both ways to name a tier (`pkg/webhooks/admission`, jobs and podgroups)."""
        if self.highest_tier_allowed is not None and self.highest_tier_name:
            yield Broken("highestTierName", "is set beside highestTierAllowed", "keep one of them")
