"""A value that is made from another one is judged as one that is made anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.training.given import training
from trainshed.faults import Fault
from trainshed.gitops import App, Cluster
from trainshed.quantity import Quantity
from trainshed.training import Mount, Toleration, TopologyRequest, Training


def faults_of(made: Callable[[], Training]) -> list[Fault]:
    """What a stack is told that makes a description like this."""

    class Lab(Cluster):
        def __init__(self, app: App) -> None:
            super().__init__(app, "lab")
            made()

    app = App()
    app.build(Lab)
    return app.faults


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"imgae": "x"}, 'Training, imgae: is not a field of Training; did you mean "image"?'),
        ({"nodes": -2}, "Training, nodes: -2 is less than 1; write 1 or more"),
        ({"grace_period": 1}, "Training, grace_period: 1 is less than 30; write 30 or more"),
        ({"resources": {"cpu": 10, "memory": "300GB"}}, 'Training, resources[memory]: "300GB" is not a quantity; '),
        ({"shared_memory": "1Ti"}, "Training, shared_memory: is 1Ti, which counts towards the memory limit of 400G; "),
    ],
)
def test_a_wrong_change_is_told_as_by_the_constructor(changes: dict[str, Any], told: str) -> None:
    (fault,) = faults_of(lambda: training().model_copy(update=changes))
    assert str(replace(fault, place=None)).startswith(told)


def test_the_place_is_that_of_the_copy() -> None:
    one = training()

    def copied() -> Training:
        return one.model_copy(update={"imgae": "x", "nodes": 0})

    faults = faults_of(copied)
    assert [fault.field for fault in faults] == ["nodes", "imgae"]
    assert {fault.place and fault.place.line for fault in faults} == {copied.__code__.co_firstlineno + 1}


def test_changes_are_read_and_the_rest_is_kept() -> None:
    one = training(env={"A": "b"}, topology=TopologyRequest(level="rack"))
    other = one.model_copy(
        update={
            "resources": {"cpu": 1, "memory": "64Gi"},
            "gracePeriod": 60,
            "checkpoint": {"claim": "c", "path": "/c"},
        }
    )
    assert other == training(
        env={"A": "b"},
        topology=TopologyRequest(level="rack"),
        resources={"cpu": 1, "memory": "64Gi"},
        grace_period=60,
        checkpoint=Mount(claim="c", path="/c"),
    )
    assert one == training(env={"A": "b"}, topology=TopologyRequest(level="rack"))
    assert one.model_copy() == one
    assert one.model_copy(update={"nodes": 3}, deep=True) == training(
        env={"A": "b"}, topology=TopologyRequest(level="rack"), nodes=3
    )


def test_of_a_broken_value_only_its_own_mistakes_are_told() -> None:
    faults = faults_of(lambda: training(nodes=0).model_copy(update={"imgae": "x"}))
    assert [fault.field for fault in faults] == ["nodes"]


def test_what_may_be_written_in_many_ways_is_kept_in_one() -> None:
    one = training(
        resources={"cpu": 8, "memory": "400G", "rdma/hca": Quantity(5)},
        shared_memory="1Gi",
        tolerations=[{"key": "a", "operator": "Exists"}],
        args=("a",),
    )
    assert all(type(amount) is Quantity for amount in one.resources.values())
    assert type(one.shared_memory) is Quantity
    assert one.tolerations == [Toleration(key="a", operator="Exists")]
    assert one.args == ["a"]
