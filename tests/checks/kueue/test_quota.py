"""Quota rules: coverage, reach, hardware."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.checks.kueue.worlds import (
    KUEUE,
    Manifest,
    cluster_queue,
    codes,
    cohort,
    configuration,
    findings,
    flavor,
    fleet,
    job,
    job_set,
    local_queue,
    metadata,
    node,
    platform,
    template,
)
from trainshed.checks import all_rules
from trainshed.checks.rule import RULES
from trainshed.fleet.kueue_feasibility import feasibilities

GPU = "nvidia.com/gpu"


def run(requests: dict[str, Any], *, pods: int = 1, annotations: dict[str, str] | None = None, **pod: Any) -> Manifest:
    meta = metadata(annotations=annotations)
    return job(template(requests, **pod), meta, parallelism=pods, completions=pods)


def verdict(*objects: Manifest) -> str:
    (answer,) = feasibilities(fleet(*objects))
    return answer.verdict


class TestCoverage:
    def test_a_limit_range_adds_a_resource_that_nobody_wrote(self) -> None:
        limit_range = {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "defaults", "namespace": "aurora"},
            "spec": {"limits": [{"type": "Container", "defaultRequest": {"ephemeral-storage": "10Gi"}}]},
        }
        (found,) = findings(*platform(), limit_range, run({"cpu": "1"}))
        assert found.code == "kueue-uncovered-resource"
        assert "LimitRange" in found.message
        assert "ephemeral-storage" in found.message

    def test_a_limit_alone_is_a_request(self) -> None:
        pod = template({})
        pod["spec"]["containers"][0]["resources"] = {"limits": {"example.com/fpga": "1"}}
        (found,) = findings(*platform(), job(pod, metadata()))
        assert found.path == "spec.template.spec.containers[0].resources.limits[example.com/fpga]"

    def test_init_containers_count(self) -> None:
        init = {"name": "fetch", "image": "a", "resources": {"requests": {"ephemeral-storage": "1Gi"}}}
        assert codes(*platform(), run({"cpu": "1"}, initContainers=[init])) == ["kueue-uncovered-resource"]

    def test_a_request_of_zero_needs_no_cover(self) -> None:
        assert codes(*platform(), run({"cpu": "1", "rdma/hca": "0"})) == []

    @pytest.mark.parametrize(
        "resources", [{"quotaCheckStrategy": "IgnoreUndeclared"}, {"excludeResourcePrefixes": ["rdma/"]}]
    )
    def test_the_manager_may_let_resources_through(self, resources: Manifest) -> None:
        assert codes(*platform(), configuration(resources=resources), run({"cpu": "1", "rdma/hca": "1"})) == []

    def test_a_transformation_replaces_a_resource(self) -> None:
        change = {"input": "example.com/mig", "strategy": "Replace", "outputs": {GPU: "2"}}
        settings = configuration(resources={"transformations": [change]})
        assert codes(*platform(), settings, run({"cpu": "1", "example.com/mig": "8"})) == []
        assert codes(*platform(), settings, run({"cpu": "1", "example.com/mig": "9"})) == ["kueue-never-admitted"]

    def test_pods_are_counted_where_they_are_covered(self) -> None:
        queue = cluster_queue("gpu", {"h100": {"cpu": "64", "pods": "4"}})
        world = [flavor(), queue, local_queue()]
        assert codes(*world, run({"cpu": "1"}, pods=4)) == []
        assert codes(*world, run({"cpu": "1"}, pods=5)) == ["kueue-never-admitted"]
        assert codes(*world, run({}, pods=4)) == []


class TestReach:
    def test_the_arithmetic_is_shown(self) -> None:
        quota = {"h100": {GPU: {"nominalQuota": "16", "borrowingLimit": "8"}}}
        queues = [
            cluster_queue("gpu", quota, cohortName="all"),
            cluster_queue("other", {"h100": {GPU: "16"}}, cohortName="all"),
        ]
        (found,) = findings(flavor(), *queues, local_queue(), run({GPU: "8"}, pods=8))
        assert found.code == "kueue-never-admitted"
        for part in ("8 pods x 8", "needs 64", "can reach 24", "nominalQuota 16", "borrowingLimit 8", "cohort all 32"):
            assert part in found.message

    def test_of_several_resources_that_do_not_fit_the_device_is_told(self) -> None:
        queue = cluster_queue("gpu", {"h100": {"cpu": "64", GPU: "8"}})
        (found,) = findings(flavor(), queue, local_queue(), run({"cpu": "96", GPU: "8"}, pods=2))
        assert "needs 16 of nvidia.com/gpu" in found.message

    def test_where_a_flavor_takes_only_pods_with_a_topology_that_is_the_remedy(self) -> None:
        topology = {
            "apiVersion": f"{KUEUE}/v1beta2",
            "kind": "Topology",
            "metadata": {"name": "racks"},
            "spec": {"levels": [{"nodeLabel": "example.com/rack"}]},
        }
        queue = cluster_queue("gpu", {"small": {GPU: "4"}, "h100": {GPU: "64"}})
        flavors = [flavor("small"), flavor(topologyName="racks")]
        (found,) = findings(topology, *flavors, queue, local_queue(), run({GPU: "8"}))
        assert found.code == "kueue-never-admitted"
        assert found.fix.startswith("request a topology (kueue.x-k8s.io/podset-unconstrained-topology or a level), or")

    def test_partial_admission_counts_the_fewest_pods(self) -> None:
        annotations = {f"{KUEUE}/job-min-parallelism": "2"}
        assert codes(*platform(), run({GPU: "8"}, pods=4, annotations=annotations)) == []

    def test_pod_sets_count_together(self) -> None:
        jobs = job_set(template({GPU: "8"}), metadata())
        first = jobs["spec"]["replicatedJobs"][0]
        jobs["spec"]["replicatedJobs"] = [{**first, "name": name} for name in ("a", "b", "c")]
        (found,) = findings(*platform(), jobs)
        assert found.code == "kueue-never-admitted"
        assert "needs 24 of nvidia.com/gpu (8 for a + 8 for b + 8 for c)" in found.message

    def test_pod_sets_may_go_to_different_flavors(self) -> None:
        queue = cluster_queue("gpu", {"h100": {GPU: "8"}, "a100": {GPU: "8"}})
        jobs = job_set(template({GPU: "8"}), metadata())
        first = jobs["spec"]["replicatedJobs"][0]
        jobs["spec"]["replicatedJobs"] = [{**first, "name": name} for name in ("a", "b")]
        assert codes(flavor(), flavor("a100"), queue, local_queue(), jobs) == []

    def test_all_reasons_are_named_where_flavors_differ(self) -> None:
        queue = cluster_queue("gpu", {"h100": {GPU: "8"}, "a100": {GPU: "80"}})
        pod = run({GPU: "9"}, nodeSelector={"example.com/gpu": "h100"})
        (found,) = findings(flavor(), flavor("a100"), queue, local_queue(), pod)
        assert found.code == "kueue-never-admitted"
        assert "can reach 8" in found.message
        assert "flavor a100" in found.message

    @pytest.mark.parametrize(
        ("reclaim", "lending", "asked", "expected"),
        [
            ("Never", None, "4", "waiting"),
            ("Any", None, "4", "preemption"),
            ("Any", "2", "4", "fits"),
            ("Any", "6", "4", "preemption"),
            ("Any", None, "12", "borrowing"),
            ("Any", None, "17", "never"),
        ],
    )
    def test_verdicts(self, reclaim: str, lending: str | None, asked: str, expected: str) -> None:
        limit = {"lendingLimit": lending} if lending else {}
        queue = cluster_queue(
            "gpu",
            {"h100": {GPU: {"nominalQuota": "8"} | limit}},
            cohortName="all",
            preemption={"reclaimWithinCohort": reclaim},
        )
        other = cluster_queue("other", {"h100": {GPU: "8"}}, cohortName="all")
        assert verdict(flavor(), queue, other, local_queue(), run({GPU: asked})) == expected

    def test_alone_in_its_cohort_a_queue_simply_fits(self) -> None:
        assert verdict(*platform(), run({GPU: "16"})) == "fits"
        queue = cluster_queue(cohortName="all")
        assert verdict(flavor(), queue, local_queue(), run({GPU: "16"})) == "fits"

    def test_borrowing_is_told_as_info_only(self) -> None:
        all_rules.load()
        queues = [cluster_queue(cohortName="all"), cluster_queue("other", cohortName="all")]
        world = [flavor(), *queues, local_queue(), run({GPU: "32"})]
        assert codes(*world) == []
        (issue,) = RULES["kueue-only-by-borrowing"].function(fleet(*world))
        assert "needs 32" in issue.message

    def test_cpu_is_counted_in_millicores_and_memory_in_bytes(self) -> None:
        queue = cluster_queue("gpu", {"h100": {"cpu": "1500m", "memory": "1Gi"}})
        world = [flavor(), queue, local_queue()]
        assert codes(*world, run({"cpu": "0.75", "memory": "512Mi"}, pods=2)) == []
        assert codes(*world, run({"cpu": "0.751", "memory": "512Mi"}, pods=2)) == ["kueue-never-admitted"]
        assert codes(*world, run({"cpu": "0.75", "memory": "513Mi"}, pods=2)) == ["kueue-never-admitted"]


class TestHardware:
    CAPACITY = json.dumps({"nodes": 2, "perNode": {"cpu": "32", GPU: "8"}})

    def declared(self) -> Manifest:
        made = flavor()
        made["metadata"]["annotations"] = {"trainshed.dev/capacity": self.CAPACITY}
        return made

    def test_quota_beyond_the_declared_nodes(self) -> None:
        queues = [
            cluster_queue("a", {"h100": {GPU: "8"}}, cohortName="all"),
            cluster_queue("b", {"h100": {GPU: "4"}}, cohortName="all"),
        ]
        shared = cohort("all", {"h100": {GPU: "5"}})
        (found,) = findings(self.declared(), *queues, shared)
        assert found.code == "kueue-quota-exceeds-capacity"
        assert "add up to 17 (8 of ClusterQueue a + 5 of Cohort all + 4 of ClusterQueue b)" in found.message
        assert "have 16" in found.message
        assert codes(self.declared(), *queues, cohort("all", {"h100": {GPU: "4"}})) == []

    def test_resources_without_a_declared_capacity_are_left_alone(self) -> None:
        assert codes(self.declared(), cluster_queue("a", {"h100": {"memory": "90Ti"}})) == []

    def test_nodes_of_the_input_count_as_capacity(self) -> None:
        labels = {"example.com/gpu": "h100"}
        nodes = [node(f"n{index}", labels, None, **{GPU: "8"}) for index in range(2)]
        nodes.append(node("cpu", {}, None, **{GPU: "8"}))
        assert codes(*nodes, flavor(), cluster_queue("a", {"h100": {GPU: "16"}})) == []
        assert codes(*nodes, flavor(), cluster_queue("a", {"h100": {GPU: "17"}})) == ["kueue-quota-exceeds-capacity"]

    def test_a_pod_that_is_larger_than_any_node(self) -> None:
        queue = cluster_queue("gpu", {"h100": {GPU: "16"}})
        world = [self.declared(), queue, local_queue()]
        assert codes(*world, run({GPU: "8"}, pods=2)) == []
        assert codes(*world, run({GPU: "9"})) == ["kueue-pod-exceeds-node"]

    def test_a_taint_of_the_nodes_that_the_flavor_does_not_know(self) -> None:
        taint = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
        nodes = [node("n1", {"example.com/gpu": "h100"}, [taint])]
        assert codes(*nodes, *platform(), run({"cpu": "1"})) == ["kueue-node-taint-untolerated"]
        tolerant = flavor(tolerations=[{"key": "dedicated", "operator": "Exists"}])
        assert codes(*nodes, tolerant, cluster_queue(), local_queue(), run({"cpu": "1"})) == []
        named = [node("n1", {"example.com/gpu": "h100"}, [{"key": GPU, "effect": "NoSchedule"}])]
        assert codes(*named, *platform(), run({"cpu": "1", GPU: "1"})) == []

    def test_a_cohort_that_repeats_the_sum_of_its_members(self) -> None:
        queues = [cluster_queue(name, {"h100": {GPU: "8"}}, cohortName="all") for name in ("a", "b")]
        assert codes(flavor(), *queues, cohort("all", {"h100": {GPU: "16"}})) == ["kueue-cohort-quota-repeated"]
        assert codes(flavor(), *queues, cohort("all", {"h100": {GPU: "8"}})) == []

    def test_a_nested_cohort_that_repeats_the_sum_of_its_members(self) -> None:
        queues = [cluster_queue(name, {"h100": {GPU: "8"}}, cohortName=name) for name in ("a", "b")]
        middle = [cohort(name, parentName="all") for name in ("a", "b")]
        assert codes(flavor(), *queues, *middle, cohort("all", {"h100": {GPU: "16"}})) == [
            "kueue-cohort-quota-repeated"
        ]

    def test_units(self) -> None:
        (found,) = findings(flavor(), cluster_queue("a", {"h100": {"memory": "512"}}))
        assert (found.code, "512 bytes" in found.message) == ("kueue-quota-unit", True)
        queues = [
            cluster_queue("a", {"h100": {"example.com/vram": "80"}}),
            cluster_queue("b", {"h100": {"example.com/vram": "80Gi"}}),
        ]
        assert codes(flavor(), *queues) == ["kueue-quota-unit"]
