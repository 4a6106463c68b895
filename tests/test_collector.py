"""The collector is as it was after a pause, and does not walk at once through all that was made in it."""

from __future__ import annotations

import gc

import pytest

from trainshed.collector import collector_paused

MADE = 50_000


def test_what_was_made_in_a_pause_counts_as_old() -> None:
    with collector_paused():
        made = [[number] for number in range(MADE)]
    assert len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1)) < MADE
    assert len(made) == MADE


def test_what_somebody_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        with collector_paused():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("was_on", [True, False])
def test_after_a_pause_the_collector_is_as_it_was(was_on: bool) -> None:
    before = gc.isenabled()
    (gc.enable if was_on else gc.disable)()
    try:
        with pytest.raises(KeyError), collector_paused(), collector_paused():
            _fails()
        assert gc.isenabled() == was_on
    finally:
        (gc.enable if before else gc.disable)()


def _fails() -> None:
    assert not gc.isenabled()
    raise KeyError
