"""Changes to queued workloads that Kueue's webhooks refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.checks.gitops.worlds import Manifest, findings, made

PREFIX = "kueue.x-k8s.io"
LABEL = {f"{PREFIX}/queue-name": "train"}


def run(kind: str = "JobSet", labels: Any = LABEL, annotations: Any = None, **spec: Any) -> Manifest:
    versions = {"JobSet": "jobset.x-k8s.io/v1alpha2", "StatefulSet": "apps/v1"}
    version = versions.get(kind, "leaderworkerset.x-k8s.io/v1")
    found = copy.deepcopy(made(version, kind, spec))
    found["metadata"]["labels"] = dict(labels)
    if annotations:
        found["metadata"]["annotations"] = dict(annotations)
    return found


def severities(after: Manifest, before: Manifest, *others: Manifest) -> list[str]:
    found = findings(after, *others, before=[before, *others])
    return [item.severity for item in found if item.code == "change-queued-workload"]


def queue(name: str) -> Manifest:
    return made(f"{PREFIX}/v1beta2", "LocalQueue", {"clusterQueue": "gpus"}, name)


@pytest.mark.parametrize(("was", "now", "bad"), [(2, 3, True), (2, 0, False), (0, 3, False), (2, 2, False)])
def test_a_stateful_set_goes_to_zero_and_back(was: int, now: int, bad: bool) -> None:
    assert severities(run("StatefulSet", replicas=now), run("StatefulSet", replicas=was)) == ["error"] * bad
    unqueued = run("StatefulSet", {}, replicas=now), run("StatefulSet", {}, replicas=was)
    assert severities(*unqueued) == []


def test_the_size_of_a_group_stays() -> None:
    before, after = ({"leaderWorkerTemplate": {"size": size}} for size in (2, 4))
    assert severities(run("LeaderWorkerSet", **after), run("LeaderWorkerSet", **before)) == ["error"]
    more = run("LeaderWorkerSet", replicas=3, **before)
    assert severities(more, run("LeaderWorkerSet", replicas=2, **before)) == []


def test_a_priority_class_may_change_but_not_go() -> None:
    high, low = ({**LABEL, f"{PREFIX}/priority-class": name} for name in ("high", "low"))
    assert severities(run(labels=low), run(labels=high)) == []
    assert severities(run(), run(labels=high)) == ["error"]
    assert severities(run(labels=high), run()) == []


def test_the_queue_of_a_running_workload_stays() -> None:
    other = {f"{PREFIX}/queue-name": "other"}
    assert severities(run(labels=other), run()) == ["warning"]
    assert severities(run(labels={}), run()) == ["warning"]
    assert severities(run(labels={}), run(), queue("default")) == ["error"]


@pytest.mark.parametrize(
    ("was", "now", "bad"),
    [("", "a.io/x", True), ("a.io/x,a.io/y", "a.io/x", False), ("a.io/x", "a.io/y", True), ("a.io/x", "", False)],
)
def test_gates_are_only_taken_away(was: str, now: str, bad: bool) -> None:
    key = f"{PREFIX}/admission-gated-by"
    before, after = ({key: value, "note": value or "none"} if value else {"note": "none"} for value in (was, now))
    assert severities(run(annotations=after), run(annotations=before)) == ["error"] * bad


def test_elastic_is_for_life() -> None:
    assert severities(run(annotations={f"{PREFIX}/elastic-job": "true"}), run()) == ["error"]
