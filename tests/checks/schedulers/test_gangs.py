"""PodGroups made by hand, and which scheduler makes the gang."""

from __future__ import annotations

import pytest

from tests.checks.schedulers.worlds import POD, codes, findings, kai_queue, pod, volcano_queue

VOLCANO = "metadata: {annotations: {scheduling.k8s.io/group-name: ring}},"
PLUGIN = "metadata: {labels: {scheduling.x-k8s.io/pod-group: ring}},"


def group(api: str, spec: str, namespace: str = "a") -> str:
    return f"apiVersion: {api}\nkind: PodGroup\nmetadata: {{name: ring, namespace: {namespace}}}\nspec: {{{spec}}}\n"


def job_set(marks: list[str], scheduler: str = "", more: str = "", depends: str = "") -> str:
    spec = POD.replace("{restart", f"{{schedulerName: {scheduler}, restart") if scheduler else POD
    jobs = ""
    for index, mark in enumerate(marks):
        after = depends if index else ""
        template = f"{{spec: {{parallelism: 2, completions: 2, template: {{{mark} spec: {spec}}}}}}}"
        jobs += f"  - {{name: j{index}, {after} template: {template}}}\n"
    return (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: sft, namespace: a}\n"
        f"spec:\n  replicatedJobs:\n{jobs}{more}"
    )


COSCHEDULING = "scheduling.x-k8s.io/v1alpha1"
BETA = "scheduling.volcano.sh/v1beta1"


class TestPodGroups:
    @pytest.mark.parametrize(("api", "mark", "scheduler"), [(COSCHEDULING, PLUGIN, ""), (BETA, VOLCANO, "volcano")])
    def test_sizes_count_all_jobs(self, api: str, mark: str, scheduler: str) -> None:
        run = job_set([mark, mark], scheduler)
        assert codes(group(api, "minMember: 4"), run) == []
        assert codes(group(api, "minMember: 5"), run) == ["gang-larger-than-pods"]
        assert codes(group(api, "minMember: 1", "b"), run) == ["gang-pod-group-missing"] * 2

    @pytest.mark.parametrize(
        ("more", "depends"),
        [("  startupPolicy: {startupPolicyOrder: InOrder}\n", ""), ("", "dependsOn: [{name: j0, status: Ready}],")],
    )
    def test_a_gang_over_parts_that_start_in_order(self, more: str, depends: str) -> None:
        run = job_set([PLUGIN, PLUGIN], more=more, depends=depends)
        assert codes(group(COSCHEDULING, "minMember: 4"), run) == ["gang-starts-after-itself"]
        assert codes(group(COSCHEDULING, "minMember: 2"), run) == []
        later = job_set(["", PLUGIN], more=more, depends=depends)
        assert codes(group(COSCHEDULING, "minMember: 2"), later) == []

    def test_tasks_of_a_volcano_group_need_their_annotation(self) -> None:
        spec = "minMember: 2, minTaskMember: {leader: 1}"
        marked = VOLCANO.replace("ring}", "ring, volcano.sh/task-spec: leader}")
        assert codes(group(BETA, spec), job_set([VOLCANO], "volcano")) == ["gang-larger-than-pods"]
        assert codes(group(BETA, spec), job_set([marked], "volcano")) == []

    def test_a_group_that_may_exist_elsewhere_is_a_note(self) -> None:
        assert codes(job_set([PLUGIN])) == []
        assert "gang-pod-group-missing" in codes(job_set([PLUGIN]), infos=True)

    @pytest.mark.parametrize(("mark", "scheduler"), [(VOLCANO, ""), (VOLCANO, "kai-scheduler"), (PLUGIN, "volcano")])
    def test_marks_of_another_scheduler(self, mark: str, scheduler: str) -> None:
        (found,) = findings(job_set([mark], scheduler))
        assert found.code == "gang-other-scheduler"
        assert found.path.endswith("schedulerName")

    def test_coscheduling_may_run_in_any_profile(self) -> None:
        assert codes(job_set([PLUGIN], "gangs")) == []


class TestSetups:
    PROVIDER = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: lws-system}\ndata:\n"
        "  controller_manager_config.yaml: |\n    apiVersion: config.lws.x-k8s.io/v1alpha1\n"
        "    kind: Configuration\n    gangSchedulingManagement: {schedulerProvider: %s}\n"
    )

    def lws(self, leader: str = "", worker: str = "") -> str:
        def template(name: str) -> str:
            named = f"schedulerName: {name}, " if name else ""
            return f"{{spec: {{{named}containers: [{{name: a, image: t}}]}}}}"

        first = f"leaderTemplate: {template(leader)}, " if leader else ""
        return (
            "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: s, namespace: a}\n"
            f"spec: {{leaderWorkerTemplate: {{size: 2, {first}workerTemplate: {template(worker)}}}}}\n"
        )

    def test_both_templates_need_the_name(self) -> None:
        assert codes(self.PROVIDER % "volcano", self.lws("volcano", "volcano")) == []
        assert codes(self.PROVIDER % "volcano", self.lws("volcano")) == ["lws-gang-scheduler-name"]
        assert codes(self.PROVIDER % "volcano", self.lws("default-scheduler", "volcano")) == ["lws-gang-scheduler-name"]

    def test_without_a_provider_any_scheduler_is_fine(self) -> None:
        assert codes(self.lws()) == []
        assert codes(self.PROVIDER.replace("{schedulerProvider: %s}", "{}"), self.lws()) == []

    def test_a_provider_that_is_not_known(self) -> None:
        assert codes(self.PROVIDER % "vulcano") == ["lws-gang-scheduler-name"]

    def test_kueue_above_a_wide_open_queue_is_one_owner(self) -> None:
        label = "labels: {kueue.x-k8s.io/queue-name: team, kai.scheduler/queue: x}"
        capped = kai_queue("x", "org", "{quota: 8, limit: 8, overQuotaWeight: 1}")
        assert codes(kai_queue("org"), kai_queue("x", "org"), pod(label, "kai-scheduler")) == []
        assert codes(kai_queue("org"), capped, pod(label, "kai-scheduler")) == ["gang-two-quota-owners"]

    def test_kueue_above_a_capped_queue_of_volcano(self) -> None:
        meta = "labels: {kueue.x-k8s.io/queue-name: t}, annotations: {scheduling.volcano.sh/queue-name: x}"
        assert codes(volcano_queue("x"), pod(meta, "volcano")) == []
        assert codes(volcano_queue("x", capability="{cpu: 64}"), pod(meta, "volcano")) == ["gang-two-quota-owners"]

    @pytest.mark.parametrize(
        ("version", "bad"), [("v1alpha1", True), ("v1alpha2", False), ("v1alpha3", True), ("v1", False)]
    )
    def test_the_native_api_is_served_in_one_minor_release_each(self, version: str, bad: bool) -> None:
        made = f"apiVersion: scheduling.k8s.io/{version}\nkind: PodGroup\nmetadata: {{name: g, namespace: a}}\n"
        assert codes(made) == (["gang-api-version"] if bad else [])


class TestCoscheduling:
    def test_one_elastic_quota_in_a_namespace(self) -> None:
        quota = f"apiVersion: {COSCHEDULING}\nkind: ElasticQuota\nmetadata: {{name: %s, namespace: a}}\nspec: {{}}\n"
        assert codes(quota % "one") == []
        assert codes(quota % "one", quota % "two") == ["coscheduling-elastic-quota"]
