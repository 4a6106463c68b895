"""Volcano: queues, jobs, scheduler configuration beyond the examples of the rules' pages."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.checks.schedulers.worlds import GPUS, POD, codes, findings, vcjob, volcano_conf, volcano_queue

GPU = "nvidia.com/gpu"
POLICIES = "policies: [{events: [PodFailed, PodEvicted], action: RestartJob}]"
TORCH = "{restartPolicy: Never, containers: [{name: a, image: t, command: [torchrun, --nnodes=%s, train.py]}]}"


class TestQueues:
    @pytest.mark.parametrize(
        "user",
        [
            vcjob("queue: trian"),
            "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g, namespace: a}\n"
            "spec: {minMember: 1, queue: trian}\n",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: g, namespace: a}\nspec: {template: {metadata: "
            "{annotations: {scheduling.volcano.sh/queue-name: trian}}, spec: {schedulerName: volcano, "
            "restartPolicy: Never, containers: [{name: a, image: t}]}}}\n",
            "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: g, namespace: a, "
            "annotations: {scheduling.volcano.sh/queue-name: trian}}\nspec: {leaderWorkerTemplate: {size: 1, "
            "workerTemplate: {spec: {schedulerName: volcano, containers: [{name: a, image: t}]}}}}\n",
            "apiVersion: batch.volcano.sh/v1alpha1\nkind: CronJob\nmetadata: {name: g, namespace: a}\nspec: {schedule: "
            "'0 1 * * *', jobTemplate: {spec: {queue: trian, tasks: "
            f"[{{name: node, replicas: 1, template: {{spec: {POD}}}}}]}}}}}}\n",
            "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobTemplate\nmetadata: {name: g, namespace: a}\n"
            f"spec: {{queue: trian, tasks: [{{name: node, replicas: 1, template: {{spec: {POD}}}}}]}}\n",
        ],
        ids=["Job", "PodGroup", "batch Job", "LeaderWorkerSet", "CronJob", "JobTemplate"],
    )
    def test_a_misspelt_queue_is_found_whoever_names_it(self, user: str) -> None:
        (found,) = findings(volcano_queue("train"), user)
        assert (found.code, found.severity) == ("volcano-queue-missing", "error")
        assert 'did you mean "train"?' in found.fix

    def test_the_queue_default_needs_no_manifest(self) -> None:
        assert codes(volcano_queue("train"), vcjob("queue: default"), vcjob(name="b")) == []

    def test_without_any_queue_in_the_input_a_name_is_only_a_note(self) -> None:
        assert codes(vcjob("queue: train")) == []
        assert "volcano-queue-missing" in codes(vcjob("queue: train"), infos=True)

    def test_root_takes_no_jobs(self) -> None:
        assert codes(vcjob("queue: root")) == ["volcano-queue-not-leaf"]

    def test_a_parent_of_two_levels_names_the_leaves_below_it(self) -> None:
        queues = [volcano_queue("org"), volcano_queue("lab", parent="org"), volcano_queue("x", parent="lab")]
        (found,) = findings(*queues, vcjob("queue: org"))
        assert found.code == "volcano-queue-not-leaf"
        assert found.fix.endswith(": x")

    def test_the_capability_of_the_nearest_ancestor_that_sets_one_counts(self) -> None:
        queues = [
            volcano_queue("org", capability=f"{{{GPU}: 16}}"),
            volcano_queue("lab", parent="org"),
            volcano_queue("x", parent="lab", capability=f"{{{GPU}: 24}}"),
        ]
        (found,) = findings(*queues)
        assert found.code == "volcano-child-above-parent"
        assert 'the 16 of its ancestor "org"' in found.message

    def test_a_parent_without_capability_bounds_nothing(self) -> None:
        assert codes(volcano_queue("org"), volcano_queue("x", parent="org", capability=f"{{{GPU}: 24, cpu: 8}}")) == []

    def test_children_of_root_are_not_summed(self) -> None:
        assert codes(*(volcano_queue(name, deserved=f"{{{GPU}: 24}}") for name in ("a", "b"))) == []

    def test_quantities_are_compared_by_value(self) -> None:
        children = [volcano_queue(name, parent="org", deserved="{memory: 512Gi}") for name in ("a", "b")]
        assert codes(volcano_queue("org", deserved="{memory: 1Ti}"), *children) == []
        assert codes(volcano_queue("org", deserved="{memory: 1T}"), *children) == ["volcano-children-exceed-parent"]

    def test_a_zero_of_a_gpu_is_still_refused_where_the_parent_lacks_it(self) -> None:
        queues = volcano_queue("org"), volcano_queue("x", parent="org", deserved=f"{{{GPU}: 0}}")
        assert codes(*queues) == ["volcano-children-exceed-parent"]

    def test_six_levels_are_too_deep(self) -> None:
        names = ["root", *"abcdef"]
        queues = [volcano_queue(name, parent=above) for above, name in pairwise(names)]
        (found,) = findings(*queues)
        assert found.code == "volcano-queue-circle"
        assert "6 levels" in found.message

    def test_root_without_resources_is_left_alone(self) -> None:
        assert codes(volcano_queue("root")) == []

    def test_a_closed_queue(self) -> None:
        assert codes(volcano_queue("x") + "status: {state: Closed}\n", vcjob("queue: x")) == ["volcano-queue-closed"]

    def test_a_name_that_nobody_requests_and_everybody_nearly_does(self) -> None:
        task = f"- {{name: node, replicas: 1, template: {{spec: {GPUS}}}}}"
        assert codes(volcano_queue("x", capability="{nvidia.com/gpus: 8}"), vcjob("queue: x", task)) == [
            "volcano-unknown-resource"
        ]
        assert codes(volcano_queue("x", capability="{nvidia.com/gpu: 8, rdma/hca: 4}"), vcjob("queue: x", task)) == []


class TestGangs:
    def test_only_the_gang_counts_not_all_replicas(self) -> None:
        task = f"- {{name: node, replicas: 4, template: {{spec: {GPUS}}}}}"
        queue = volcano_queue("x", capability=f"{{{GPU}: 16}}")
        assert codes(queue, vcjob("queue: x\nminAvailable: 2", task)) == []
        assert codes(queue, vcjob("queue: x\nminAvailable: 3", task)) == ["volcano-never-enqueued"]

    def test_the_guarantee_of_a_sibling_is_not_for_others(self) -> None:
        node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {nvidia.com/gpu: 16}}\n"
        kept = volcano_queue("kept", guarantee=f"{{resource: {{{GPU}: 8}}}}", deserved=f"{{{GPU}: 8}}")
        task = f"- {{name: node, replicas: 2, template: {{spec: {GPUS}}}}}"
        (found,) = findings(node, kept, volcano_queue("x"), vcjob("queue: x", task))
        assert found.code == "volcano-never-enqueued"
        assert "guaranteed to others" in found.message

    def test_native_pods_count_by_their_owners_annotation(self) -> None:
        job = f"""
            apiVersion: batch/v1
            kind: Job
            metadata: {{name: j, namespace: a, annotations: {{scheduling.volcano.sh/group-min-member: "3"}}}}
            spec:
              parallelism: 3
              completions: 3
              template:
                metadata: {{annotations: {{scheduling.volcano.sh/queue-name: x}}}}
                spec: {GPUS.replace("{restart", "{schedulerName: volcano, restart")}
        """
        assert codes(volcano_queue("x", capability=f"{{{GPU}: 16}}"), job) == ["volcano-never-enqueued"]
        assert codes(volcano_queue("x", capability=f"{{{GPU}: 24}}"), job) == []

    def test_an_elastic_launch_may_start_with_fewer_pods(self) -> None:
        task = f"- {{name: node, replicas: 4, template: {{spec: {TORCH % '2:4'}}}}}"
        assert codes(vcjob(f"minAvailable: 2\n{POLICIES}", task)) == []
        assert codes(vcjob(f"minAvailable: 1\n{POLICIES}", task)) == ["volcano-gang-incomplete"]
        assert codes(vcjob(f"minAvailable: 2\n{POLICIES}", task.replace("2:4", "4"))) == ["volcano-gang-incomplete"]

    def test_a_dependent_task_outside_of_the_minimum_is_fine(self) -> None:
        tasks = f"""
            - {{name: worker, replicas: 10, template: {{spec: {POD}}}}}
            - {{name: master, replicas: 1, dependsOn: {{name: [worker]}}, template: {{spec: {POD}}}}}
        """
        assert codes(vcjob("minAvailable: 3", tasks)) == []
        (found,) = findings(vcjob("minAvailable: 11", tasks))
        assert found.code == "volcano-gang-waits-for-itself"
        assert "only 10 pods" in found.message

    @pytest.mark.parametrize("name", ["default-scheduler", "volcno", "kai-scheduler"])
    def test_a_job_for_another_scheduler(self, name: str) -> None:
        assert codes(vcjob(f"schedulerName: {name}")) == ["volcano-scheduler-name"]

    def test_a_scheduler_of_ones_own_is_taken_when_all_agree(self) -> None:
        spec = POD.replace("{restart", "{schedulerName: gang-two, restart")
        task = f"- {{name: node, replicas: 1, template: {{spec: {spec}}}}}"
        assert codes(vcjob("schedulerName: gang-two", task)) == []


class TestPolicies:
    OWN = f"""
        - name: node
          replicas: 1
          policies: [{{event: PodFailed, action: ACTION}}]
          template: {{spec: {POD}}}
    """

    def test_a_tasks_own_policy_replaces_the_jobs(self) -> None:
        job = "policies: [{event: PodFailed, action: TerminateJob}, {event: PodEvicted, action: RestartJob}]"
        own = self.OWN.replace("ACTION", "RestartTask")
        assert codes(vcjob(job)) == ["volcano-failed-and-evicted"]
        assert codes(vcjob(job, own)) == []

    def test_a_conflict_between_job_and_task(self) -> None:
        own = self.OWN.replace("ACTION", "AbortJob")
        (found,) = findings(vcjob("policies: [{events: [PodEvicted, Unknown], action: RestartJob}]", own))
        assert found.code == "volcano-failed-and-evicted"
        assert found.path == "spec.tasks[0].policies[0]"

    def test_exit_codes_beside_a_restart_are_no_conflict(self) -> None:
        assert codes(vcjob(f"{POLICIES[:-1]}, {{exitCode: 3, action: TerminateJob}}]")) == []

    def test_a_single_pod_needs_no_policy(self) -> None:
        assert codes(vcjob("", f"- {{name: node, replicas: 1, template: {{spec: {TORCH % 1}}}}}")) == []

    def test_a_worker_that_ends_the_job(self) -> None:
        done = "policies: [{event: TaskCompleted, action: CompleteJob}]"
        tasks = f"""
            - {{name: master, replicas: 1, template: {{spec: {POD}}}}}
            - {{name: worker, replicas: 1, {done}, template: {{spec: {POD}}}}}
        """
        assert codes(vcjob(f"plugins: {{pytorch: []}}\n{POLICIES}", tasks)) == ["volcano-completes-too-early"]
        assert codes(vcjob(POLICIES, tasks)) == []

    def test_a_server_task_is_fine_where_the_master_ends_the_job(self) -> None:
        serve = "{containers: [{name: a, image: t, args: [/usr/sbin/sshd -D]}]}"
        tasks = "- {name: master, replicas: 1, %s template: {spec: %s}}\n- {name: w, replicas: 1, template: {spec: %s}}"
        ends = "policies: [{event: TaskCompleted, action: CompleteJob}],"
        assert codes(vcjob("", tasks % (ends, POD, serve))) == []
        never = serve.replace("{containers", "{restartPolicy: OnFailure, containers")
        assert codes(vcjob("", tasks % ("", POD, never))) == ["volcano-never-completes"]


class TestPlugins:
    TASKS = f"""
        - {{name: master, replicas: 1, template: {{spec: {POD}}}}}
        - {{name: worker, replicas: 2, template: {{spec: {POD}}}}}
    """

    def job(self, arguments: str, tasks: str = "") -> str:
        return vcjob(f"plugins: {{pytorch: [{arguments}], svc: []}}\n{POLICIES}", tasks or self.TASKS)

    @pytest.mark.parametrize(
        "arguments",
        [
            "--master=master, --worker=worker, --port=23456",
            "-master, master, -worker, worker",
            "--wait-master-enabled, --wait-master-timeout=600",
        ],
    )
    def test_spellings_that_go_reads(self, arguments: str) -> None:
        assert codes(self.job(arguments)) == []

    @pytest.mark.parametrize("arguments", ["--masters=master", "master=master", "--port=a", "--port=99999", "--worker"])
    def test_spellings_that_it_does_not(self, arguments: str) -> None:
        assert codes(self.job(arguments)) == ["volcano-plugin-argument"]

    def test_a_master_that_is_no_task(self) -> None:
        (found,) = findings(self.job("--master=mater"))
        assert found.code == "volcano-plugin-task"
        assert 'did you mean "master"?' in found.fix

    def test_two_masters(self) -> None:
        tasks = self.TASKS.replace("replicas: 1", "replicas: 2")
        assert codes(self.job("", tasks)) == ["volcano-plugin-task"]

    def test_a_helper_task_beside_the_ranks_is_fine(self) -> None:
        tasks = f"{self.TASKS.rstrip()}\n        - {{name: tensorboard, replicas: 1, template: {{spec: {POD}}}}}\n"
        assert codes(self.job("", tasks)) == []


class TestConfiguration:
    GOOD = ("[{name: priority}, {name: conformance}, {name: capacity, enableHierarchy: true}]", "[{name: predicates}]")

    def test_a_good_one(self) -> None:
        assert codes(volcano_conf("enqueue, allocate, backfill, reclaim", *self.GOOD)) == []

    @pytest.mark.parametrize(
        ("tier", "word"),
        [
            ("[{name: proportoin}]", '"proportoin"'),
            ("[{name: gang, enablePreemptible: false}]", '"enablePreemptible"'),
            ("[{name: proportion}, {name: capacity}]", "alternatives"),
            ("[{name: drf, enableHierarchy: true}, {name: proportion}]", "refused"),
            ("[{name: overcommit, arguments: {overcommit-facter: 2}}]", '"overcommit-facter"'),
            ("[{name: capacity", "is not YAML"),
        ],
    )
    def test_what_is_wrong_in_a_tier(self, tier: str, word: str) -> None:
        (found,) = findings(volcano_conf("enqueue, allocate", tier))
        assert found.code == "volcano-config-invalid"
        assert word in found.message

    def test_a_parent_needs_the_hierarchy(self) -> None:
        queues = volcano_queue("org"), volcano_queue("x", parent="org")
        flat = volcano_conf("allocate, reclaim", "[{name: conformance}, {name: capacity}]")
        (found,) = findings(flat, *queues)
        assert (found.code, found.path) == ("volcano-queue-field-ignored", "spec.parent")
        assert codes(volcano_conf("allocate, reclaim", *self.GOOD), *queues) == []

    def test_without_a_configuration_in_the_input_nothing_is_said(self) -> None:
        assert codes(volcano_queue("org"), volcano_queue("x", parent="org")) == []


class TestTopology:
    LEAF = (
        "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: leaf}\n"
        "spec: {tier: 1, tierName: rack, members: [{type: Node, selector: {regexMatch: {pattern: 'node-[0-9]+'}}}]}\n"
    )

    @pytest.mark.parametrize(
        ("topology", "word"),
        [
            ("{mode: hard}", "without a highest tier"),
            ("{}", "without a highest tier"),
            ("{highestTierAllowed: 4}", "the highest tier of a HyperNode is 1"),
            ("{highestTierName: rak}", '"rak"'),
        ],
    )
    def test_tiers_that_are_not_there(self, topology: str, word: str) -> None:
        (found,) = findings(self.LEAF, vcjob(f"networkTopology: {topology}"))
        assert found.code == "volcano-topology-tier"
        assert word in found.message

    @pytest.mark.parametrize("topology", ["{highestTierAllowed: 1}", "{highestTierName: rack}", "{mode: soft}"])
    def test_tiers_that_are(self, topology: str) -> None:
        assert codes(self.LEAF, vcjob(f"networkTopology: {topology}")) == []

    def test_a_hypernode_with_two_parents(self) -> None:
        spine = self.LEAF.replace("name: leaf", "name: %s").replace("tier: 1, tierName: rack", "tier: 2")
        member = "{type: HyperNode, selector: {exactMatch: {name: leaf}}}"
        spine = spine.replace("{type: Node, selector: {regexMatch: {pattern: 'node-[0-9]+'}}}", member)
        assert codes(self.LEAF, spine % "s1") == []
        assert codes(self.LEAF, spine % "s1", spine % "s2") == ["volcano-hypernode-tree"]


class TestFlows:
    def test_flows_in_a_circle(self) -> None:
        flow = (
            "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nmetadata: {name: f, namespace: a}\nspec: {flows: "
            "[{name: a, dependsOn: {targets: [b]}}, {name: b, dependsOn: {targets: [a]}}]}\n"
        )
        assert codes(flow) == ["volcano-flow-targets"]


class TestRuns:
    """A run is told by its launcher, its variables, or several GPUs and a training command."""

    GPU_TASK = (
        "- {name: node, replicas: 4, template: {spec: {restartPolicy: Never, containers: [{name: a, image: t, "
        "command: [python, %s], resources: {limits: {nvidia.com/gpu: %d}}}]}}}"
    )

    @pytest.mark.parametrize(
        ("script", "gpus", "bad"), [("train.py", 8, True), ("infer.py", 8, False), ("train.py", 1, False)]
    )
    def test_a_gang_smaller_than_the_run(self, script: str, gpus: int, bad: bool) -> None:
        made = vcjob(f"minAvailable: 1\n{POLICIES}", self.GPU_TASK % (script, gpus))
        assert codes(made) == (["volcano-gang-incomplete"] if bad else [])

    def test_variables_of_a_rendezvous(self) -> None:
        spec = POD.replace("image: t", "image: t, env: [{name: MASTER_ADDR, value: sft-node-0.sft}]")
        task = f"- {{name: node, replicas: 2, template: {{spec: {spec}}}}}"
        assert codes(vcjob("minAvailable: 1", task)) == ["volcano-gang-incomplete", "volcano-no-failure-policy"]

    def test_a_misspelt_claim_and_one_that_is_elsewhere(self) -> None:
        claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: checkpoints, namespace: a}\n"
        volumes = "volumes: [{mountPath: /c, volumeClaimName: %s}]"
        assert codes(claim, vcjob(volumes % "checkponts")) == ["volcano-claim-missing"]
        assert codes(claim, vcjob(volumes % "datasets")) == []

    def test_defaults_are_named(self) -> None:
        (found,) = findings(vcjob("plugins: {mpi: [--master=node]}"), infos=True)
        assert found.code == "volcano-defaults-unwritten"
        assert "the plugin ssh" in found.message


class TestNativeGangs:
    @pytest.mark.parametrize(
        ("kind", "pods", "size", "bad"),
        [
            ("Job", 2, "3", True),
            ("Job", 2, "2", False),
            ("Job", 2, "two", True),
            ("JobSet", 2, "3", True),
            ("JobSet", 2, "2", False),
            ("Deployment", 2, "3", True),
            ("Deployment", 2, "1", False),
        ],
    )
    def test_group_min_member(self, kind: str, pods: int, size: str, bad: bool) -> None:
        mark = f'annotations: {{scheduling.volcano.sh/group-min-member: "{size}"}}'
        spec = POD.replace("{restart", "{schedulerName: volcano, restart")
        job = f"{{parallelism: {pods}, completions: {pods}, template: {{spec: {spec}}}}}"
        texts = {
            "Job": f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, namespace: a, {mark}}}\nspec: {job}\n",
            "JobSet": "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a, namespace: a}\nspec:\n"
            f"  replicatedJobs: [{{name: w, replicas: 3, template: {{metadata: {{{mark}}}, spec: {job}}}}}]\n",
            "Deployment": f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a, namespace: a, {mark}}}\n"
            f"spec: {{replicas: {pods}, template: {{spec: {spec.replace('restartPolicy: Never, ', '')}}}}}\n",
        }
        assert ("volcano-group-min-member" in codes(texts[kind])) == bad

    def test_a_share_that_nobody_gives_back(self) -> None:
        share = "{nvidia.com/gpu: 8}"
        code = "volcano-deserved-not-recovered"
        owed, kept = volcano_queue("a", reclaimable="false", deserved=share), volcano_queue("b", reclaimable="false")
        assert code in codes(owed, kept)
        assert code not in codes(owed, kept.replace("false", "true"))
        assert code not in codes(owed)
        assert code not in codes(volcano_queue("a", reclaimable="false"), kept)

    @pytest.mark.parametrize(("factor", "bad"), [("0.8", True), ("1.5", False), ("many", True)])
    def test_an_overcommit_factor_below_one(self, factor: str, bad: bool) -> None:
        conf = volcano_conf("enqueue, allocate", f"[{{name: overcommit, arguments: {{overcommit-factor: {factor}}}}}]")
        assert codes(conf) == ["volcano-config-invalid"] * bad

    def test_actions_without_allocate(self) -> None:
        assert codes(volcano_conf("enqueue, backfill", "[{name: priority}]")) == ["volcano-config-invalid"]

    def test_a_hyper_node_that_is_not_there(self) -> None:
        head = "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: %s}\n"
        head += "spec: {tier: %s, members: "
        leaf = head % ("rack", 1) + "[{type: Node, selector: {exactMatch: {name: n1}}}]}\n"
        top = head % ("spine", 2) + "[{type: HyperNode, selector: {exactMatch: {name: %s}}}]}\n"
        assert codes(leaf, top % "rack") == []
        assert codes(leaf, top % "other") == ["volcano-hypernode-tree"]


@pytest.mark.parametrize(("gpus", "severity"), [("8", "error"), ("", "warning")])
def test_a_task_that_holds_gpus_must_end(gpus: str, severity: str) -> None:
    limits = f', resources: {{limits: {{nvidia.com/gpu: "{gpus}"}}}}' if gpus else ""
    text = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: sft, namespace: a}\nspec:\n"
    text += "  minAvailable: 1\n  tasks:\n  - {name: node, replicas: 1, template: {spec: {containers: "
    text += f"[{{name: a, image: t{limits}}}]}}}}}}\n"
    (found,) = [item for item in findings(text) if item.code == "volcano-never-completes"]
    assert found.severity == severity
