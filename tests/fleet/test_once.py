"""What rules share is worked out once for each fleet."""

from __future__ import annotations

from trainshed.fleet.fleet import Fleet
from trainshed.fleet.once import once


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
