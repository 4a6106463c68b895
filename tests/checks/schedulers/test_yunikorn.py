"""YuniKorn: queues.yaml, pods and task groups beyond the examples of the rules' pages."""

from __future__ import annotations

import json

import pytest

from tests.checks.schedulers.worlds import codes, findings, pod, yunikorn

GROUP = {"name": "workers", "minMember": 2, "minResource": {"cpu": "4", "nvidia.com/gpu": "8"}}
QUEUE = "labels: {yunikorn.apache.org/queue: %s}"


def job(groups: object = None, name: str | None = "workers", pods: int = 2, gpus: int = 8, more: str = "") -> str:
    """A Job with a task group; `groups` None for a good one, a string for what it is."""
    written = groups if isinstance(groups, str) else json.dumps([GROUP] if groups is None else groups)
    lines = [f"yunikorn.apache.org/task-groups: {json.dumps(written)}"] if written else []
    lines += [f"yunikorn.apache.org/task-group-name: {name}"] if name else []
    annotations = "{" + ", ".join(lines) + "}"
    limits = f"{{limits: {{cpu: 4, nvidia.com/gpu: {gpus}}}}}"
    spec = (
        f"{{schedulerName: yunikorn, restartPolicy: Never, containers: [{{name: a, image: t, resources: {limits}}}]}}"
    )
    template = f"{{metadata: {{{more} annotations: {annotations}}}, spec: {spec}}}"
    return (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: sft, namespace: a}\n"
        f"spec: {{parallelism: {pods}, completions: {pods}, template: {template}}}\n"
    )


class TestConfiguration:
    @pytest.mark.parametrize(
        ("queue", "word"),
        [
            ("{name: a.b}", '"a.b"'),
            ("{name: a, maxApplications: 4}", 'write "maxapplications"'),
            ("{name: a, resources: {max: {vcore: 1.5}}}", "can't be read"),
            ("{name: a, resources: {max: {memory: 500m}}}", "can't be read"),
            ("{name: a, resources: {max: {cpu: 4}}}", "calls vcore"),
            ("{name: a, submitacl: a b c}", "one space"),
            ("{name: a, properties: {application.sort.policy: faire}}", "has no meaning"),
            ("{name: a, limits: [{limit: x, users: [u]}]}", "limits nothing"),
            ("{name: a, limits: [{limit: x, users: ['*', u], maxapplications: 1}]}", "put"),
        ],
    )
    def test_what_is_refused_in_a_queue(self, queue: str, word: str) -> None:
        (found,) = findings(yunikorn(f"- {queue}"))
        assert found.code == "yunikorn-config-invalid"
        assert word in f"{found.message} {found.fix}"

    def test_a_name_twice_ignoring_case(self) -> None:
        assert codes(yunikorn("- {name: Team}\n- {name: team}")) == ["yunikorn-config-invalid"]

    @pytest.mark.parametrize(
        ("rules", "bad"),
        [
            ("[{name: provided, create: true}]", False),
            ("[{name: Tag, value: namespace, create: true}]", False),
            ("[{name: tag}]", True),
            ("[{name: provide}]", True),
            ("[{name: user, filter: {type: only}}]", True),
        ],
    )
    def test_placement_rules(self, rules: str, bad: bool) -> None:
        made = yunikorn("- {name: a}", f"placementrules: {rules}")
        assert codes(made) == (["yunikorn-config-invalid"] if bad else [])

    @pytest.mark.parametrize(
        ("queue", "bad"),
        [
            ("{name: a, resources: {guaranteed: {vcore: 500m}, max: {vcore: 1}}}", False),
            ("{name: a, resources: {guaranteed: {vcore: 2}, max: {vcore: 1}}}", True),
            ("{name: a, resources: {max: {memory: 1G}}, queues: [{name: b, resources: {max: {memory: 1Gi}}}]}", True),
            ("{name: a, resources: {max: {memory: 1Gi}}, queues: [{name: b, resources: {max: {memory: 1G}}}]}", False),
            ("{name: a, maxapplications: 4, queues: [{name: b, maxapplications: 5}]}", True),
            ("{name: a, maxapplications: 4, queues: [{name: b}]}", True),
            ("{name: a, maxapplications: 4, queues: [{name: b, maxapplications: 4}]}", False),
        ],
    )
    def test_amounts(self, queue: str, bad: bool) -> None:
        assert codes(yunikorn(f"- {queue}")) == (["yunikorn-queue-amounts"] if bad else [])

    def test_other_config_maps_are_not_read(self) -> None:
        other = yunikorn("- {name: a.b}").replace("name: yunikorn-configs", "name: my-configs")
        assert codes(other) == []


class TestPods:
    CONFIG = "- {name: lab, queues: [{name: train}]}\n- {name: open, parent: true}"

    @pytest.mark.parametrize(
        ("queue", "bad"),
        [
            ("root.lab.train", False),
            ("ROOT.LAB.train", False),
            ("lab.train", False),
            ("root.lab.trian", True),
            ("root.lab", True),
            ("root", True),
            ("root..train", True),
        ],
    )
    def test_the_queue_of_a_pod(self, queue: str, bad: bool) -> None:
        assert codes(yunikorn(self.CONFIG), pod(QUEUE % queue, "yunikorn")) == (
            ["yunikorn-queue-missing"] if bad else []
        )

    def test_rules_that_make_queues_or_ignore_the_name(self) -> None:
        made = pod(QUEUE % "root.new", "yunikorn")
        for rules in ("[{name: provided, create: true}]", "[{name: tag, value: namespace, create: true}]"):
            assert codes(yunikorn(self.CONFIG, f"placementrules: {rules}"), made) == []

    def test_without_the_configuration_nothing_is_known(self) -> None:
        assert codes(pod(QUEUE % "root.new", "yunikorn")) == []

    @pytest.mark.parametrize(
        ("metadata", "bad"),
        [
            ("labels: {yunikorn.apache.org/queue: root.a, queue: root.b}", 1),
            ("labels: {queue: root.a}, annotations: {yunikorn.apache.org/queue: root.b}", 1),
            ("labels: {queue: root.a}, annotations: {yunikorn.apache.org/queue: root.a}", 0),
            ("labels: {applicationId: a, yunikorn.apache.org/app-id: b}", 1),
            ("labels: {queue: root.a, app: b}", 0),
        ],
    )
    def test_metadata_that_disagrees(self, metadata: str, bad: int) -> None:
        assert codes(pod(metadata, "yunikorn")) == ["yunikorn-metadata-conflict"] * bad

    def test_a_label_queue_of_other_pods_is_nobodys_business(self) -> None:
        assert codes(pod("labels: {queue: a}, annotations: {yunikorn.apache.org/queue: b}", "other")) == []


class TestGangs:
    def test_a_good_one(self) -> None:
        assert codes(job()) == []

    @pytest.mark.parametrize(
        "groups",
        [
            "{not json",
            '{"name": "workers"}',
            [GROUP | {"minMember": 0}],
            [{"name": "workers", "minMember": 2}],
            [GROUP, GROUP],
            [GROUP | {"minmember": 2}],
            [GROUP | {"minResource": {"cpu": "4 cores"}}],
        ],
    )
    def test_definitions_that_cannot_be_used(self, groups: object) -> None:
        assert set(codes(job(groups))) == {"yunikorn-task-group"}

    def test_a_group_that_nobody_defines(self) -> None:
        (found,) = findings(job(name="worker"))
        assert found.path == "spec.template.metadata.annotations[yunikorn.apache.org/task-group-name]"
        assert 'did you mean "workers"?' in found.fix

    def test_a_definition_without_a_member(self) -> None:
        assert codes(job(name=None)) == ["yunikorn-task-group"]
        assert codes(job("", "workers")) == ["yunikorn-task-group"]

    def test_sizes(self) -> None:
        assert codes(job(pods=1)) == ["yunikorn-task-group-size"]
        assert codes(job(pods=3)) == []
        assert codes(job([GROUP | {"minResource": {"cpu": "1"}}])) == ["yunikorn-task-group-size"]

    @pytest.mark.parametrize(
        ("parameters", "bad"),
        [
            ("placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard", 0),
            ("gangSchedulingStyle=Soft", 0),
            ("gangSchedulingStyle=hard", 1),
            ("placeholderTimeoutInSeconds=60s", 1),
        ],
    )
    def test_parameters(self, parameters: str, bad: int) -> None:
        key = "yunikorn.apache.org/schedulingPolicyParameters"
        assert codes(pod(f"annotations: {{{key}: {parameters}}}", "yunikorn")) == ["yunikorn-gang-parameters"] * bad

    def test_a_fair_queue_takes_no_gangs(self) -> None:
        label = "labels: {yunikorn.apache.org/queue: root.a},"
        config = "- {name: a, properties: {application.sort.policy: %s}}"
        assert codes(yunikorn(config % "fair"), job(more=label)) == ["yunikorn-gang-over-max"]
        assert codes(yunikorn(config % "fifo"), job(more=label)) == []
