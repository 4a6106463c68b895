"""What makes a start quicker, and leaves no trace."""

from __future__ import annotations

import contextlib
import gc

from trainer.startup import uncollected


def test_garbage_is_looked_for_again_after_the_start_even_if_it_fails() -> None:
    before = gc.get_freeze_count()
    with contextlib.suppress(ValueError), uncollected():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()
    assert gc.get_freeze_count() > before
    gc.unfreeze()


def test_a_search_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
