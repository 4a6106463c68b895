"""The manager's settings, what webhooks read in annotations, and what transformations ask for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.kueue.worlds import (
    cluster_queue,
    codes,
    configuration,
    findings,
    flavor,
    job,
    local_queue,
    metadata,
    template,
)

WAIT = "waitForPodsReady"
FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
QUEUE = {"kueue.x-k8s.io/queue-name": "train"}
SLICES = "kueue.x-k8s.io/podset-slice-required-topology-constraints"


def faults(**settings: Any) -> list[str]:
    return [item.message for item in findings(configuration(**settings)) if item.code == "kueue-manager-config"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"manageJobsWithoutQueueNames": True}, "manageJobsWithoutQueueNames"),
        ({WAIT: {"timeout": "10m", "requeueingStrategy": {}}}, "waitForPodsReady.requeueingStrategy"),
        ({"integrations": {"podOptions": {}}}, "integrations.podOptions"),
        ({WAIT: {"timeout": "0s"}}, "must be above 0"),
        ({WAIT: {"timeout": 600}}, "no duration"),
        ({WAIT: {"timeout": "10 minutes"}}, "no duration"),
        ({WAIT: {"timeout": "1m", "recoveryTimeout": "-1m"}}, "below 0"),
        ({WAIT: {"timeout": "1m", "requeuingStrategy": {"timestamp": "Admission"}}}, '"Admission"'),
        ({WAIT: {"timeout": "1m", "requeuingStrategy": {"backoffLimitCount": -1}}}, "backoffLimitCount is -1"),
        ({"fairSharing": {"preemptionStrategies": [INITIAL, FINAL]}}, "preemptionStrategies"),
        ({"resources": {"quotaCheckStrategy": "Ignore"}}, '"Ignore"'),
        ({"resources": {"transformations": [{"input": "a", "strategy": "Drop"}]}}, '"Drop"'),
        ({"resources": {"transformations": [{"input": "a"}, {"input": "a"}]}}, "transformed twice"),
        ({"featureGates": {"TopologyAwareScheduling": False, "TASProfileMixed": True}}, "TASProfileMixed"),
        ({"multiKueue": {"incrementalDispatcherConfig": {"stepSize": 2}}}, "another dispatcher"),
        ({"tls": {"minVersion": "VersionTLS13", "cipherSuites": ["A"]}}, "tls.cipherSuites"),
        ({"admissionFairSharing": {"usageSamplingInterval": "0s"}}, "usageSamplingInterval"),
        ({"admissionFairSharing": {"resourceWeights": {"cpu": -1}}}, "resourceWeights[cpu]"),
    ],
)
def test_a_setting_with_which_the_manager_does_not_start(settings: dict[str, Any], words: str) -> None:
    (message,) = faults(**settings)
    assert words in message


def test_settings_with_which_it_starts() -> None:
    assert not faults(
        namespace="kueue-system",
        health={"healthProbeBindAddress": ":8081"},
        metrics={"bindAddress": ":8443", "enableClusterQueueResources": True},
        leaderElection={"leaderElect": True, "resourceName": "kueue"},
        controller={"groupKindConcurrency": {"Job.batch": 5}, "cacheSyncTimeout": 120000000000},
        clientConnection={"qps": 300, "burst": 500},
        waitForPodsReady={
            "timeout": "1h30m",
            "recoveryTimeout": "0s",
            "requeuingStrategy": {"timestamp": "Creation", "backoffLimitCount": 0},
        },
        fairSharing={"preemptionStrategies": [FINAL]},
        admissionFairSharing={"usageHalfLifeTime": "0", "resourceWeights": {"memory": 0}},
        resources={"transformations": [{"input": "a", "strategy": "Replace", "outputs": {"b": 1}}, {"input": "c"}]},
        featureGates={"TopologyAwareScheduling": False, "TASProfileMixed": False},
        multiKueue={
            "dispatcherName": "kueue.x-k8s.io/multikueue-dispatcher-incremental",
            "incrementalDispatcherConfig": {"stepSize": 2},
        },
        objectRetentionPolicies={"workloads": {"afterFinished": "168h"}},
    )


def test_an_older_configuration_is_not_judged_by_the_fields_of_this_one() -> None:
    assert not faults(apiVersion="config.kueue.x-k8s.io/v1beta1", queueVisibility={"clusterQueues": {"maxCount": 10}})


@pytest.mark.parametrize(
    ("gates", "bad"),
    [
        ("example.com/a", False),
        ("example.com/a,example.com/b", False),
        ("example.com/a,example.com/a", True),
        ("data-ready", True),
        ("example.com/a,", True),
        ("example.com/" + "a" * 60, True),
    ],
)
def test_what_gates_admission(gates: str, bad: bool) -> None:
    made = job(template({"cpu": "1"}), metadata(QUEUE, {"kueue.x-k8s.io/admission-gated-by": gates}))
    assert ("kueue-admission-gated-by" in codes(made)) == bad


@pytest.mark.parametrize(
    ("levels", "bad"),
    [
        ('[{"topology": "block", "size": 4}, {"topology": "rack", "size": 2}]', False),
        ('[{"topology": "block", "size": 2}, {"topology": "rack", "size": 4}]', True),
        ('[{"topology": "block", "size": 4}, {"topology": "block", "size": 2}]', True),
        ('[{"topology": "block", "size": 0}]', True),
        ('[{"topology": "block", "size": 8}]', True),
        ('[{"topology": "block", "size": "4"}]', True),
    ],
)
def test_nested_topology_slices(levels: str, bad: bool) -> None:
    pod = template({"cpu": "1"})
    pod["metadata"] = {"annotations": {SLICES: levels}}
    made = job(pod, metadata(QUEUE), parallelism=4, completions=4)
    assert ("kueue-topology-annotation-invalid" in codes(made)) == bad


@pytest.mark.parametrize(("group", "bad"), [("1", True), ("leader-and-workers", False)])
def test_a_podset_group_is_no_number(group: str, bad: bool) -> None:
    pod = template({"cpu": "1"})
    pod["metadata"] = {
        "annotations": {
            "kueue.x-k8s.io/podset-group-name": group,
            "kueue.x-k8s.io/podset-required-topology": "example.com/rack",
        }
    }
    messages = [item.message for item in findings(job(pod, metadata(QUEUE)))]
    assert any("a number" in message for message in messages) == bad


@pytest.mark.parametrize(("credits", "bad"), [({}, True), ({"example.com/credits": "100"}, False)])
def test_what_a_transformation_makes_of_a_request_must_be_covered(credits: dict[str, str], bad: bool) -> None:
    change = {"input": "cpu", "outputs": {"example.com/credits": 10}}
    settings = configuration(resources={"transformations": [change]})
    world = [flavor(), cluster_queue("gpu", {"h100": {"cpu": "8"} | credits}), local_queue()]
    found = findings(*world, settings, job(template({"cpu": "1"}), metadata(QUEUE)))
    uncovered = [item for item in found if item.code == "kueue-uncovered-resource"]
    assert bool(uncovered) == bad
    assert all("transformations make of cpu" in item.message for item in uncovered)


def test_a_quota_below_zero_is_told_once() -> None:
    world = [flavor(), cluster_queue("gpu", {"h100": {"cpu": "-1"}}), local_queue()]
    assert "kueue-quota-unit" not in codes(*world)


@pytest.mark.parametrize(
    ("policy", "bad"),
    [({"policy": "Never"}, True), ({}, True), ({"policy": "LowerPriority"}, False)],
)
def test_a_threshold_is_read_with_a_policy_only(policy: dict[str, str], bad: bool) -> None:
    preemption = {"reclaimWithinCohort": "Any", "borrowWithinCohort": policy | {"maxPriorityThreshold": 100}}
    queue = cluster_queue("gpu", {"h100": {"cpu": "8"}}, cohortName="org", preemption=preemption)
    found = codes(flavor(), queue, cluster_queue("other", {"h100": {"cpu": "8"}}, cohortName="org"))
    assert ("kueue-borrow-within-cohort-unused" in found) == bad


@pytest.mark.parametrize(("weight", "bad"), [("-1", True), ("1", False), ("500m", False)])
def test_a_weight_below_zero(weight: str, bad: bool) -> None:
    queue = local_queue(fairSharing={"weight": weight})
    world = [flavor(), cluster_queue("gpu", {"h100": {"cpu": "8"}}), queue]
    assert ("kueue-zero-weight-first" in codes(*world)) == bad


class TestWeights:
    """A weight counts only where something shares by it."""

    @pytest.mark.parametrize(("weight", "bad"), [("3", True), (3, True), ("1", False), ("1000m", False)])
    def test_of_a_cluster_queue_without_fair_sharing(self, weight: Any, bad: bool) -> None:
        queue = cluster_queue(fairSharing={"weight": weight})
        assert ("kueue-weight-unused" in codes(configuration(), flavor(), queue)) is bad
        assert "kueue-weight-unused" not in codes(flavor(), queue)
        sharing = configuration(fairSharing={"preemptionStrategies": [FINAL]})
        assert "kueue-weight-unused" not in codes(sharing, flavor(), queue)

    @pytest.mark.parametrize(("weight", "bad"), [("3", True), ("1", False)])
    def test_of_a_local_queue_without_admission_scope(self, weight: str, bad: bool) -> None:
        local = local_queue(fairSharing={"weight": weight})
        assert ("kueue-weight-unused" in codes(flavor(), cluster_queue(), local)) is bad
        scope = {"admissionMode": "UsageBasedAdmissionFairSharing"}
        assert "kueue-weight-unused" not in codes(flavor(), cluster_queue(admissionScope=scope), local)
        assert "kueue-weight-unused" not in codes(local)


@pytest.mark.parametrize(("place", "bad"), [("template", True), ("job", False)])
def test_parameters_of_a_provisioning_request_are_read_on_the_job(place: str, bad: bool) -> None:
    note = {"annotations": {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": "3600"}}
    run = job(template(), metadata(QUEUE))
    (run["spec"]["template"].setdefault("metadata", {}) if place == "template" else run["metadata"]).update(note)
    assert ("kueue-annotation-misplaced" in codes(run)) is bad
