"""Containers outside what a LimitRange of their namespace allows."""

from __future__ import annotations

import pytest

from tests.checks.gitops.worlds import KINDS, findings, made


def outside(kind: str, cpu: str, bounds: dict[str, object], namespace: str = "team-a") -> int:
    resources = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
    spec = {"restartPolicy": "Never", "containers": [{"name": "node", "image": "t", "resources": resources}]}
    limits = {"limits": [{"type": "Container", **bounds}]}
    limit_range = made("v1", "LimitRange", limits, "caps", namespace=namespace)
    found = findings(limit_range, *KINDS[kind](spec))
    return len([item for item in found if item.code == "resources-outside-limit-range"])


@pytest.mark.parametrize("kind", ["Job", "CronJob", "JobSet", "LeaderWorkerSet"])
def test_in_every_kind(kind: str) -> None:
    assert outside(kind, "32", {"max": {"cpu": "16"}})
    assert not outside(kind, "16", {"max": {"cpu": "16"}})


def test_both_bounds_and_only_there() -> None:
    assert outside("Job", "500m", {"min": {"cpu": "1"}}) == 1
    assert outside("Job", "2", {"min": {"cpu": "1"}, "max": {"cpu": "2"}}) == 0
    assert outside("Job", "32", {"max": {"memory": "16Gi"}}) == 0
    assert outside("Job", "32", {"max": {"cpu": "16"}}, "team-b") == 0
