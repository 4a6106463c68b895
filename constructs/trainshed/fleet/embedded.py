"""YAML in the value of a ConfigMap's key: plain data, bounded in size and depth."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Final, NamedTuple

import yaml

from trainshed.fleet.access import Node
from trainshed.fleet.compose import Limits, Refused, compose
from trainshed.fleet.nodes import Builder

_LIMITS: Final = Limits(depth=100, nodes=50_000, expanded=100_000)
_LONGEST: Final = 1 << 20


class Embedded(NamedTuple):
    """The first document as a mapping; `error` says why there is none, `line` (from 1) where in the text."""

    data: Node = field(default_factory=dict)
    error: str = ""
    line: int = 0


def embedded(text: str) -> Embedded:
    """Reads `text`. Never raises: what can't be read comes back as an error."""
    if len(text) > _LONGEST:
        return Embedded(error="is too long to be read here")
    builder = Builder(_LIMITS)
    try:
        for root in compose(text, _LIMITS):
            value: Any = builder.build(root, aliases=True)
            if isinstance(value, dict):
                repeated = next((item for item in builder.problems if item.code == "yaml-duplicate-key"), None)
                return Embedded(value, f'has the key "{repeated.detail}" twice' if repeated else "")
            return Embedded(error="is not a mapping")
    except Refused:
        return Embedded(error="is nested too deeply or too large")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 0
        problem = str(getattr(error, "problem", None) or "can't be parsed")
        return Embedded(error=f"is not YAML: {problem}" + (f" in its line {line}" if line else ""), line=line)
    return Embedded(error="is empty")
