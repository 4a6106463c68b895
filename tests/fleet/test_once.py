"""What rules share is worked out once for each fleet and pod template."""

from __future__ import annotations

from tests.fleet.given import workload
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.once import once
from trainshed.fleet.workload import PodSet


def test_each_fleet_is_asked_once() -> None:
    asked: list[Fleet] = []

    @once
    def names(fleet: Fleet) -> list[str]:
        """The names."""
        asked.append(fleet)
        return [f"fleet {len(asked)}"]

    one, other = Fleet([]), Fleet([])
    assert names(one) is names(one)
    assert names(other) == ["fleet 2"]
    assert asked == [one, other]
    assert names.__doc__ == "The names."


def test_an_empty_answer_is_an_answer() -> None:
    asked: list[Fleet] = []

    @once
    def nothing(fleet: Fleet) -> None:
        asked.append(fleet)

    fleet = Fleet([])
    nothing(fleet)
    nothing(fleet)
    assert asked == [fleet]


def test_a_rewritten_template_is_asked_again() -> None:
    @once
    def size(pod_set: PodSet) -> int:
        return len(pod_set.containers)

    made = workload("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: old}]}}")
    (pod_set,) = made.pod_sets
    assert size(pod_set) == 1
    pod_set.rewrite({"spec": {"containers": [{"name": "one"}, {"name": "two"}]}})
    assert size(pod_set) == 2
