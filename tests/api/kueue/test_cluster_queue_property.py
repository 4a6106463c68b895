"""Random ClusterQueues: the model and the CRD (schema and CEL) agree, except where Kueue's webhook says more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.refusals import refusals
from tests.oracle.crd import crd_errors
from trainshed.api.kueue import ClusterQueue

RESOURCES = ["cpu", "memory", "nvidia.com/gpu", "pods"]
FLAVORS = ["h100", "a100", "spot", "any"]
FUNGIBILITY = st.sampled_from(["MayStopSearch", "TryNextFlavor"])
AMOUNTS = st.one_of(st.integers(0, 2000), st.sampled_from(["500m", "1Gi", "64Gi", "1.5", "0"]))


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


@st.composite
def valid_groups(draw: st.DrawFn, cohort: bool) -> list[dict[str, Any]]:
    """Resources and flavors dealt out to groups, each once; limits only where they are allowed."""
    resources, flavors = draw(st.permutations(RESOURCES)), draw(st.permutations(FLAVORS))
    groups = []
    for _ in range(draw(st.integers(0, 2))):
        covered = [resources.pop() for _ in range(draw(st.integers(1, 2)))]
        used = [flavors.pop() for _ in range(draw(st.integers(1, 2)))]
        groups.append(
            {
                "coveredResources": covered,
                "flavors": [
                    {"name": flavor, "resources": [draw(valid_quota(name, cohort)) for name in covered]}
                    for flavor in used
                ],
            }
        )
    return groups


@st.composite
def valid_quota(draw: st.DrawFn, name: str, cohort: bool) -> dict[str, Any]:
    quota: dict[str, Any] = {"name": name, "nominalQuota": draw(AMOUNTS)}
    if cohort and draw(st.booleans()):
        quota["borrowingLimit"] = draw(AMOUNTS)
    if cohort and draw(st.booleans()):
        quota["lendingLimit"] = draw(st.sampled_from([quota["nominalQuota"], 0]))
    return quota


@st.composite
def valid_queues(draw: st.DrawFn) -> dict[str, Any]:
    cohort = draw(st.booleans())
    spec: dict[str, Any] = {"resourceGroups": draw(valid_groups(cohort))} if draw(st.booleans()) else {}
    if cohort:
        spec["cohortName"] = draw(st.sampled_from(["lab", "a.b-c"]))
    fungibility = draw(optional(whenCanBorrow=FUNGIBILITY, whenCanPreempt=FUNGIBILITY))
    if fungibility == {"whenCanBorrow": "TryNextFlavor"}:
        fungibility["preference"] = "PreemptionOverBorrowing"
    spec |= draw(
        optional(
            flavorFungibility=st.just(fungibility),
            queueingStrategy=st.sampled_from(["StrictFIFO", "BestEffortFIFO"]),
            stopPolicy=st.sampled_from(["None", "Hold", "HoldAndDrain"]),
            namespaceSelector=st.sampled_from([{}, {"matchLabels": {"team": "a"}}]),
            fairSharing=optional(weight=st.sampled_from([0, 1, "2n", "500m"])),
            preemption=st.one_of(
                optional(withinClusterQueue=st.sampled_from(["Never", "LowerPriority"])),
                st.just({"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}),
            ),
        )
    )
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec}


def quota_lists(spec: dict[str, Any]) -> list[list[dict[str, Any]]]:
    lists = [flavor["resources"] for group in spec.get("resourceGroups", []) for flavor in group["flavors"]]
    return [quotas for quotas in lists if quotas]


def drop_a_quota(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    if lists := quota_lists(spec):
        draw(st.sampled_from(lists)).pop()


def repeat_a_quota(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    if lists := quota_lists(spec):
        quotas = draw(st.sampled_from(lists))
        quotas.append(quotas[0])


def leave_the_cohort(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    spec.pop("cohortName", None)


def limit_a_quota(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    if quotas := [quota for quotas in quota_lists(spec) for quota in quotas]:
        draw(st.sampled_from(quotas))[draw(st.sampled_from(["borrowingLimit", "lendingLimit"]))] = draw(AMOUNTS)


def misname_something(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    spec[draw(st.sampled_from(["cohortName", "stopPolicy", "queueingStrategy", "cohort"]))] = "No_such"


def other_fungibility(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    preferences = st.sampled_from(["BorrowingOverPreemption", "Neither"])
    spec["flavorFungibility"] = draw(
        optional(whenCanBorrow=FUNGIBILITY, whenCanPreempt=FUNGIBILITY, preference=preferences)
    )


def other_preemption(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    policies = st.sampled_from(["Never", "LowerPriority"])
    spec["preemption"] = draw(
        optional(
            reclaimWithinCohort=policies, borrowWithinCohort=optional(policy=policies), withinClusterQueue=policies
        )
    )


EDITS = [
    *(drop_a_quota, repeat_a_quota, leave_the_cohort, limit_a_quota),
    *(misname_something, other_fungibility, other_preemption),
]


@st.composite
def edited_queues(draw: st.DrawFn) -> dict[str, Any]:
    """A valid ClusterQueue after one or two edits that often, not always, break a rule."""
    manifest: dict[str, Any] = draw(valid_queues())
    for edit in draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=2)):
        edit(draw, manifest["spec"])
    return manifest


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(manifest=valid_queues())
def test_a_valid_queue_passes_both(shared: Path, manifest: dict[str, Any]) -> None:
    assert crd_errors(manifest) == []
    assert refusals(ClusterQueue, manifest) == []
    parsed = ClusterQueue.parse(manifest)
    assert ClusterQueue.parse(parsed.manifest()) == parsed
    assert crd_errors(parsed.manifest()) == []


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(manifest=edited_queues())
def test_what_the_crd_refuses_the_model_refuses(shared: Path, manifest: dict[str, Any]) -> None:
    if crd_errors(manifest):
        assert refusals(ClusterQueue, manifest) != []
