"""Every kind that makes pods becomes pod sets with the right names, counts and places."""

from __future__ import annotations

import pytest

from tests.fleet.given import POD, counts, fleet, place, shown, workload

HEAD = "metadata: {name: run, namespace: team, labels: {kueue.x-k8s.io/queue-name: q}}"
TEMPLATE = f"{{metadata: {{labels: {{app: a}}}}, spec: {POD}}}"

KINDS = [
    ("batch/v1", "Job", f"{{parallelism: 4, completions: 3, template: {TEMPLATE}}}", {"main": 3}, 1),
    ("batch/v1", "Job", f"{{parallelism: 4, template: {TEMPLATE}}}", {"main": 4}, 1),
    ("batch/v1", "Job", f"{{template: {TEMPLATE}}}", {"main": 1}, 1),
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        f"{{replicatedJobs: [{{name: Driver, template: {{spec: {{template: {TEMPLATE}}}}}}},"
        f" {{name: w, replicas: 2, template: {{spec: {{parallelism: 3, completions: 3, template: {TEMPLATE}}}}}}}]}}",
        {"driver": 1, "w": 6},
        1,
    ),
    ("apps/v1", "Deployment", f"{{replicas: 3, template: {TEMPLATE}}}", {"main": 3}, 3),
    ("apps/v1", "ReplicaSet", f"{{template: {TEMPLATE}}}", {"main": 1}, 1),
    ("apps/v1", "StatefulSet", f"{{replicas: 3, template: {TEMPLATE}}}", {"main": 3}, 1),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        f"{{replicas: 2, leaderWorkerTemplate: {{size: 4, workerTemplate: {TEMPLATE}}}}}",
        {"main": 8},
        2,
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        f"{{replicas: 2, leaderWorkerTemplate: {{size: 4, leaderTemplate: {TEMPLATE}, workerTemplate: {TEMPLATE}}}}}",
        {"leader": 2, "worker": 6},
        2,
    ),
    (
        "batch.volcano.sh/v1alpha1",
        "Job",
        f"{{tasks: [{{name: m, replicas: 1, template: {TEMPLATE}}}, {{replicas: 2, template: {TEMPLATE}}}]}}",
        {"m": 1, "default1": 2},
        1,
    ),
    (
        "kubeflow.org/v2beta1",
        "MPIJob",
        f"{{mpiReplicaSpecs: {{Worker: {{template: {TEMPLATE}}}, Launcher: {{template: {TEMPLATE}}}}}}}",
        {"launcher": 1, "worker": 0},
        1,
    ),
    (
        "kubeflow.org/v1",
        "PyTorchJob",
        f"{{pytorchReplicaSpecs: {{Worker: {{replicas: 3, template: {TEMPLATE}}}, Master: {{template: {TEMPLATE}}}}}}}",
        {"master": 1, "worker": 3},
        1,
    ),
    (
        "ray.io/v1",
        "RayCluster",
        f"{{headGroupSpec: {{template: {TEMPLATE}}},"
        f" workerGroupSpecs: [{{groupName: Big, replicas: 2, numOfHosts: 4, template: {TEMPLATE}}}]}}",
        {"head": 1, "big": 8},
        1,
    ),
    (
        "ray.io/v1",
        "RayJob",
        f"{{submissionMode: HTTPMode, rayClusterSpec: {{headGroupSpec: {{template: {TEMPLATE}}}}}}}",
        {"head": 1},
        1,
    ),
]


@pytest.mark.parametrize(("api", "kind", "spec", "expected", "units"), KINDS)
def test_pod_sets_of(api: str, kind: str, spec: str, expected: dict[str, int], units: int) -> None:
    found = workload(f"{{apiVersion: {api}, kind: {kind}, {HEAD}, spec: {spec}}}")
    assert counts(found) == expected
    assert list(counts(found)) == list(expected)
    assert (found.units, found.queue_name, found.namespace, found.parts_known) == (units, "q", "team", True)
    for pod_set in found.pod_sets:
        assert place(pod_set.at(("spec", "containers", 0, "resources"))).startswith(f"{kind} spec.")
        assert pod_set.labels == {"app": "a"}
        assert shown(pod_set.requests) == {"cpu": "2", "nvidia.com/gpu": "1"}
    total = sum(expected.values())
    assert found.pods == total
    assert shown(found.requests)["nvidia.com/gpu"] == str(total)
    assert shown(found.unit_requests)["nvidia.com/gpu"] == str(total // units)


def test_a_count_leads_to_the_line_that_says_it() -> None:
    """For a Job that is completions where there are fewer of them, for a replicatedJob of single pods its replicas."""
    job = (
        f"{{apiVersion: batch/v1, kind: Job, {HEAD}, spec: {{parallelism: %d, completions: 3, template: {TEMPLATE}}}}}"
    )
    assert place(workload(job % 4).pod_sets[0].count_at) == "Job spec.completions"
    assert place(workload(job % 2).pod_sets[0].count_at) == "Job spec.parallelism"
    jobs = f"[{{name: w, replicas: 2, template: {{spec: {{template: {TEMPLATE}}}}}}}]"
    job_set = f"{{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, {HEAD}, spec: {{replicatedJobs: {jobs}}}}}"
    assert place(workload(job_set).pod_sets[0].count_at) == "JobSet spec.replicatedJobs[0].replicas"


def test_a_cron_job_has_the_labels_of_its_job_template() -> None:
    """Kueue reads those, not the CronJob's own; the Job inside is `manifest` at `path`."""
    labels = "metadata: {labels: {kueue.x-k8s.io/queue-name: inner}}"
    spec = f"{{schedule: '* * * * *', jobTemplate: {{{labels}, spec: {{parallelism: 2, template: {TEMPLATE}}}}}}}"
    found = workload(f"{{apiVersion: batch/v1, kind: CronJob, {HEAD}, spec: {spec}}}")
    assert (found.queue_name, found.kind, found.form, found.path) == (
        "inner",
        "CronJob",
        "Job",
        ("spec", "jobTemplate"),
    )
    assert found.document.has(found.labels_path)
    assert place(found.pod_sets[0].count_at) == "CronJob spec.jobTemplate.spec.parallelism"
    assert found.pod_sets[0].job == found.document.manifest["spec"]["jobTemplate"]["spec"]


def test_a_daemon_set_has_a_pod_for_each_node_which_nobody_counts() -> None:
    found = workload(f"{{apiVersion: apps/v1, kind: DaemonSet, {HEAD}, spec: {{template: {TEMPLATE}}}}}")
    assert not found.parts_known


def test_pods_of_one_group_and_namespace_are_one_workload() -> None:
    """The label or the annotation names the group; every pod keeps its document."""
    pod = f"{{apiVersion: v1, kind: Pod, metadata: {{name: %s, namespace: %s, %s: {{%s: g}}}}, spec: {POD}}}"
    key = "kueue.x-k8s.io/pod-group-name"
    found = fleet(
        pod % ("a", "x", "labels", key),
        pod % ("alone", "x", "labels", "other"),
        pod % ("b", "x", "annotations", key),
        pod % ("c", "y", "labels", key),
    ).workloads
    assert [[member.name for member in item.members] for item in found] == [["a", "b"], ["alone"], ["c"]]
    assert [(item.name, item.document.name) for item in found[0].pod_sets] == [("a", "a"), ("b", "b")]
    assert shown(found[0].requests)["nvidia.com/gpu"] == "2"


def test_what_another_object_of_the_input_owns_is_no_workload_of_its_own() -> None:
    """A dump of a cluster holds the pods of a Job beside the Job."""
    job = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: j, namespace: x}}, spec: {{template: {TEMPLATE}}}}}"
    owner = "ownerReferences: [{apiVersion: batch/v1, kind: Job, name: %s}]"
    pod = f"{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: x, {owner}}}, spec: {POD}}}"
    assert [item.kind for item in fleet(job, pod % "j").workloads] == ["Job"]
    assert [item.kind for item in fleet(job, pod % "other").workloads] == ["Job", "Pod"]


def test_an_app_wrapper_holds_the_pod_sets_of_its_components() -> None:
    """Also of envelopes in it and of kinds that are not known, as far as the component lists them."""
    job = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: a}}, spec: {{parallelism: 2, template: {TEMPLATE}}}}}"
    inner = (
        f"{{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, spec: {{components: [{{template: {job}}}]}}}}"
    )
    other = f"{{apiVersion: example.com/v1, kind: Own, metadata: {{name: own}}, spec: {{pods: [{TEMPLATE}]}}}}"
    listed = f"{{podSets: [{{replicas: 3, path: 'template.spec.pods[0]'}}], template: {other}}}"
    service = "{template: {apiVersion: v1, kind: Service, metadata: {name: s}}}"
    components = f"[{{template: {job}}}, {service}, {{template: {inner}}}, {listed}]"
    found = workload(
        f"{{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, {HEAD}, spec: {{components: {components}}}}}"
    )
    assert [(item.name, item.count) for item in found.pod_sets] == [("a/main", 2), ("a/main", 2), ("own/0", 3)]
    assert found.queue_name == "q"
    assert len(found.parts) == 2
    assert shown(found.requests)["nvidia.com/gpu"] == "7"
    for pod_set in found.pod_sets:
        assert place(pod_set.at(("spec", "containers", 0, "image"))).startswith("AppWrapper spec.components[")
    assert place(found.pod_sets[2].count_at) == "AppWrapper spec.components[3].podSets[0].replicas"


def test_ray_adds_an_autoscaler_and_a_submitter() -> None:
    cluster = f"{{enableInTreeAutoscaling: true, headGroupSpec: {{template: {TEMPLATE}}}}}"
    found = workload(f"{{apiVersion: ray.io/v1, kind: RayJob, {HEAD}, spec: {{rayClusterSpec: {cluster}}}}}")
    head, submitter = found.pod_sets
    assert shown(head.requests) == {"cpu": "2500m", "memory": "512Mi", "nvidia.com/gpu": "1"}
    assert place(head.at(("spec", "containers", 1))) == "RayJob spec.rayClusterSpec.enableInTreeAutoscaling"
    assert shown(submitter.requests) == {"cpu": "500m", "memory": "200Mi"}


def test_a_job_flow_takes_its_templates_from_the_input() -> None:
    template = "{apiVersion: flow.volcano.sh/v1alpha1, kind: JobTemplate, metadata: {name: a, namespace: team}, "
    template += f"spec: {{tasks: [{{name: m, replicas: 2, template: {TEMPLATE}}}]}}}}"
    flow = f"{{apiVersion: flow.volcano.sh/v1alpha1, kind: JobFlow, {HEAD}, spec: {{flows: [{{name: %s}}]}}}}"
    (found,) = fleet(template, flow % "a").workloads
    assert (counts(found), found.parts_known) == ({"m": 2}, True)
    whole = fleet(template, flow % "b")
    assert not whole.workloads[0].parts_known
    assert [item.document.name for item in whole.templates] == ["a"]
    assert not fleet(template, flow % "a").templates


def test_spark_counts_java_memory_and_its_overhead() -> None:
    """`4g` is 4 GiB, a tenth more or 384 MiB comes on top."""
    gpu = "gpu: {name: a/gpu, quantity: 1}"
    roles = f"driver: {{cores: 1, memory: 512m}}, executor: {{instances: 2, cores: 4, memory: 10g, {gpu}}}"
    found = workload(f"{{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, {HEAD}, spec: {{{roles}}}}}")
    driver, executor = found.pod_sets
    assert shown(driver.requests) == {"cpu": "1", "memory": "896Mi"}
    assert (executor.count, shown(executor.requests)) == (2, {"cpu": "4", "memory": "11Gi", "a/gpu": "1"})


def test_a_rewritten_template_is_the_one_that_is_read() -> None:
    made = workload("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: old}]}}")
    (pod_set,) = made.pod_sets
    assert [container["name"] for _, container in pod_set.containers] == ["old"]
    pod_set.rewrite({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "new"}]}})
    assert [container["name"] for _, container in pod_set.containers] == ["new"]
    assert pod_set.labels == {"a": "b"}
