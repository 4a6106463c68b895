"""Numbers of pods below zero, in kinds whose schema is not known here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.api.registry import model_for
from trainshed.checks.rule import Issue, rule
from trainshed.checks.schema_core import is_builtin
from trainshed.fleet.access import whole

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


@rule("pod-count-negative", severity="error", family="pods")
def count_negative(fleet: Fleet) -> Iterator[Issue]:
    """A workload is to have fewer than no pods.

    Why: Not every CustomResourceDefinition has a lower bound. The operator then makes no pod, or refuses the object
    with an event only, and the run waits for ever.
    Fix: Write how many pods there are to be.
    """
    told: set[tuple[int, object]] = set()
    for workload in fleet.workloads:
        for pod_set in workload.pod_sets:
            if pod_set.count_at is None:
                continue
            document, path = pod_set.count_at
            count = whole(document.manifest, *path)
            known = model_for(document.api_version, document.kind) is not None or is_builtin(document.group)
            if count is not None and count < 0 and not known and (id(document), path) not in told:
                told.add((id(document), path))
                message = f"{path[-1]} is {count}: no pod is made of it"
                yield Issue(document, path, message, "write how many pods there are to be")
