"""A change that removes a KAI queue which others still name; sizes of coscheduling's PodGroups."""

from __future__ import annotations

import pytest

from tests.checks.gitops.worlds import Manifest, codes, job, made, pod

LABEL = {"kai.scheduler/queue": "team"}


def queue(name: str, parent: str = "") -> Manifest:
    shares = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec = {"resources": {"cpu": shares, "memory": dict(shares), "gpu": dict(shares)}}
    return made(
        "scheduling.run.ai/v2", "Queue", spec | ({"parentQueue": parent} if parent else {}), name, namespace=None
    )


def test_a_parent_is_removed() -> None:
    before = [queue("org"), queue("team", "org")]
    assert "change-removes-referenced" in codes(queue("team", "org"), before=before)
    assert "change-removes-referenced" not in codes(queue("org"), before=before)


def test_the_queue_of_a_run_is_removed() -> None:
    run = job(pod(schedulerName="kai-scheduler"), labels=LABEL)
    before = [queue("org"), queue("team", "org"), run]
    assert "change-removes-referenced" in codes(queue("org"), run, before=before)
    assert "change-removes-referenced" not in codes(*before, before=before)


@pytest.mark.parametrize(("least", "bad"), [(0, True), (-1, True), (1, False), (4, False)])
def test_a_coscheduling_group_has_pods(least: int, bad: bool) -> None:
    group = made("scheduling.x-k8s.io/v1alpha1", "PodGroup", {"minMember": least}, name="ring")
    assert ("coscheduling-min-member" in codes(group)) is bad
