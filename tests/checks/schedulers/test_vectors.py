"""The vectors that were worked by hand from the schedulers' algorithms (one dimension, GPUs; 64 in the cluster)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.checks.schedulers.worlds import codes, findings, fleet, kai_queue, pod, vcjob, volcano_queue, yunikorn
from trainshed.fleet.kai_tree import demand
from trainshed.fleet.volcano_tree import Claim, VolcanoTree, water_fill
from trainshed.quantity import Quantity

GPU = "nvidia.com/gpu"
TOTAL = Quantity(64)
NODES = """
    apiVersion: v1
    kind: Node
    metadata: {name: all}
    status: {allocatable: {nvidia.com/gpu: 64, cpu: 1k, memory: 4Ti}}
"""


def gang(pods: int, queue: str) -> str:
    """A gang of this many one-GPU pods."""
    limits = "resources: {limits: {nvidia.com/gpu: 1}}"
    spec = f"{{restartPolicy: Never, containers: [{{name: a, image: t, {limits}}}]}}"
    return vcjob(f"queue: {queue}", f"- {{name: node, replicas: {pods}, template: {{spec: {spec}}}}}")


class TestProportion:
    def test_p1_shares_by_weight_with_requests_met_first(self) -> None:
        claims = {
            "a": Claim(1, Fraction(64)),
            "b": Claim(2, Fraction(64)),
            "c": Claim(1, Fraction(8)),
        }
        shares = water_fill(Fraction(64), claims)
        assert shares == {"a": Fraction(56, 3), "b": Fraction(112, 3), "c": 8}
        assert [round(float(share), 3) for share in shares.values()] == [18.667, 37.333, 8]

    def test_p2_a_guarantee_is_kept_from_the_others(self) -> None:
        promised = f"{{{GPU}: 40}}"
        tree = fleet(
            volcano_queue("a"),
            volcano_queue("b", guarantee=f"{{resource: {promised}}}", deserved=promised),
            volcano_queue("c"),
        ).volcano
        bounds = {name: tree.real_capability(name, GPU, TOTAL, layered=False) for name in "abc"}
        assert bounds == {"a": Quantity(24), "b": Quantity(64), "c": Quantity(24)}
        claims = {
            name: Claim(
                2 if name == "b" else 1,
                Fraction(8 if name == "c" else 64),
                Fraction(40 if name == "b" else 0),
                bound.value if (bound := bounds[name]) else None,
            )
            for name in "abc"
        }
        assert water_fill(Fraction(64), claims) == {"a": 16, "b": 40, "c": 8}

    def test_p3_a_gang_within_the_real_capability_may_still_get_less(self) -> None:
        tree = fleet(volcano_queue("a"), volcano_queue("b"), volcano_queue("c")).volcano
        assert tree.real_capability("a", GPU, TOTAL, layered=False) == TOTAL
        claims = {"a": Claim(1, Fraction(64)), "b": Claim(2, Fraction(64)), "c": Claim(1, Fraction(8))}
        assert water_fill(Fraction(64), claims)["a"] < 24


def tree_c1() -> list[str]:
    """eng and sci; train and infer below eng."""
    return [
        volcano_queue(
            "eng",
            capability=f"{{{GPU}: 48}}",
            deserved=f"{{{GPU}: 40}}",
            guarantee=f"{{resource: {{{GPU}: 8}}}}",
        ),
        volcano_queue("train", parent="eng", deserved=f"{{{GPU}: 24}}", guarantee=f"{{resource: {{{GPU}: 8}}}}"),
        volcano_queue("infer", parent="eng", deserved=f"{{{GPU}: 16}}"),
        volcano_queue("sci", deserved=f"{{{GPU}: 24}}"),
    ]


class TestCapacityWithHierarchy:
    @pytest.mark.parametrize(("queue", "most"), [("eng", 48), ("train", 48), ("infer", 40), ("sci", None)])
    def test_c1_real_capabilities(self, queue: str, most: int | None) -> None:
        tree: VolcanoTree = fleet(*tree_c1()).volcano
        expected = None if most is None else Quantity(most)
        assert tree.real_capability(queue, GPU, TOTAL, layered=True) == expected

    def test_c1_itself_is_accepted(self) -> None:
        assert codes(*tree_c1(), NODES) == []

    def test_c2_a_gang_above_the_real_capability_is_never_enqueued(self) -> None:
        (found,) = findings(*tree_c1(), NODES, gang(56, "train"))
        assert found.code == "volcano-never-enqueued"
        assert "56 nvidia.com/gpu of at most 48" in found.message
        assert 'capability of "eng"' in found.message

    @pytest.mark.parametrize("pods", [100, 70])
    def test_c3_and_c4_a_gang_larger_than_the_cluster_never_starts(self, pods: int) -> None:
        (found,) = findings(*tree_c1(), NODES, gang(pods, "sci"))
        assert found.code == "volcano-never-enqueued"
        assert f"{pods} nvidia.com/gpu of 64 on all nodes" in found.message

    def test_c4_what_fits_the_cluster_is_fine(self) -> None:
        assert codes(*tree_c1(), NODES, gang(64, "sci"), gang(48, "train").replace("sft", "other")) == []

    def test_c5_who_may_reclaim_and_from_whom(self) -> None:
        queues = fleet(*tree_c1()).volcano.queues
        used = {"infer": Quantity(30), "train": Quantity(10), "sci": Quantity(24)}
        assert used["train"] + Quantity(8) <= queues["train"].deserved[GPU]
        above = [name for name, amount in used.items() if name != "train" and amount > queues[name].deserved[GPU]]
        assert above == ["infer"]

    def test_c6_a_child_deserves_only_what_its_parent_names(self) -> None:
        extra = volcano_queue("x", parent="train", deserved="{rdma/hca: 4}")
        (found,) = findings(*tree_c1(), extra)
        assert found.code == "volcano-children-exceed-parent"
        assert found.object is not None
        assert found.object.name == "train"
        assert "has no rdma/hca in deserved" in found.message


def tree_k1(limit: int = 40, more: str = "") -> list[str]:
    """A department with the teams a and b."""
    unlimited = "{quota: -1, limit: -1, overQuotaWeight: 1}"
    return [
        kai_queue("dept", gpu="{quota: 64, limit: -1, overQuotaWeight: 1}"),
        kai_queue("a", "dept", "{quota: 16, limit: -1, overQuotaWeight: 1}", memory=more or unlimited),
        kai_queue("b", "dept", f"{{quota: 16, limit: {limit}, overQuotaWeight: 3}}"),
    ]


class TestKai:
    @pytest.mark.parametrize(("limit", "a", "b"), [(40, 24, 40), (32, 32, 32)])
    def test_k1_and_k2_fair_shares(self, limit: int, a: int, b: int) -> None:
        tree = fleet(*tree_k1(limit)).kai
        shares = tree.fair_shares("gpu", Fraction(64), {"a": Fraction(64), "b": Fraction(64)})
        assert [shares[name] for name in ("dept", "a", "b")] == [Fraction(64), Fraction(a), Fraction(b)]

    def test_k3_a_gang_that_cannot_be_preempted_must_fit_the_quota(self) -> None:
        tree = fleet(*tree_k1()).kai
        needs = demand({GPU: Quantity(20)})
        assert [(queue.name, bound) for queue, _, bound in tree.over_quota("a", needs)] == [("a", Fraction(16))]
        assert list(tree.over_limit("a", needs)) == []
        label = "labels: {kai.scheduler/queue: a%s}"
        fixed = pod(label % ", kai.scheduler/preemptibility: non-preemptible", "kai-scheduler", 20)
        (found,) = findings(*tree_k1(), fixed)
        assert found.code == "kai-over-limit"
        assert "20 GPUs" in found.message
        assert "16 GPUs" in found.message
        assert codes(*tree_k1(), pod(label % "", "kai-scheduler", 20)) == []

    def test_k4_without_a_memory_block_nothing_with_memory_runs(self) -> None:
        queues = tree_k1()
        queues[1] = kai_queue("a", "dept", "{quota: 16, limit: -1, overQuotaWeight: 1}", memory="")
        tree = fleet(*queues).kai
        assert [queue.name for queue, _, _ in tree.over_limit("a", demand({"memory": Quantity("1Mi")}))] == ["a"]
        (found,) = findings(*queues)
        assert (found.code, found.severity) == ("kai-queue-numbers", "error")
        assert "memory is left out" in found.message


class TestYuniKorn:
    def test_y1_placeholders_above_the_max(self) -> None:
        groups = '[{"name": "a", "minMember": 4, "minResource": {"nvidia.com/gpu": "8"}}]'
        job = f"""
            apiVersion: batch/v1
            kind: Job
            metadata: {{name: sft, namespace: a}}
            spec:
              parallelism: 4
              completions: 4
              template:
                metadata:
                  labels: {{yunikorn.apache.org/queue: root.q}}
                  annotations:
                    yunikorn.apache.org/task-group-name: a
                    yunikorn.apache.org/task-groups: '{groups}'
                spec: {{schedulerName: yunikorn, restartPolicy: Never, containers: [{{name: a, image: t}}]}}
        """
        (found,) = findings(yunikorn("- {name: q, resources: {max: {nvidia.com/gpu: 16}}}"), job)
        assert found.code == "yunikorn-gang-over-max"
        assert "need 32 nvidia.com/gpu" in found.message
        assert "is 16" in found.message
        assert codes(yunikorn("- {name: q, resources: {max: {nvidia.com/gpu: 32}}}"), job) == []

    def test_y2_children_are_guaranteed_more_than_their_parent(self) -> None:
        queues = """
            - name: org
              resources: {guaranteed: {nvidia.com/gpu: 32}}
              queues:
              - {name: a, resources: {guaranteed: {nvidia.com/gpu: 20}}}
              - {name: b, resources: {guaranteed: {nvidia.com/gpu: 16}}}
        """
        (found,) = findings(yunikorn(queues))
        assert found.code == "yunikorn-queue-amounts"
        assert "guaranteed 36 nvidia.com/gpu together, above its guaranteed of 32" in found.message
