"""Rules about the platform's own objects: names, cohorts, checks, namespaces, the manager, groups, topology."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.kueue.worlds import (
    API,
    KUEUE,
    QUEUE,
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
    train_job,
)
from trainshed.spelling import near_miss

GPU = "nvidia.com/gpu"


def check(name_: str, controller: str = f"{KUEUE}/provisioning-request", **parameters: str) -> Manifest:
    spec: Manifest = {"controllerName": controller}
    if parameters:
        spec["parameters"] = {"apiGroup": KUEUE} | parameters
    return {"apiVersion": API, "kind": "AdmissionCheck", "metadata": {"name": name_}, "spec": spec}


def checks(*names: str | Manifest) -> Manifest:
    rules = [{"name": name} if isinstance(name, str) else name for name in names]
    return {"admissionChecksStrategy": {"admissionChecks": rules}}


def topology(*levels: str) -> Manifest:
    written = [{"nodeLabel": level} for level in levels or ("example.com/block", "example.com/rack")]
    return {"apiVersion": API, "kind": "Topology", "metadata": {"name": "fabric"}, "spec": {"levels": written}}


def namespace(name: str = "aurora", **labels: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def placed(**annotations: str) -> Manifest:
    keys = {f"{KUEUE}/podset-{key.replace('_', '-')}": value for key, value in annotations.items()}
    return job(template({"cpu": "1"}, keys), metadata(), parallelism=4, completions=4)


class TestReferences:
    def test_names_with_no_object(self) -> None:
        assert codes(flavor("a100"), cluster_queue()) == ["kueue-flavor-missing"]
        assert codes(flavor(), cluster_queue(), local_queue(queue="gpux")) == ["kueue-cluster-queue-missing"]
        assert codes(flavor(), cluster_queue(), local_queue(queue="")) == ["kueue-cluster-queue-missing"]
        assert codes(flavor(), cluster_queue(**checks("capacity"))) == ["kueue-admission-check-missing"]
        assert codes(flavor(topologyName="fabric"), cluster_queue()) == ["kueue-topology-missing"]
        assert codes(flavor("a100"), cohort("all", {"h100": {"cpu": "8"}})) == ["kueue-flavor-missing"]

    def test_what_may_exist_elsewhere_is_no_alarm(self) -> None:
        assert codes(job(template(), metadata())) == []
        assert codes(local_queue()) == []
        assert codes(cluster_queue(**checks("capacity"))) == []

    def test_parameters_of_a_check(self) -> None:
        good = check("c", kind="ProvisioningRequestConfig", name="capacity")
        config = {"apiVersion": API, "kind": "ProvisioningRequestConfig", "metadata": {"name": "capacity"}}
        assert codes(config, good) == []
        assert codes(config, check("c", kind="ProvisioningRequestConfig", name="x")) == [
            "kueue-check-parameters-missing"
        ]
        assert codes(config, check("c", kind="MultiKueueConfig", name="x")) == ["kueue-check-parameters-missing"]
        assert codes(config, check("c")) == ["kueue-check-parameters-missing"]
        assert codes(check("c", "example.com/budget")) == []

    def test_multikueue_checks_that_do_not_go_together(self) -> None:
        remote = {"kind": "MultiKueueConfig", "name": "w"}
        controller = f"{KUEUE}/multikueue"
        worlds = [
            check("m", controller, **remote),
            check("other", controller, **remote),
            check("p", kind="ProvisioningRequestConfig", name="p"),
        ]

        def conflicts(*names: str | Manifest) -> int:
            found = codes(*worlds, cluster_queue("gpu", **checks(*names)))
            return found.count("kueue-checks-conflict")

        assert conflicts("m") == 0
        assert conflicts("p") == 0
        assert conflicts("m", "p") == 1
        assert conflicts("m", "other") == 1
        assert conflicts({"name": "m", "onFlavors": ["h100"]}) == 1

    def test_v1beta1_spellings_are_read(self) -> None:
        queue = cluster_queue(cohort="all", admissionChecks=["capacity"])
        queue["apiVersion"] = f"{KUEUE}/v1beta1"
        tree = fleet(queue).kueue.cluster_queues["gpu"]
        assert tree.parent is not None
        assert (tree.parent.name, [use.name for use in tree.checks]) == ("all", ["capacity"])


class TestCohorts:
    def test_every_cycle_is_told_once(self) -> None:
        pair = [cohort("org", parentName="lab"), cohort("lab", parentName="org")]
        (found,) = findings(*pair, cluster_queue(cohortName="lab"), flavor())
        assert found.code == "kueue-cohort-cycle"
        assert "org -> lab -> org" in found.message
        assert "gpu" in found.message
        assert codes(cohort("self", parentName="self")) == ["kueue-cohort-cycle"]
        three = [cohort("a", parentName="b"), cohort("b", parentName="c"), cohort("c", parentName="a")]
        assert codes(*three, cohort("d", parentName="a")) == ["kueue-cohort-cycle"]

    def test_a_dropped_tree_gives_no_further_findings(self) -> None:
        pair = [cohort("org", parentName="lab"), cohort("lab", parentName="org")]
        world = [flavor(), cluster_queue(cohortName="lab"), local_queue(), job(template({GPU: "99"}), metadata())]
        assert codes(*pair, *world) == ["kueue-cohort-cycle"]

    @pytest.mark.parametrize("name", ["reserach", "researhc", "reseach", "re-search", "Research"])
    def test_a_misspelt_cohort(self, name: str) -> None:
        others = [cluster_queue(other, cohortName="research") for other in ("a", "b")]
        assert codes(flavor(), *others, cluster_queue("c", cohortName=name)) == ["kueue-cohort-typo"]
        assert codes(flavor(), cohort("research"), cohort("c", parentName=name)) == ["kueue-cohort-typo"]

    @pytest.mark.parametrize(
        ("name", "known"),
        [("team-b", "team-a"), ("pool1", "pool2"), ("lab-east", "lab-west"), ("prod", "test"), ("gold", "bold-2")],
    )
    def test_members_of_a_series_are_no_misspellings(self, name: str, known: str) -> None:
        assert near_miss(name, [known]) == ""

    def test_policies_for_a_cohort_without_one(self) -> None:
        queue = cluster_queue(preemption={"reclaimWithinCohort": "Any"})
        assert codes(flavor(), queue) == ["kueue-no-cohort-to-borrow-from"]
        assert codes(flavor(), cluster_queue(preemption={"withinClusterQueue": "LowerPriority"})) == []

    def test_a_strict_lender(self) -> None:
        lender = cluster_queue("a", {"h100": {GPU: "8"}}, cohortName="all", queueingStrategy="StrictFIFO")
        borrower = cluster_queue("b", {"h100": {GPU: "0"}}, cohortName="all")
        assert codes(flavor(), lender, borrower) == ["kueue-strict-fifo-lender"]
        assert codes(flavor(), lender) == []
        own = cluster_queue("b", {"h100": {GPU: "8"}}, cohortName="all")
        assert codes(flavor(), lender, own) == []


class TestNamespaces:
    def test_a_selector_that_leaves_the_namespace_out(self) -> None:
        world = [flavor(), cluster_queue(namespaceSelector={"matchLabels": {"team": "llm"}}), local_queue()]
        assert codes(*world, namespace(team="llm")) == []
        assert codes(*world, namespace(team="vision")) == ["kueue-namespace-not-selected"]
        assert codes(*world, namespace()) == ["kueue-namespace-not-selected"]
        assert codes(*world) == [], "the namespace's labels are not in the input"

    def test_the_name_label_is_always_there(self) -> None:
        def named(operator: str, *names: str) -> list[str]:
            requirement = {"key": "kubernetes.io/metadata.name", "operator": operator, "values": list(names)}
            queue = cluster_queue(namespaceSelector={"matchExpressions": [requirement]})
            return codes(flavor(), queue, local_queue())

        assert named("In", "aurora", "basalt") == []
        assert named("In", "basalt") == ["kueue-namespace-not-selected"]
        assert named("NotIn", "aurora") == ["kueue-namespace-not-selected"]

    def test_no_selector_selects_nothing(self) -> None:
        queue = cluster_queue()
        del queue["spec"]["namespaceSelector"]
        (found,) = findings(flavor(), queue, local_queue())
        assert (found.code, found.object and found.object.kind) == ("kueue-namespace-not-selected", "ClusterQueue")
        assert codes(flavor(), queue) == [], "nobody uses it here"

    @pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
    def test_queues_on_hold(self, policy: str) -> None:
        assert codes(flavor(), cluster_queue(stopPolicy=policy), local_queue()) == ["kueue-queue-on-hold"]
        assert codes(flavor(), cluster_queue(), local_queue(stopPolicy=policy)) == ["kueue-queue-on-hold"]
        assert codes(flavor(), cluster_queue(stopPolicy="None"), local_queue(stopPolicy="None")) == []


class TestManager:
    def test_workloads_without_a_queue_in_managed_namespaces(self) -> None:
        plain = job(template(), metadata(labels={}))
        on = configuration(manageJobsWithoutQueueName=True)
        assert codes(*platform(), on, plain) == ["kueue-managed-without-queue"]
        assert codes(*platform(), plain) == []
        assert codes(*platform(), local_queue("default"), on, plain) == []
        selector = {"matchLabels": {"managed": "yes"}}
        some = configuration(manageJobsWithoutQueueName=True, managedJobsNamespaceSelector=selector)
        assert codes(*platform(), some, plain) == []
        assert codes(*platform(), some, plain, namespace(managed="yes")) == ["kueue-managed-without-queue"]
        assert codes(*platform(), some, plain, namespace(managed="no")) == []
        assert codes(*platform(), on, job_set(template(), metadata(labels={}))) == [], "its integration is off"

    def test_kinds_and_namespaces_that_kueue_does_not_look_at(self) -> None:
        queued = job_set(template(), metadata())
        off = configuration(integrations={"frameworks": ["batch/job"]})
        both = configuration(integrations={"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]})
        assert codes(*platform(), off, queued) == ["kueue-integration-disabled"]
        assert codes(*platform(), configuration(), queued) == ["kueue-integration-disabled"]
        assert codes(*platform(), both, queued) == []
        selector = configuration(managedJobsNamespaceSelector={"matchLabels": {"managed": "yes"}})
        run = job(template(), metadata())
        assert codes(*platform(), selector, run, namespace()) == ["kueue-integration-disabled"]

    @pytest.mark.parametrize(
        "settings",
        [
            {"resources": {"quotaCheckStrategy": "IgnoreUndeclared", "excludeResourcePrefixes": ["a/"]}},
            {"managedJobsNamespaceSelector": {}},
            {"fairSharing": {}},
            {"waitForPodsReady": {"enable": True}},
            {"integrations": {"frameworks": ["batch/jobs"]}},
        ],
    )
    def test_settings_with_which_the_manager_does_not_start(self, settings: Manifest) -> None:
        assert set(codes(configuration(**settings))) == {"kueue-manager-config"}

    def test_settings_by_release(self) -> None:
        ignore = configuration(resources={"quotaCheckStrategy": "IgnoreUndeclared"})
        assert codes(ignore) == []
        assert codes(ignore, kueue="0.18.6") == ["kueue-manager-config"]

    def test_kueue_and_trainer_that_do_not_go_together(self) -> None:
        run = train_job(metadata(), template())
        assert codes(*platform(), *run) == []
        assert codes(*platform(), *run, trainer="2.1.0") == ["kueue-trainer-version-pair"]
        assert codes(*platform(), *run, kueue="0.16.1", trainer="2.2.0") == ["kueue-trainer-version-pair"]
        assert codes(*platform(), *run, kueue="0.16.1", trainer="2.1.0") == []

    def test_a_selector_on_another_flavors_key_by_release(self) -> None:
        queue = cluster_queue("gpu", {"h100": {"cpu": "8"}, "plain": {"cpu": "8"}})
        run = job(template({"cpu": "1"}, nodeSelector={"example.com/gpu": "h100"}), metadata())
        world = [flavor(), flavor("plain", nodeLabels={}), queue, local_queue(), run]
        assert codes(*world) == []
        assert codes(*world, kueue="0.18.1") == ["kueue-selector-key-of-other-flavor"]
        assert codes(*world, kueue="0.18.2") == []

    def test_a_local_queue_without_weight_by_release(self) -> None:
        scope = {"admissionMode": "UsageBasedAdmissionFairSharing"}
        world = [flavor(), cluster_queue(admissionScope=scope), local_queue(fairSharing={"weight": "0"})]
        assert codes(*world) == []
        assert codes(*world, kueue="0.19.0") == ["kueue-zero-weight-first"]
        assert codes(*world, kueue="0.18.5") == []


class TestPodGroups:
    def pods(self, *names: str, count: str | None = None, **labels: str) -> list[Manifest]:
        made = []
        for name in names:
            meta = metadata(labels={QUEUE: "train"} | labels, annotations={})
            meta["name"] = name
            if count is not None:
                meta["labels"][f"{KUEUE}/pod-group-name"] = "sft"
                meta["annotations"][f"{KUEUE}/pod-group-total-count"] = count
            made.append({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template()["spec"]})
        return made

    @pytest.mark.parametrize(("count", "wrong"), [("2", 0), ("3", 2), ("1", 2), ("0", 2), ("two", 2)])
    def test_the_announced_number(self, count: str, wrong: int) -> None:
        assert codes(*platform(), *self.pods("sft-0", "sft-1", count=count)) == ["kueue-pod-group-count"] * wrong

    def test_name_and_number_come_together(self) -> None:
        pods = self.pods("sft-0", count="1")
        del pods[0]["metadata"]["annotations"][f"{KUEUE}/pod-group-total-count"]
        assert codes(*platform(), *pods) == ["kueue-pod-group-count"]
        pods = self.pods("sft-0", count="1")
        del pods[0]["metadata"]["labels"][f"{KUEUE}/pod-group-name"]
        assert codes(*platform(), *pods) == ["kueue-pod-group-count"]

    def test_one_queue_for_all(self) -> None:
        pods = self.pods("sft-0", "sft-1", count="2")
        pods[1]["metadata"]["labels"][QUEUE] = "other"
        assert codes(*platform(), local_queue("other"), *pods) == ["kueue-pod-group-count"]

    def test_a_group_is_admitted_as_a_whole(self) -> None:
        names = [f"sft-{index}" for index in range(17)]
        found = codes(*platform(), *self.pods(*names, count="17"))
        assert found == ["kueue-never-admitted"]

    def test_pods_of_one_run_without_a_group(self) -> None:
        assert codes(*platform(), *self.pods("sft-head", "sft-worker-0", run="sft")) == ["kueue-pods-without-group"]
        assert codes(*platform(), *self.pods("sft-0", "sft-1", app="sft")) == ["kueue-pods-without-group"]
        assert codes(*platform(), *self.pods("notebook-anna", "notebook-ben", app="notebook")) == []
        assert codes(*platform(), *self.pods("sft-0", "sft-1", team="llm")) == []


class TestTopology:
    def world(self, *levels: str) -> list[Manifest]:
        return [topology(*levels), flavor(topologyName="fabric"), cluster_queue(), local_queue()]

    def test_levels(self) -> None:
        assert codes(*self.world(), placed(required_topology="example.com/rack")) == []
        (found,) = findings(*self.world(), placed(required_topology="example.com/rak"))
        assert found.code == "kueue-topology-not-supported"
        assert found.path.endswith("annotations[kueue.x-k8s.io/podset-required-topology]")

    def test_pods_without_a_request_in_a_mixed_queue(self) -> None:
        mixed = cluster_queue("gpu", {"h100": {"cpu": "8"}, "plain": {"cpu": "1"}})
        world = [topology(), flavor(topologyName="fabric"), flavor("plain"), mixed, local_queue()]
        assert codes(*world, job(template({"cpu": "1"}), metadata())) == []
        assert codes(*self.world(), job(template({"cpu": "1"}), metadata())) == [], "placement is implied"

    def test_groups_with_and_without_topology(self) -> None:
        queue = cluster_queue("gpu", {"h100": {GPU: "8"}}, {"plain": {"cpu": "8"}})
        assert codes(topology(), flavor(topologyName="fabric"), flavor("plain", nodeLabels={}), queue) == [
            "kueue-topology-mixed-groups"
        ]

    @pytest.mark.parametrize(
        "annotations",
        [
            {"required_topology": "example.com/rack", "preferred_topology": "example.com/block"},
            {"slice_required_topology": "example.com/rack"},
            {"slice_required_topology": "example.com/rack", "slice_size": "0"},
            {"slice_required_topology": "example.com/rack", "slice_size": "5"},
            {"unconstrained_topology": "maybe"},
            {"slice_required_topology_constraints": "rack"},
            {"required_topology": "example.com/rack", "group_name": "one"},
        ],
    )
    def test_requests_that_contradict_themselves(self, annotations: dict[str, str]) -> None:
        assert "kueue-topology-annotation-invalid" in codes(*self.world(), placed(**annotations))

    def test_slices(self) -> None:
        assert codes(*self.world(), placed(slice_required_topology="example.com/rack", slice_size="2")) == []

    def test_nodes_without_a_level(self) -> None:
        labels = {"example.com/gpu": "h100", "example.com/block": "b1"}
        world = [topology(), flavor(topologyName="fabric")]
        assert codes(*world, node("n1", labels)) == ["kueue-topology-level-not-on-nodes"]
        assert codes(*world, node("n1", labels | {"example.com/rack": "r1"})) == []

    def test_groups_whose_flavors_clash(self) -> None:
        flavors = [flavor("a", nodeLabels={"pool": "a"}), flavor("b", nodeLabels={"pool": "b"})]
        two = cluster_queue("gpu", {"a": {"cpu": "8"}}, {"b": {GPU: "8"}})
        (found,) = findings(*flavors, two)
        assert (found.code, found.severity) == ("kueue-groups-share-node-label", "error")
        one = cluster_queue("gpu", {"a": {"cpu": "8"}, "b": {"cpu": "8"}})
        assert codes(*flavors, one) == []


class TestPriority:
    def users(self, policy: str, **high: Any) -> list[Manifest]:
        classes = [
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
            for name, value in (("low", 1), ("high", 9))
        ]
        classes[1] |= high
        preemption = {"reclaimWithinCohort": policy}
        queues = [cluster_queue(name, cohortName="all", preemption=preemption) for name in ("a", "b")]
        locals_ = [local_queue(name, name) for name in ("a", "b")]
        jobs = []
        for queue, name in (("a", "low"), ("b", "high")):
            meta = metadata(labels={QUEUE: queue})
            meta["name"] = f"run-{queue}"
            jobs.append(job(template(priorityClassName=name), meta))
        return [flavor(), *classes, *queues, *locals_, *jobs]

    def test_preemption_behind_kueues_back(self) -> None:
        (found,) = findings(*self.users("Never"))
        assert (found.code, found.object and found.object.name) == ("kueue-pod-priority-preempts", "high")
        assert codes(*self.users("Any")) == []
        assert codes(*self.users("Never", preemptionPolicy="Never")) == []
