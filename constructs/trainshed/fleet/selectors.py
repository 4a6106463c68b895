"""LabelSelectors: whether they match labels, also where not all labels are known.

k8s.io/apimachinery v0.36, `pkg/apis/meta/v1/helpers.go` (LabelSelectorAsSelector) and `pkg/labels/selector.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainshed.fleet.access import mapping, mappings, text


def matches(selector: Any, labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector matches: an empty one matches everything, none at all (null) nothing. What is not shaped
    as a selector matches nothing either."""
    return could_match(selector, labels, frozenset(labels), complete=True) is True


def could_match(
    selector: Any, labels: Mapping[str, str], known: frozenset[str] = frozenset(), *, complete: bool = False
) -> bool | None:
    """As `matches`, for labels of which only some are known: None where the others decide.

    `known` are the keys that are known, with a value or to be absent; with `complete` that holds for all keys.
    """
    if not isinstance(selector, dict):
        return False
    answer: bool | None = True
    for key, wanted in _requirements(selector):
        if not (complete or key in labels or key in known):
            answer = None if answer is not False else answer
        elif not _holds(wanted, labels.get(key)):
            return False
    return answer


def plain_matches(selector: Any, labels: Mapping[str, str]) -> bool:
    """A Service's selector (a plain mapping): every entry is among `labels`; an empty one selects nothing."""
    return isinstance(selector, dict) and bool(selector) and all(labels.get(key) == selector[key] for key in selector)


def _requirements(selector: dict[str, Any]) -> Iterator[tuple[str, tuple[str, Any]]]:
    for key, value in mapping(selector, "matchLabels").items():
        yield key, ("In", [value])
    for _, expression in mappings(selector, "matchExpressions"):
        yield text(expression, "key"), (text(expression, "operator"), expression.get("values"))


def _holds(wanted: tuple[str, Any], value: str | None) -> bool:
    operator, values = wanted
    listed = values if isinstance(values, list) else []
    match operator:
        case "In":
            return value is not None and value in listed
        case "NotIn":
            return value is None or value not in listed
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False
