"""KAI: queues, workloads, gangs and placement beyond the examples of the rules' pages."""

from __future__ import annotations

import pytest

from tests.checks.schedulers.worlds import POD, codes, findings, kai_queue, pod

KAI_POD = POD.replace("{restart", "{schedulerName: kai-scheduler, restart")
QUEUES = kai_queue("org"), kai_queue("research", "org")


def job(metadata: str = "", template: str = "", kind: str = "Job", pods: int = 2, spec: str = KAI_POD) -> str:
    inner = f"{{parallelism: {pods}, completions: {pods}, template: {{{template} spec: {spec}}}}}"
    if kind == "CronJob":
        inner = f"{{schedule: '0 1 * * *', jobTemplate: {{metadata: {{{metadata}}}, spec: {inner}}}}}"
        metadata = ""
    if kind == "JobSet":
        inner = f"{{replicatedJobs: [{{name: n, template: {{spec: {inner}}}}}]}}"
        api = "jobset.x-k8s.io/v1alpha2"
    else:
        api = "batch/v1"
    return f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: j, namespace: a, {metadata}}}\nspec: {inner}\n"


LABEL = "labels: {kai.scheduler/queue: %s}"
ON_POD = "metadata: {labels: {kai.scheduler/queue: %s}},"


class TestQueues:
    @pytest.mark.parametrize(
        ("block", "severity"),
        [
            ("{quota: 8, overQuotaWeight: 1}", "error"),
            ("{limit: 8, overQuotaWeight: 1}", "warning"),
            ("{quota: 8, limit: 8}", "warning"),
            ("{quota: -2, limit: 8, overQuotaWeight: 1}", "error"),
            ("{quota: 8, limit: 8, overQuotaWeight: -1}", "error"),
        ],
    )
    def test_each_number_is_needed(self, block: str, severity: str) -> None:
        (found,) = findings(kai_queue("org"), kai_queue("x", "org", block))
        assert (found.code, found.severity) == ("kai-queue-numbers", severity)

    def test_zeros_and_fractions_are_numbers(self) -> None:
        assert codes(kai_queue("org", gpu="{quota: 0, limit: 0, overQuotaWeight: 0}")) == []
        assert codes(kai_queue("org", gpu="{quota: 0.5, limit: 1.5, overQuotaWeight: 2}")) == []

    def test_no_resources_at_all(self) -> None:
        queue = "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: x}\nspec: {}\n"
        assert codes(queue) == ["kai-queue-numbers"]

    def test_the_charts_queues_need_no_manifest(self) -> None:
        assert codes(kai_queue("x", "default-parent-queue"), pod(LABEL % "default-queue", "kai-scheduler")) == []

    def test_parents_in_a_circle(self) -> None:
        assert set(codes(kai_queue("a", "b"), kai_queue("b", "a"))) == {"kai-parent-missing"}

    def test_an_unlimited_child_is_not_summed(self) -> None:
        parent = kai_queue("org", gpu="{quota: 8, limit: -1, overQuotaWeight: 1}")
        assert codes(parent, kai_queue("x", "org")) == []
        child = kai_queue("x", "org", "{quota: 9, limit: -1, overQuotaWeight: 1}")
        assert codes(parent, child) == ["kai-queue-sums"]


class TestWorkloads:
    @pytest.mark.parametrize("kind", ["Job", "CronJob", "JobSet"])
    @pytest.mark.parametrize("on_pod", [True, False])
    def test_a_misspelt_queue_in_every_kind(self, kind: str, on_pod: bool) -> None:
        name = "reserch"
        made = job(template=ON_POD % name, kind=kind) if on_pod else job(LABEL % name, kind=kind)
        (found,) = findings(*QUEUES, made)
        assert (found.code, found.severity) == ("kai-queue-missing", "error")
        good = job(template=ON_POD % "research", kind=kind) if on_pod else job(LABEL % "research", kind=kind)
        assert codes(*QUEUES, good) == []

    @pytest.mark.parametrize("scheduler", ["", "default-scheduler", "volcano"])
    def test_another_scheduler(self, scheduler: str) -> None:
        (found,) = findings(*QUEUES, pod(LABEL % "research", scheduler))
        assert found.code == "kai-scheduler-name"
        assert found.path == "spec.schedulerName"

    def test_the_label_on_the_workload_and_the_annotation_do_not_clash(self) -> None:
        both = "labels: {kai.scheduler/queue: research}, annotations: {kai.scheduler/queue: research}"
        assert codes(*QUEUES, job(both)) == []

    @pytest.mark.parametrize(
        "made",
        [
            job("annotations: {kai.scheduler/queue: research}"),
            job("annotations: {kai.scheduler/queue: research}", kind="CronJob"),
            job(template="metadata: {annotations: {kai.scheduler/queue: research}},"),
            job("labels: {runai/queue: research}"),
            job("labels: {kai.scheduler/queues: research}"),
            job(template="metadata: {labels: {runai/queue: research}},"),
        ],
    )
    def test_the_queue_in_the_wrong_place(self, made: str) -> None:
        assert codes(*QUEUES, made) == ["kai-queue-misplaced"]

    def test_no_queue_at_all(self) -> None:
        assert codes(*QUEUES, job()) == ["kai-no-queue"]
        assert codes(job()) == []
        assert codes(*QUEUES, job(spec=POD)) == []

    def test_a_top_level_queue_is_a_note_since_later_releases_take_it(self) -> None:
        world = kai_queue("alone"), pod(LABEL % "alone", "kai-scheduler")
        assert codes(*world) == []
        (found,) = findings(*world, infos=True)
        assert "KAI before 0.13" in found.message


class TestGangs:
    TORCH = KAI_POD.replace("image: t", "image: t, command: [torchrun, train.py]")

    def test_a_torch_run_without_its_size(self) -> None:
        assert codes(job(LABEL % "default-queue", spec=self.TORCH)) == ["kai-job-is-no-gang"]
        assert codes(job(LABEL % "default-queue", spec=self.TORCH, pods=1)) == []
        assert codes(job(LABEL % "default-queue", spec=KAI_POD)) == []

    @pytest.mark.parametrize(("size", "bad"), [("2", False), ("1", False), ("3", True), ("0", True), ("two", True)])
    def test_the_size_of_a_gang(self, size: str, bad: bool) -> None:
        made = job(f'{LABEL % "default-queue"}, annotations: {{kai.scheduler/batch-min-member: "{size}"}}')
        assert codes(made) == (["kai-min-member"] if bad else [])

    def test_a_whole_jobset_is_one_gang(self) -> None:
        gpus = KAI_POD.replace("image: t", "image: t, resources: {limits: {nvidia.com/gpu: 8}}")
        queue = kai_queue("research", "org", "{quota: 8, limit: 8, overQuotaWeight: 1}")
        made = job(LABEL % "research", kind="JobSet", spec=gpus)
        assert codes(kai_queue("org"), queue, made) == ["kai-over-limit"]
        single = job(LABEL % "research", spec=gpus)
        assert codes(kai_queue("org"), queue, single) == []

    def test_the_limit_of_a_parent_counts(self) -> None:
        org = kai_queue("org", gpu="{quota: 4, limit: 4, overQuotaWeight: 1}")
        (found,) = findings(org, kai_queue("research", "org"), pod(LABEL % "research", "kai-scheduler", 8))
        assert found.code == "kai-over-limit"
        assert 'queue "org" is 4 GPUs' in found.message

    def test_inference_pods_cannot_be_preempted(self) -> None:
        org = kai_queue("org", gpu="{quota: 4, limit: -1, overQuotaWeight: 1}")
        made = pod("labels: {kai.scheduler/queue: x, priorityClassName: inference}", "kai-scheduler", 8)
        assert codes(org, kai_queue("x", "org", "{quota: 4, limit: -1, overQuotaWeight: 1}"), made) == [
            "kai-over-limit"
        ]


class TestPodGroups:
    GROUP = (
        "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g, namespace: a}\n"
        "spec: {queue: default-queue, %s}\n"
    )

    @pytest.mark.parametrize(
        ("spec", "bad"),
        [
            ("minMember: 1", False),
            ("minSubGroup: 1, subGroups: [{name: a, minMember: 1}]", False),
            ("subGroups: [{name: a, minMember: 1}, {name: a, minMember: 1}]", True),
            ("subGroups: [{name: a, parent: b, minMember: 1}]", True),
            ("subGroups: [{name: a, minSubGroup: 1}]", True),
            ("subGroups: [{name: a, minSubGroup: 1, parent: b}, {name: b, minSubGroup: 1, parent: a}]", True),
        ],
    )
    def test_rules_of_the_webhook(self, spec: str, bad: bool) -> None:
        assert set(codes(self.GROUP % spec)) == ({"kai-pod-group-invalid"} if bad else set())

    def test_a_subgroup_that_is_not_there(self) -> None:
        labels = "labels: {kai.scheduler/subgroup-name: workers}, annotations: {pod-group-name: g}"
        group = self.GROUP % "subGroups: [{name: worker, minMember: 1}]"
        assert codes(group, pod(labels, "kai-scheduler")) == ["kai-pod-group-missing"]

    def test_a_group_larger_than_its_pods(self) -> None:
        joined = pod("annotations: {pod-group-name: g}", "kai-scheduler")
        assert codes(self.GROUP % "minMember: 2", joined) == ["kai-pod-group-size"]
        assert codes(self.GROUP % "minMember: 2", joined, joined.replace("probe", "other")) == []


class TestPlacement:
    @pytest.mark.parametrize(
        ("annotations", "gpus", "bad"),
        [
            ('gpu-fraction: "0.5"', 0, False),
            ('gpu-fraction: "1.0"', 0, True),
            ('gpu-fraction: "NaN"', 0, True),
            ('gpu-fraction: "0.5"', 1, True),
            ('gpu-memory: "2000"', 0, False),
            ('gpu-memory: "2Gi"', 0, True),
            ('gpu-memory: "2000", gpu-fraction: "0.5"', 0, True),
            ('gpu-fraction-num-devices: "2"', 0, True),
            ('gpu-fraction: "0.5", gpu-fraction-container-name: b', 0, True),
        ],
    )
    def test_parts_of_gpus(self, annotations: str, gpus: int, bad: bool) -> None:
        made = pod(f"{LABEL % 'default-queue'}, annotations: {{{annotations}}}", "kai-scheduler", gpus)
        assert set(codes(made)) == ({"kai-gpu-sharing"} if bad else set())

    TOPOLOGY = (
        "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\nmetadata: {name: net}\n"
        "spec: {levels: [{nodeLabel: x/rack, alias: rack}]}\n"
    )

    @pytest.mark.parametrize(
        ("annotations", "bad"),
        [
            ("kai.scheduler/topology: net, kai.scheduler/topology-required-placement: rack", False),
            ("kai.scheduler/topology: net, kai.scheduler/topology-required-placement: x/rack", False),
            ("kai.scheduler/topology: net, kai.scheduler/topology-required-placement: block", True),
            ("kai.scheduler/topology: nets, kai.scheduler/topology-required-placement: rack", True),
            ("kai.scheduler/topology-required-placement: rack", True),
        ],
    )
    def test_topology(self, annotations: str, bad: bool) -> None:
        made = pod(f"{LABEL % 'default-queue'}, annotations: {{{annotations}}}", "kai-scheduler")
        assert codes(self.TOPOLOGY, made) == (["kai-topology"] if bad else [])


def test_the_submitter_that_kuberay_makes_is_nobodys_template() -> None:
    head = "apiVersion: ray.io/v1\nkind: RayJob\nmetadata:\n  name: r\n  namespace: a\n"
    head += "  labels: {kai.scheduler/queue: research}\n"
    group = f"{{template: {{spec: {KAI_POD}}}}}"
    spec = f"spec: {{entrypoint: python a.py, rayClusterSpec: {{headGroupSpec: {group}}}}}\n"
    assert "kai-scheduler-name" not in codes(*QUEUES, head + spec)
    assert "kai-scheduler-name" in codes(*QUEUES, head + spec.replace("schedulerName: kai-scheduler, ", ""))
