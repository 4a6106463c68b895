"""Whatever stands in an argument: the stack renders, or one clear fault tells the argument; never a Python error."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.synthesis import h100, new_cluster
from tests.training.any_argument import SOUND, arguments, odd_values, outcome
from trainshed.faults import Faults

VALUES = list(odd_values(h100(new_cluster())))


@pytest.mark.parametrize("name", SOUND)
def test_what_is_changed_here_is_sound_before(name: str) -> None:
    assert not isinstance(outcome(name, {}), Faults)


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """One to three odd arguments of one thing."""
    name = draw(st.sampled_from(list(SOUND)))
    odd = st.dictionaries(st.sampled_from(arguments(name)), st.sampled_from(VALUES), min_size=1, max_size=3)
    return name, draw(odd)


@settings(max_examples=400, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(changes())
def test_any_value_renders_or_is_told(changed: tuple[str, dict[str, str]]) -> None:
    result = outcome(*changed)
    if isinstance(result, Faults):
        assert result.faults
        for fault in result.faults:
            text = str(fault)
            assert fault.object, text
            assert fault.place, text
            assert fault.field or "needs either nodes or resources" in text, text
            assert "Error" not in text, text
            assert text.isprintable(), text
            assert len(text) < 600, text
