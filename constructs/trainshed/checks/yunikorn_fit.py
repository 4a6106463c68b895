"""Pods that are larger than their YuniKorn queue ever gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.rule import Issue, rule
from trainshed.checks.yunikorn_config import FAMILY
from trainshed.checks.yunikorn_gangs import shown_amount
from trainshed.checks.yunikorn_pods import Groups, pods, queue_of
from trainshed.fleet.yunikorn_config import demand

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


@rule("yunikorn-pod-over-max", severity="error", family=FAMILY, targets=("yunikorn",))
def pod_over_max(fleet: Fleet) -> Iterator[Issue]:
    """One pod requests more than the max of its queue, or of a queue above.

    Why: A pod is placed only while what is allocated and what it requests stay within max at every level; one that is
    larger than the max waits for ever.
    Fix: Request less, raise the max, or name another queue.
    """
    config = fleet.yunikorn[0] if fleet.yunikorn else None
    for _, pod_set in pods(fleet) if config is not None else ():
        name = queue_of(pod_set)
        queue = config.find(name) if config is not None and name else None
        if config is None or queue is None or Groups(pod_set).listed:
            continue
        needs = demand(pod_set.requests)
        for level in queue.line():
            over = [item for item, amount in needs.items() if item in level.max and amount > level.max[item]]
            if over:
                needed, allowed = shown_amount(needs[over[0]]), shown_amount(level.max[over[0]])
                message = (
                    f"one pod requests {needed} {over[0]}, and the max of queue {level.path} is {allowed}: it waits"
                )
                document, path = pod_set.at(("spec", "containers"))
                related = (("the queues", config.document, config.path),)
                yield Issue(
                    document, path, f"{message}: it waits for ever", "request less, or raise the max", None, related
                )
                break
