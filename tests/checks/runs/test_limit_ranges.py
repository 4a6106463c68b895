"""Containers outside what a LimitRange or a ResourceQuota of their namespace allows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.gitops.worlds import KINDS, findings, made


def outside(kind: str, cpu: str, bounds: Any, namespace: str = "team-a") -> int:
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


def refused(hard: dict[str, str], resources: Any, *others: Any, kind: str = "Job") -> int:
    spec = {"restartPolicy": "Never", "containers": [{"name": "node", "image": "t", "resources": resources}]}
    quota = made("v1", "ResourceQuota", {"hard": hard}, "caps")
    found = findings(quota, *KINDS[kind](spec), *others)
    return len([item for item in found if item.code == "resources-over-namespace-quota"])


@pytest.mark.parametrize("kind", ["Job", "CronJob", "JobSet", "LeaderWorkerSet", "VolcanoJob"])
def test_one_pod_above_the_quota_of_its_namespace(kind: str) -> None:
    gpus = {"limits": {"nvidia.com/gpu": 8}}
    assert refused({"requests.nvidia.com/gpu": "4"}, gpus, kind=kind)
    assert not refused({"requests.nvidia.com/gpu": "8", "pods": "1", "count/jobs.batch": "0"}, gpus, kind=kind)


def test_what_a_quota_counts_must_be_written_or_defaulted() -> None:
    asked = {"requests": {"memory": "1Gi"}}
    assert refused({"limits.memory": "64Gi"}, asked) == 1
    assert refused({"requests.memory": "64Gi"}, asked) == 0
    assert refused({"memory": "64Gi"}, {"limits": {"memory": "1Gi"}}) == 0
    defaults = {"limits": [{"type": "Container", "default": {"memory": "4Gi"}}]}
    assert refused({"limits.memory": "64Gi"}, asked, made("v1", "LimitRange", defaults, "defaults")) == 0


def test_a_quota_for_some_pods_only_is_not_judged() -> None:
    quota = made("v1", "ResourceQuota", {"hard": {"cpu": "1"}, "scopes": ["Terminating"]}, "caps")
    spec = {"containers": [{"name": "a", "image": "t", "resources": {"requests": {"cpu": "8"}}}]}
    found = findings(quota, *KINDS["Job"](spec))
    assert "resources-over-namespace-quota" not in [item.code for item in found]
