"""Keys of gang schedulers as the right sort, on the right object, spelt right."""

from __future__ import annotations

import pytest

from tests.checks.schedulers.worlds import POD, findings

CODES = ("gang-key-misplaced", "gang-key-misspelt")


def seen(*texts: str) -> list[tuple[str, str]]:
    """(code, path) of what these rules find."""
    return [(item.code, item.path) for item in findings(*texts) if item.code in CODES]


def job(own: str = "", template: str = "", scheduler: str = "volcano", outer: str = "Job") -> str:
    pod = POD.replace("{restart", f"{{schedulerName: {scheduler}, restart")
    spec = f"parallelism: 2, completions: 2, template: {{metadata: {{{template}}}, spec: {pod}}}"
    if outer == "CronJob":
        spec = f'schedule: "0 3 * * *", jobTemplate: {{metadata: {{{own}}}, spec: {{{spec}}}}}'
        own = ""
    return f"apiVersion: batch/v1\nkind: {outer}\nmetadata: {{name: run, namespace: a, {own}}}\nspec: {{{spec}}}\n"


@pytest.mark.parametrize(
    ("scheduler", "template", "own"),
    [
        ("volcano", "labels: {scheduling.volcano.sh/queue-name: research}", ""),
        ("volcano", "", "annotations: {scheduling.volcano.sh/queue-name: research}"),
        ("volcano", "labels: {scheduling.k8s.io/group-name: ring}", ""),
        ("volcano", "annotations: {scheduling.volcano.sh/group-min-member: '2'}", ""),
        ("volcano", "", "labels: {scheduling.volcano.sh/group-min-member: '2'}"),
        ("kai-scheduler", "", "annotations: {kai.scheduler/preemptibility: non-preemptible}"),
        ("kai-scheduler", "annotations: {kai.scheduler/batch-min-member: '2'}", ""),
        ("kai-scheduler", "", "labels: {kai.scheduler/topology: net}"),
        ("kai-scheduler", "", "annotations: {gpu-fraction: '0.5'}"),
        ("yunikorn", "", "labels: {yunikorn.apache.org/queue: root.research}"),
        ("yunikorn", "labels: {yunikorn.apache.org/task-group-name: w}", ""),
        ("yunikorn", "", "annotations: {yunikorn.apache.org/task-group-name: w}"),
        ("scheduler-plugins-scheduler", "annotations: {scheduling.x-k8s.io/pod-group: ring}", ""),
        ("scheduler-plugins-scheduler", "", "labels: {scheduling.x-k8s.io/pod-group: ring}"),
    ],
)
@pytest.mark.parametrize("outer", ["Job", "CronJob"])
def test_a_key_where_its_scheduler_does_not_read_it(scheduler: str, template: str, own: str, outer: str) -> None:
    assert [code for code, _ in seen(job(own, template, scheduler, outer))] == ["gang-key-misplaced"]


@pytest.mark.parametrize(
    ("scheduler", "template", "own"),
    [
        ("volcano", "annotations: {scheduling.volcano.sh/queue-name: research}", ""),
        ("volcano", "annotations: {scheduling.k8s.io/group-name: ring}", ""),
        ("volcano", "", "annotations: {scheduling.volcano.sh/group-min-member: '2'}"),
        ("kai-scheduler", "labels: {kai.scheduler/preemptibility: preemptible}", ""),
        ("kai-scheduler", "", "annotations: {kai.scheduler/batch-min-member: '2', kai.scheduler/topology: net}"),
        ("kai-scheduler", "annotations: {gpu-fraction: '0.5'}", ""),
        ("yunikorn", "annotations: {yunikorn.apache.org/queue: root.research}", ""),
        ("yunikorn", "labels: {yunikorn.apache.org/queue: q}", "labels: {yunikorn.apache.org/queue: q}"),
        ("default-scheduler", "labels: {gpu-fraction: '0.5', gpu-memory: small}", ""),
        ("scheduler-plugins-scheduler", "labels: {scheduling.x-k8s.io/pod-group: ring}", ""),
    ],
)
@pytest.mark.parametrize("outer", ["Job", "CronJob"])
def test_a_key_where_it_is_read(scheduler: str, template: str, own: str, outer: str) -> None:
    assert seen(job(own, template, scheduler, outer)) == []


def test_what_operators_copy_down_is_left_to_them() -> None:
    ray = """
        apiVersion: ray.io/v1
        kind: RayCluster
        metadata: {name: ray, namespace: a, labels: {yunikorn.apache.org/queue: root.a, yunikorn.apache.org/app-id: r}}
        spec: {headGroupSpec: {template: {spec: {containers: [{name: a, image: t}]}}}}
    """
    workers = """
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata: {name: serve, namespace: a, annotations: {scheduling.volcano.sh/queue-name: research}}
        spec:
          leaderWorkerTemplate:
            workerTemplate: {spec: {schedulerName: volcano, containers: [{name: a, image: t}]}}
    """
    assert seen(ray, workers) == []


@pytest.mark.parametrize(("queue", "expected"), [("", 1), ("queue: research,", 0)])
def test_a_volcano_job_takes_its_queue_from_its_spec(queue: str, expected: int) -> None:
    text = f"""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {{name: run, namespace: a, annotations: {{scheduling.volcano.sh/queue-name: research}}}}
        spec: {{{queue} minAvailable: 1, tasks: [{{name: t, replicas: 1, template: {{spec: {POD}}}}}]}}
    """
    assert len(seen(text)) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("yunikorn.apache.org/app_id", 1),
        ("yunikorn.apache.org/task-group-names", 1),
        ("yunikorn.apache.org/parentqueue", 0),
        ("yunikorn.apache.org/something-new", 0),
        ("example.com/task-group-names", 0),
    ],
)
def test_a_slip_in_a_key_is_named(key: str, expected: int) -> None:
    found = seen(job(template=f"annotations: {{{key}: x}}", scheduler="yunikorn"))
    assert [code for code, _ in found] == ["gang-key-misspelt"] * expected
