"""LeaderWorkerSet: the webhook's rules, each broken alone."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.api.faulted import faulted
from trainshed.api.lws import LeaderWorkerSet


def manifest(group: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    worker = {"spec": {"containers": [{"name": "a", "image": "i"}]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "a"},
        "spec": {"leaderWorkerTemplate": {"workerTemplate": worker, **(group or {})}, **spec},
    }


GOOD = [
    manifest(),
    manifest({"size": 4, "subGroupPolicy": {"subGroupSize": 2}}),
    manifest({"size": 5, "subGroupPolicy": {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}}),
    manifest({"size": 5, "subGroupPolicy": {"subGroupSize": 2}}),
    manifest(rolloutStrategy={"rollingUpdateConfiguration": {"maxUnavailable": 0, "maxSurge": "25%"}}),
    manifest(replicas=0, startupPolicy="LeaderReady", networkConfig={"subdomainPolicy": "UniquePerReplica"}),
]
POD = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "i"}]}
BAD = [
    (manifest({"size": 0}), "size"),
    (manifest({"size": 3, "subGroupPolicy": {}}), "subGroupSize: is missing"),
    (manifest({"size": 3, "subGroupPolicy": {"subGroupSize": 4}}), "4 is more than the group's size 3"),
    (manifest({"size": 6, "subGroupPolicy": {"subGroupSize": 4}}), "divides neither size 6 nor 5"),
    (
        manifest({"size": 4, "subGroupPolicy": {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}}),
        "2 does not divide the 3 workers",
    ),
    (manifest({"leaderTemplate": {"spec": POD}}), "takes only Always"),
    (manifest({"size": 3000}, replicas=1_000_000), "pods, more than"),
    (manifest(replicas=1_000_001), "replicas"),
    (manifest(rolloutStrategy={"rollingUpdateConfiguration": {"maxUnavailable": 0}}), "no group could ever change"),
    (manifest(rolloutStrategy={"rollingUpdateConfiguration": {"maxSurge": "101%"}}), "neither a number nor"),
    (manifest(networkConfig={}), "subdomainPolicy"),
    (manifest({"restartPolicy": "Always"}), "restartPolicy"),
    ({**manifest(), "metadata": {"name": "1a"}}, "metadata.name"),
]


@pytest.mark.parametrize("good", GOOD)
def test_good_ones_read_back(good: dict[str, Any]) -> None:
    assert LeaderWorkerSet.parse(good).manifest() == good


@pytest.mark.parametrize(("bad", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_ones_are_refused(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError):
        LeaderWorkerSet.parse(bad)
    (told,) = faulted(LeaderWorkerSet, bad)
    assert words in told
