"""Values that KAI and YuniKorn ignore or refuse."""

from __future__ import annotations

import pytest

from tests.checks.schedulers.worlds import codes, findings, kai_queue, pod, yunikorn

LABELS = "labels: {kai.scheduler/queue: default-queue, kai.scheduler/preemptibility: %s}"
SHARED = "labels: {kai.scheduler/queue: default-queue}, annotations: {gpu-fraction: '0.5'}"


@pytest.mark.parametrize(("value", "bad"), [("preemptible", False), ("non-preemptible", False), ("never", True)])
def test_a_preemptibility(value: str, bad: bool) -> None:
    assert codes(pod(LABELS % value, "kai-scheduler")) == ["kai-preemptibility-value"] * bad


@pytest.mark.parametrize(("written", "bad"), [("30m", 0), ("1h30m", 0), ("0s", 0), ("30", 1), ("30 minutes", 1)])
def test_a_runtime_is_a_duration(written: str, bad: int) -> None:
    queue = kai_queue("research").replace("spec: {", f'spec: {{preemptMinRuntime: "{written}", ')
    assert codes(queue) == ["kai-duration"] * bad


@pytest.mark.parametrize(
    ("mine", "other", "bad"),
    [
        ("{quota: 8, limit: -1, overQuotaWeight: 0}", 1, True),
        ("{quota: 8, limit: 16, overQuotaWeight: 0}", 1, True),
        ("{quota: 8, limit: 8, overQuotaWeight: 0}", 1, False),
        ("{quota: 8, limit: 16, overQuotaWeight: 1}", 1, False),
        ("{quota: 8, limit: 16, overQuotaWeight: 0}", 0, False),
        ("{quota: -1, limit: -1, overQuotaWeight: 0}", 1, False),
    ],
)
def test_a_weight_of_zero_beside_a_limit_above_the_quota(mine: str, other: int, bad: bool) -> None:
    rival = kai_queue("prod", "org", f"{{quota: 8, limit: -1, overQuotaWeight: {other}}}")
    found = codes(kai_queue("org"), kai_queue("research", "org", mine), rival)
    assert found == ["kai-queue-sums"] * bad


@pytest.mark.parametrize(("admission", "bad"), [("{gpuSharing: true}", 0), ("{gpuSharing: false}", 1), ("{}", 1)])
def test_parts_of_a_gpu_while_sharing_is_off(admission: str, bad: int) -> None:
    config = "apiVersion: kai.scheduler/v1\nkind: Config\nmetadata: {name: kai-config}\n"
    config += f"spec: {{admission: {admission}}}\n"
    assert codes(config, pod(SHARED, "kai-scheduler")) == ["kai-gpu-sharing"] * bad
    assert codes(pod(SHARED, "kai-scheduler")) == []


def workers(kind: str, size: str, marks: str) -> str:
    annotations = f'{{kai.scheduler/segment-size: "{size}", {marks}}}'
    template = f"{{metadata: {{annotations: {annotations}}}, spec: {{schedulerName: kai-scheduler, "
    template += "restartPolicy: Never, containers: [{name: a, image: t}]}}"
    head = "metadata: {name: s, namespace: a, labels: {kai.scheduler/queue: default-queue}}\n"
    if kind == "Job":
        return f"apiVersion: batch/v1\nkind: Job\n{head}spec: {{template: {template}}}\n"
    spec = f"{{leaderWorkerTemplate: {{size: 4, workerTemplate: {template}}}}}"
    return f"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: {kind}\n{head}spec: {spec}\n"


GOOD = "kai.scheduler/topology: net, kai.scheduler/segment-topology-required-placement: rack"


@pytest.mark.parametrize(
    ("kind", "size", "marks", "expected"),
    [
        ("LeaderWorkerSet", "2", GOOD, []),
        ("LeaderWorkerSet", "1", GOOD, ["error"]),
        ("LeaderWorkerSet", "8", GOOD, ["error"]),
        ("LeaderWorkerSet", "two", GOOD, ["error"]),
        ("LeaderWorkerSet", "2", "x: y", ["warning"]),
        ("LeaderWorkerSet", "2", "kai.scheduler/topology: net", ["error"]),
        ("Job", "2", GOOD, ["warning"]),
    ],
)
def test_segments(kind: str, size: str, marks: str, expected: list[str]) -> None:
    found = [item.severity for item in findings(workers(kind, size, marks)) if item.code == "kai-segments"]
    assert found == expected


@pytest.mark.parametrize(
    ("partition", "bad"),
    [
        ("nodesortpolicy: {type: binpack}", True),
        ("nodesortpolicy: {type: binpacking, resourceweights: {vcore: 1}}", False),
        ("nodesortpolicy: {type: fair, resourceweights: {vcore: -1}}", True),
        ("placementrules: [{name: fixed, value: root.b}]", True),
        ("placementrules: [{name: fixed, value: root.b, create: true}]", False),
        ("placementrules: [{name: fixed, value: root.a}]", False),
    ],
)
def test_what_a_partition_refers_to(partition: str, bad: bool) -> None:
    assert codes(yunikorn("- {name: a}", partition)) == ["yunikorn-config-invalid"] * bad


@pytest.mark.parametrize(
    ("limits", "bad"),
    [
        ("[{users: [u], maxapplications: 1}, {users: ['*'], maxapplications: 1}]", 0),
        ("[{users: ['*'], maxapplications: 1}, {users: [u], maxapplications: 1}]", 1),
        ("[{users: [u], maxapplications: 1}, {users: [u], maxapplications: 2}]", 1),
        ("[{groups: ['*'], maxapplications: 1}]", 1),
        ("[{groups: [g], maxapplications: 1}, {groups: ['*'], maxapplications: 1}]", 0),
    ],
)
def test_names_across_the_limits_of_a_queue(limits: str, bad: int) -> None:
    assert codes(yunikorn(f"- {{name: a, limits: {limits}}}")) == ["yunikorn-config-invalid"] * bad


def test_what_is_read_and_ignored() -> None:
    assert codes(yunikorn("- {name: a, properties: {application.sort.polcy: fair}}")) == ["yunikorn-config-ignored"]
    assert codes(yunikorn("- {name: a, properties: {my.own: x, application.sort.policy: fair}}")) == []
    second = yunikorn("- {name: a}") + "    - name: gpu\n      queues: [{name: root}]\n"
    assert codes(second) == ["yunikorn-config-ignored"]


@pytest.mark.parametrize(("value", "bad"), [('{"cpu": "64"}', 0), ("cpu=64", 1), ("[64]", 1), ("{cpu: 64}", 1)])
def test_a_quota_of_a_namespace_is_json(value: str, bad: int) -> None:
    text = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  annotations:\n"
    text += f"    yunikorn.apache.org/namespace.quota: '{value}'\n"
    assert codes(text) == ["yunikorn-namespace-quota"] * bad


def job_set(first: str, second: str) -> str:
    """Two replicated jobs whose templates have this metadata."""
    jobs = "".join(
        f"  - name: j{index}\n    template:\n      spec:\n        template:\n          metadata: {{{metadata}}}\n"
        "          spec: {schedulerName: yunikorn, restartPolicy: Never, containers: [{name: a, image: t}]}\n"
        for index, metadata in enumerate((first, second))
    )
    head = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s, namespace: a}\n"
    return f"{head}spec:\n  replicatedJobs:\n{jobs}"


def member(own: str, groups: str, application: str = "s-1") -> str:
    listed = ", ".join(f'{{"name": "{name}", "minMember": 1, "minResource": {{"cpu": "1"}}}}' for name in groups)
    return (
        f"labels: {{yunikorn.apache.org/app-id: {application}}}, annotations: {{"
        f"yunikorn.apache.org/task-group-name: {own}, yunikorn.apache.org/task-groups: '[{listed}]'}}"
    )


def test_the_templates_of_a_gang_list_the_same_groups() -> None:
    assert "yunikorn-task-groups-differ" not in codes(job_set(member("x", "xy"), member("y", "xy")))
    assert "yunikorn-task-groups-differ" in codes(job_set(member("x", "x"), member("y", "y")))


def test_the_templates_of_a_run_name_one_application() -> None:
    labels = "labels: {yunikorn.apache.org/app-id: %s}"
    assert codes(job_set(labels % "s-1", labels % "s-1")) == []
    assert codes(job_set(labels % "s-1", labels % "s-2")) == ["yunikorn-applications-of-one-run"]


def runtime(policy: str, scheduler: str = "", depends: str = "") -> str:
    """A runtime with an initializer and a node; `scheduler` and `depends` go to the node."""
    first = "{schedulerName: volcano, containers: [{name: a, image: t}]}"
    named = f"schedulerName: {scheduler}, " if scheduler else ""
    return (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: gang}\nspec:\n"
        f"  podGroupPolicy: {policy}\n  template:\n    spec:\n      replicatedJobs:\n"
        f"      - {{name: prepare, template: {{spec: {{template: {{spec: {first}}}}}}}}}\n"
        f"      - name: node\n        {depends}\n"
        f"        template: {{spec: {{template: {{spec: {{{named}containers: [{{name: node, image: t}}]}}}}}}}}\n"
    )


VOLCANO, PLUGIN = "{volcano: {networkTopology: {mode: soft}}}", "{coscheduling: {}}"


@pytest.mark.parametrize(
    ("policy", "scheduler", "expected"),
    [
        (VOLCANO, "volcano", []),
        (VOLCANO, "", ["error"]),
        (VOLCANO, "default-scheduler", ["error"]),
        (PLUGIN, "", ["error"]),
        (PLUGIN, "gang-scheduler", []),
        ("{}", "", []),
    ],
)
def test_trainer_does_not_write_the_scheduler(policy: str, scheduler: str, expected: list[str]) -> None:
    found = [item for item in findings(runtime(policy, scheduler)) if item.code == "trainer-gang-scheduler-name"]
    assert [item.severity for item in found] == expected


@pytest.mark.parametrize("status", ["Complete", "Ready"])
@pytest.mark.parametrize("policy", [VOLCANO, PLUGIN])
def test_a_gang_over_what_comes_after_it(policy: str, status: str) -> None:
    code = "trainer-gang-waits-for-itself"
    depends = f"dependsOn: [{{name: prepare, status: {status}}}]"
    assert code in codes(runtime(policy, "volcano", depends))
    assert code not in codes(runtime(policy, "volcano"))
    assert code not in codes(runtime("{}", "volcano", depends))


@pytest.mark.parametrize(("name", "bad"), [("inference", 0), ("train", 0), ("trian", 1), ("own-class", 0)])
def test_the_priority_class_in_a_label(name: str, bad: int) -> None:
    made = pod(f"labels: {{kai.scheduler/queue: default-queue, priorityClassName: {name}}}", "kai-scheduler")
    assert codes(made) == ["kai-priority-label"] * bad


@pytest.mark.parametrize(
    ("limit", "bad"),
    [
        ("{users: [u], maxapplications: 10}", 1),
        ("{users: [u], maxapplications: 5}", 0),
        ("{users: [u], maxresources: {vcore: 8}}", 1),
        ("{users: [u], maxresources: {vcore: 4, memory: 8G}}", 0),
    ],
)
def test_a_limit_above_that_of_its_queue(limit: str, bad: int) -> None:
    queue = f"- {{name: a, maxapplications: 5, resources: {{max: {{vcore: 4}}}}, limits: [{limit}]}}"
    assert codes(yunikorn(queue)) == ["yunikorn-config-invalid"] * bad


def test_queues_under_another_key() -> None:
    good = yunikorn("- {name: a}")
    assert codes(good) == []
    assert codes(good.replace("queues.yaml", "queues.yml")) == ["yunikorn-config-ignored"]
    named = good.replace("  queues.yaml", "  service.policyGroup: team\n  team.yaml")
    assert "yunikorn-config-ignored" not in codes(named)


@pytest.mark.parametrize(("most", "bad"), [(4, 1), (8, 0)])
def test_a_pod_that_its_queue_never_holds(most: int, bad: int) -> None:
    conf = yunikorn(f"- {{name: a, resources: {{max: {{nvidia.com/gpu: {most}}}}}}}")
    made = pod("labels: {yunikorn.apache.org/queue: root.a, yunikorn.apache.org/app-id: r}", "yunikorn", gpus=8)
    assert codes(conf, made) == ["yunikorn-pod-over-max"] * bad
