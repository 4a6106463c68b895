"""Label selectors: the API server's rules, each with a neighbour that passes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.faulted import faulted
from trainshed.api.selectors import LabelSelector


def expression(**fields: Any) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "app", **fields}]}


GOOD = [
    {},
    {"matchLabels": {"app.kubernetes.io/name": "trainer", "empty": ""}},
    expression(operator="In", values=["a", ""]),
    expression(operator="NotIn", values=["a"]),
    expression(operator="Exists"),
    expression(operator="DoesNotExist", values=[]),
]
BROKEN = [
    (
        expression(operator="In"),
        "matchExpressions[0].values: is missing, and operator In needs at least one value; add values",
    ),
    (
        expression(operator="NotIn", values=[]),
        "matchExpressions[0].values: is missing, and operator NotIn needs at least one value; add values",
    ),
    (
        expression(operator="Exists", values=["a"]),
        "matchExpressions[0].values: operator Exists takes no values; remove values, or write operator: In",
    ),
    (
        expression(operator="DoesNotExist", values=["a"]),
        "matchExpressions[0].values: operator DoesNotExist takes no values; remove values, or write operator: In",
    ),
    (
        expression(operator="in", values=["a"]),
        'matchExpressions[0].operator: is "in", must be one of In, NotIn, Exists, DoesNotExist; did you mean "In"?',
    ),
    (
        expression(operator="In", values=["a b"]),
        'matchExpressions[0].values[0]: "a b" is not a label value: letters, digits, "-", "_" and ".", '
        "alphanumeric at both ends",
    ),
    (
        {"matchLabels": {"a b": "c"}},
        'matchLabels[a b]: the key is wrong: "a b" is not a qualified name: letters, digits, "-", "_" and ".", '
        "alphanumeric at both ends",
    ),
    (
        {"matchLabels": {"app": True}},
        'matchLabels[app]: is the boolean true, must be a string; write it in quotes: "true"',
    ),
]


@pytest.mark.parametrize("selector", GOOD)
def test_a_good_selector_passes_and_reads_back(selector: dict[str, Any]) -> None:
    """An empty selector stays empty: it selects everything."""
    read = LabelSelector.model_validate(selector)

    assert read.model_dump(by_alias=True, exclude_none=True) == selector


@pytest.mark.parametrize(("selector", "told"), BROKEN)
def test_a_broken_selector_is_told(selector: dict[str, Any], told: str) -> None:
    """Each rule says where it is broken, and what would be right."""
    assert faulted(LabelSelector, selector) == [told]
