"""A fault is found in every kind of workload that Kueue queues, and nothing is found where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.kueue.worlds import (
    KINDS,
    KUEUE,
    QUEUE,
    Manifest,
    cluster_queue,
    codes,
    findings,
    flavor,
    fleet,
    local_queue,
    metadata,
    platform,
    template,
    train_job,
)

every_kind = pytest.mark.parametrize("kind", KINDS)


def queued(kind: str, pod: Manifest | None = None, **meta: Any) -> Manifest:
    return KINDS[kind](pod or template(), metadata(**meta))


@every_kind
def test_a_good_workload_is_left_alone(kind: str) -> None:
    assert codes(*platform(), queued(kind)) == []


@every_kind
def test_a_queue_of_another_namespace_is_missing(kind: str) -> None:
    world = [flavor(), cluster_queue(), local_queue(namespace="basalt")]
    (found,) = findings(*world, queued(kind))
    assert found.code == "kueue-local-queue-missing"
    assert "basalt" in found.message


@every_kind
def test_a_misspelt_queue_is_proposed(kind: str) -> None:
    (found,) = findings(*platform(), queued(kind, labels={QUEUE: "trian"}))
    assert (found.code, found.severity) == ("kueue-local-queue-missing", "error")
    assert 'did you mean "train"?' in found.fix


@every_kind
def test_a_resource_that_the_queue_does_not_cover(kind: str) -> None:
    pod = template({"cpu": "1", "rdma/hca": "1"})
    (found,) = findings(*platform(), queued(kind, pod))
    assert found.code == "kueue-uncovered-resource"
    assert "rdma/hca" in found.message
    assert found.path.endswith("resources.requests[rdma/hca]")


@every_kind
def test_more_than_the_queue_can_ever_reach(kind: str) -> None:
    (found,) = findings(*platform(), queued(kind, template({"nvidia.com/gpu": "17"})))
    assert found.code == "kueue-never-admitted"
    assert "needs 17 of nvidia.com/gpu" in found.message
    assert "can reach 16" in found.message


@every_kind
def test_pods_without_requests(kind: str) -> None:
    assert codes(*platform(), queued(kind, template({}))) == ["kueue-no-covered-request"]


@every_kind
def test_a_taint_that_nobody_tolerates(kind: str) -> None:
    taint = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
    world = [flavor(nodeTaints=[taint]), cluster_queue(), local_queue()]
    assert codes(*world, queued(kind)) == ["kueue-untolerated-taint"]
    tolerant = template(tolerations=[{"key": "dedicated", "operator": "Exists"}])
    assert codes(*world, queued(kind, tolerant)) == []


@every_kind
def test_a_node_selector_that_no_flavor_has(kind: str) -> None:
    pod = template(nodeSelector={"example.com/gpu": "a100"})
    assert codes(*platform(), queued(kind, pod)) == ["kueue-no-matching-flavor"]
    assert codes(*platform(), queued(kind, template(nodeSelector={"example.com/zone": "b"}))) == []


@every_kind
@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ["a100", "h200"], ["kueue-no-matching-flavor"]),
        ("NotIn", ["h100"], ["kueue-no-matching-flavor"]),
        ("DoesNotExist", [], ["kueue-no-matching-flavor"]),
        ("In", ["a100", "h100"], []),
        ("Exists", [], []),
    ],
)
def test_a_required_node_affinity(kind: str, operator: str, values: list[str], expected: list[str]) -> None:
    requirement = {"key": "example.com/gpu", "operator": operator, "values": values}
    term = {"matchExpressions": [requirement]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod = template(affinity={"nodeAffinity": required})
    assert codes(*platform(), queued(kind, pod)) == expected


@every_kind
def test_a_topology_request_without_a_topology_flavor(kind: str) -> None:
    pod = template(annotations={f"{KUEUE}/podset-required-topology": "example.com/rack"})
    assert codes(*platform(), queued(kind, pod)) == ["kueue-topology-not-supported"]


@every_kind
@pytest.mark.parametrize("key", ["queue-name", "priority-class"])
def test_a_label_that_is_written_as_an_annotation(kind: str, key: str) -> None:
    labels = {} if key == "queue-name" else {QUEUE: "train"}
    written = queued(kind, labels=labels, annotations={f"{KUEUE}/{key}": "train"})
    (found,) = findings(*platform(), written)
    assert (found.code, found.severity) == ("kueue-queue-label-misplaced", "error")
    assert "annotation" in found.message


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("Pod", "LeaderWorkerSet", "Deployment", "StatefulSet")]
)
def test_a_queue_on_the_pod_template(kind: str) -> None:
    pod = template() | {"metadata": {"labels": {QUEUE: "train"}}}
    assert codes(*platform(), queued(kind, pod, labels={"app": "a"})) == ["kueue-queue-label-misplaced"]
    assert codes(*platform(), queued(kind, pod)) == []


@pytest.mark.parametrize("kind", ["LeaderWorkerSet", "Deployment", "StatefulSet"])
def test_a_queue_on_the_pods_of_a_pod_based_kind_works(kind: str) -> None:
    pod = template() | {"metadata": {"labels": {QUEUE: "train"}}}
    assert codes(*platform(), queued(kind, pod, labels={"app": "a"})) == []


@every_kind
@pytest.mark.parametrize(
    "key", [f"{KUEUE}/queuename", f"{KUEUE}/queue-nane", "kueue.k8s.io/queue-name", "kueue.x-k8s.io.io/queue-name"]
)
def test_a_misspelt_key(kind: str, key: str) -> None:
    (found,) = findings(*platform(), queued(kind, labels={key: "train"}))
    assert found.code == "kueue-key-misspelt"
    assert f'did you mean "{QUEUE}"?' == found.fix


@every_kind
def test_a_time_limit_that_is_no_number(kind: str) -> None:
    labels = {QUEUE: "train", f"{KUEUE}/max-exec-time-seconds": "2h"}
    assert codes(*platform(), queued(kind, labels=labels)) == ["kueue-max-exec-time"]


@every_kind
def test_a_missing_workload_priority_class(kind: str) -> None:
    labels = {QUEUE: "train", f"{KUEUE}/priority-class": "high"}
    assert codes(*platform(), queued(kind, labels=labels)) == ["kueue-priority-class-missing"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Pod"])
def test_a_topology_request_on_the_object(kind: str) -> None:
    annotations = {f"{KUEUE}/podset-preferred-topology": "example.com/rack"}
    assert codes(*platform(), queued(kind, annotations=annotations)) == ["kueue-annotation-misplaced"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("Job", "CronJob")])
def test_partial_admission_is_for_jobs_only(kind: str) -> None:
    annotations = {f"{KUEUE}/job-min-parallelism": "1"}
    assert codes(*platform(), queued(kind, annotations=annotations)) == ["kueue-partial-admission"]


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({"cpu": "4", "nvidia.com/gpu": "8"}, []),
        ({"cpu": "4", "nvidia.com/gpu": "9"}, ["kueue-never-admitted"]),
        ({"cpu": "4", "rdma/hca": "1"}, ["kueue-uncovered-resource"]),
    ],
)
def test_a_train_job_is_read_through_its_runtime(requests: Manifest, expected: list[str]) -> None:
    run = train_job(metadata(), template({}), numNodes=2, resourcesPerNode={"requests": requests})
    assert codes(*platform(), *run) == expected


def test_a_queue_in_a_runtime_or_in_spec_labels_of_a_train_job_has_no_effect() -> None:
    runtime, run = train_job(metadata(labels={}), template())
    run["spec"]["labels"] = {QUEUE: "train"}
    assert codes(*platform(), runtime, run) == ["kueue-queue-label-misplaced"]
    runtime, run = train_job(metadata(), template())
    runtime["spec"]["template"]["metadata"] = {"labels": {QUEUE: "train"}}
    assert [found.object.kind for found in findings(*platform(), runtime, run) if found.object] == [
        "ClusterTrainingRuntime"
    ]


def test_a_gang_counts_all_its_pods_and_a_deployment_each_alone() -> None:
    pod = template({"nvidia.com/gpu": "8"})
    gang = KINDS["StatefulSet"](pod, metadata())
    gang["spec"]["replicas"] = 3
    assert codes(*platform(), gang) == ["kueue-never-admitted"]
    alone = KINDS["Deployment"](pod, metadata())
    alone["spec"]["replicas"] = 3
    assert codes(*platform(), alone) == []


def test_an_object_that_another_one_made_is_not_judged() -> None:
    owned = queued("Job", labels={QUEUE: "nowhere"})
    owned["metadata"]["ownerReferences"] = [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "x"}]
    assert codes(*platform(), owned) == []


def test_the_tree_is_made_once() -> None:
    world = fleet(*platform())
    assert world.kueue is world.kueue
