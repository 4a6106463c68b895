"""What pods read by name of themselves, of each other and of their gang is there, or it is found."""

from __future__ import annotations

import io
from typing import Any

import pytest
import yaml

from tests.checks.runs.worlds import NAMESPACE, Manifest, container, run, service
from trainshed.api.cron import schedule_error, time_zone_error
from trainshed.checks import all_rules
from trainshed.checks.rule import RULES
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import read


def found(*objects: Manifest, start: str) -> list[tuple[str, str]]:
    all_rules.load()
    text = yaml.safe_dump_all(objects, sort_keys=False)
    fleet = Fleet(read(["-"], io.BytesIO(text.encode())).documents)
    rules = [rule for code, rule in RULES.items() if code.startswith(tuple(start.split()))]
    issues = {(rule.code, issue.severity or rule.severity) for rule in rules for issue in rule.function(fleet)}
    return sorted(issue for issue in issues if issue[1] != "info")


def reads(kind: str, path: str, **fields: Any) -> list[str]:
    env = [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": path}}}]
    objects = run(kind, container(["python", "train.py"], env))
    objects[-1]["spec"] |= fields
    return [code for code, _ in found(*objects, start="pod-field")]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Job", "metadata.labels['batch.kubernetes.io/job-completion-index']"),
        ("JobSet", "metadata.annotations['jobset.sigs.k8s.io/restart-attempt']"),
        ("TrainJob", "metadata.labels['jobset.sigs.k8s.io/jobset-name']"),
        ("LeaderWorkerSet", "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"),
        ("VolcanoJob", "metadata.annotations['volcano.sh/task-index']"),
        ("StatefulSet", "metadata.labels['apps.kubernetes.io/pod-index']"),
        ("PyTorchJob", "metadata.labels['training.kubeflow.org/replica-index']"),
        ("AppWrapper", "metadata.labels['jobset.sigs.k8s.io/job-index']"),
        ("Job", "metadata.labels['example.com/from-a-webhook']"),
    ],
)
def test_keys_that_controllers_set_may_be_read(kind: str, path: str) -> None:
    assert reads(kind, path) == []


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Job", "metadata.annotations['batch.kubernetes.io/completion-index']"),
        ("Job", "metadata.labels['jobset.sigs.k8s.io/job-index']"),
        ("JobSet", "metadata.annotations['jobset.sigs.k8s.io/coordinator']"),
        ("TrainJob", "metadata.labels['jobset.x-k8s.io/job-index']"),
        ("LeaderWorkerSet", "metadata.labels['leaderworkerset.sigs.k8s.io/size']"),
        ("VolcanoJob", "metadata.annotations['volcano.sh/task-id']"),
        ("StatefulSet", "metadata.labels['batch.kubernetes.io/job-completion-index']"),
    ],
)
def test_keys_that_nobody_sets_are_found(kind: str, path: str) -> None:
    assert reads(kind, path) == ["pod-field-missing"]


def test_a_coordinator_is_there_when_it_is_asked_for() -> None:
    path = "metadata.labels['jobset.sigs.k8s.io/coordinator']"
    assert reads("JobSet", path, coordinator={"replicatedJob": "node"}) == []


@pytest.mark.parametrize(("port", "right"), [("http", True), (8080, True), ("web", False)])
def test_ports_are_found_by_their_name(port: str | int, right: bool) -> None:
    ports = [{"name": "http", "containerPort": 8080}]
    probe = {"httpGet": {"path": "/", "port": port}}
    objects = run("StatefulSet", container(["serve"], ports=ports, readinessProbe=probe))
    objects.append(service("front", {"app": "sft"}, ports=[{"port": 80, "targetPort": port}]))
    codes = [code for code, _ in found(*objects, start="pod-port pod-service")]
    assert codes == ([] if right else ["pod-port-missing", "pod-service-port"])


def _podgroup(least: int) -> Manifest:
    metadata = {"name": "ring", "namespace": NAMESPACE}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"minMember": least},
    }


def test_a_gang_as_large_as_the_run_is_right() -> None:
    command = ["torchrun", "--nnodes=2", "train.py"]
    objects = run("Job", container(command))
    objects[-1]["spec"]["template"]["metadata"] = {"labels": {"scheduling.x-k8s.io/pod-group": "ring"}}
    assert found(*objects, _podgroup(2), start="gang-") == []
    assert found(*objects, _podgroup(1), start="gang-") == [("gang-smaller-than-run", "warning")]


@pytest.mark.parametrize(
    ("pattern", "right"),
    [
        ("(?i)xid (79|94)", True),
        (r"\(rank \d+\)", True),
        ("[(]?exit[^)]*", True),
        ("(?<=Xid )79", False),
        (r"(\w+) \1", False),
        ("(Xid 79", False),
        ("*", False),
    ],
)
def test_message_patterns_are_those_of_re2(pattern: str, right: bool) -> None:
    objects = run("JobSet", container(["python", "train.py"]))
    rule = {"name": "a", "action": "FailJobSet", "onJobFailureMessagePatterns": [pattern]}
    objects[0]["spec"]["failurePolicy"] = {"maxRestarts": 1, "rules": [rule]}
    assert bool(found(*objects, start="jobset-message")) != right


@pytest.mark.parametrize(
    "schedule",
    ["0 3 * * *", "*/15 0-6,22-23 * * MON-FRI", "5/10 * ? jan-dec/2 0", "@daily", "@every 1h30m", "59 23 31 12 6"],
)
def test_schedules_that_cron_takes(schedule: str) -> None:
    assert schedule_error(schedule) == ""


@pytest.mark.parametrize(
    "schedule",
    ["60 * * * *", "0 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 7", "*/0 * * * *", "5-2 * * * *", "a * * * *"],
)
def test_schedules_that_cron_refuses(schedule: str) -> None:
    assert schedule_error(schedule)


def test_a_zone_exists_or_not() -> None:
    assert time_zone_error("Europe/Berlin") == ""
    assert time_zone_error("Etc/UTC") == ""
    assert time_zone_error("Europe/Munich")


def test_a_value_with_an_unknown_variable_stays_as_it_is() -> None:
    def of(value: str) -> list[str]:
        objects = run("LeaderWorkerSet", container(["torchrun", "a.py"], [{"name": "PET_NNODES", "value": value}]))
        return [code for code, _ in found(*objects, start="rendezvous-variable-literal")]

    assert of("$(LWS_GROUP_SIZE)") == []
    assert of("$(LWS_SIZE)") == ["rendezvous-variable-literal"]
    assert of("$(hostname -f)") == ["rendezvous-variable-literal"]
