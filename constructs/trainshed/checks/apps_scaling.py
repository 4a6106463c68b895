"""What goes with Deployments: disruption budgets and autoscalers that the API server refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.apps_workloads import FAMILY
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, whole

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_AUTOSCALER: Final = ("autoscaling", "HorizontalPodAutoscaler")
_BUDGET: Final = ("policy", "PodDisruptionBudget")


@rule("apps-disruption-budget", severity="error", family=FAMILY)
def disruption_budget(fleet: Fleet) -> Iterator[Issue]:
    """A PodDisruptionBudget has both minAvailable and maxUnavailable.

    Why: The API server refuses it: one number decides how many pods may be evicted.
    Fix: Leave one of them out.
    """
    for document in fleet.of(_BUDGET):
        spec = mapping(document.manifest, "spec")
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        if least is not None and most is not None:
            message = f"minAvailable is {least} and maxUnavailable is {most}, and only one of them may be set"
            yield Issue(document, ("spec", "maxUnavailable"), message, "leave minAvailable or maxUnavailable out")


@rule("apps-autoscaler-bounds", severity="error", family=FAMILY)
def autoscaler_bounds(fleet: Fleet) -> Iterator[Issue]:
    """A HorizontalPodAutoscaler's minReplicas is more than its maxReplicas.

    Why: The API server refuses it. Without minReplicas the least is 1.
    Fix: Write a maxReplicas of at least minReplicas.
    """
    for document in fleet.of(_AUTOSCALER):
        least, most = whole(document.manifest, "spec", "minReplicas"), whole(document.manifest, "spec", "maxReplicas")
        if most is None:
            continue
        if most < 1:
            message = f"maxReplicas is {most}, and must be 1 or more"
            yield Issue(document, ("spec", "maxReplicas"), message, "write 1 or more")
        elif least is not None and least > most:
            message = f"minReplicas is {least}, and maxReplicas {most}: the least may not be more than the most"
            yield Issue(document, ("spec", "minReplicas"), message, f"write minReplicas of at most {most}")
