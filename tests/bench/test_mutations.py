"""The mutation test of dist/: enough mistakes of enough kinds, nearly all seen, a reason for each that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.mistake_kinds import KINDS
from bench.mutation_reasons import REASONS, reason_for
from bench.mutations import Outcome, outcomes


@pytest.fixture(scope="module")
def made(root: Path) -> list[Outcome]:
    """Six mistakes of each kind."""
    return list(outcomes(root / "dist", 6))


def test_there_are_enough(made: list[Outcome]) -> None:
    assert len(KINDS) >= 25
    assert len(made) >= 300
    assert {outcome.kind for outcome in made} == KINDS.keys(), "every kind has something to break in dist/"


def test_nearly_all_are_seen(made: list[Outcome]) -> None:
    seen = sum(bool(outcome.found) for outcome in made)
    assert seen > 0.9 * len(made)


def test_each_other_has_a_reason(made: list[Outcome]) -> None:
    unseen = [outcome for outcome in made if not outcome.found]
    assert [item for item in unseen if reason_for(item.kind, item.file, item.mistake) is None] == []


def test_reasons_are_of_kinds_that_there_are() -> None:
    assert {reason.kind for reason in REASONS} <= KINDS.keys()
