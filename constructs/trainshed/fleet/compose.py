"""YAML text to node graphs, at the speed of libyaml, within limits."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import yaml
from yaml._yaml import CParser
from yaml.events import CollectionEndEvent, CollectionStartEvent
from yaml.nodes import Node

_GUARDED_SIZE: Final = 1 << 20
_LIBYAML_LEVELS: Final = 1000
# libyaml 0.2.6 stops at 1,000 levels itself.
_NESTING_IS_BOUNDED: Final = tuple(map(int, yaml._yaml.get_version())) >= (0, 2, 6)


class Refused(Exception):  # noqa: N818  (a verdict on the input, not an error of ours)
    """A document that is not read further: the finding's code, what is wrong, what would be right, the node."""

    def __init__(self, code: str, message: str, fix: str, node: Node | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.fix, self.node = code, message, fix, node


class Limits(NamedTuple):
    """What one document may cost: levels of nesting, nodes in the text, nodes after aliases are expanded.

    `copies` is what aliases may add over a whole reading. `documents` and `findings` bound one file.
    """

    depth: int = 200
    nodes: int = 4_000_000
    expanded: int = 400_000
    copies: int = 4_000_000
    documents: int = 300_000
    findings: int = 500


class _Parser(CParser):
    """libyaml's composer without PyYAML's tag resolution: implicit tags stay None and cost one call.

    The two hooks that the composer calls on its way down and up get C functions that do nothing.
    """

    resolve = staticmethod(lambda kind, value, implicit: None)
    descend_resolver: Any = staticmethod(operator.is_)
    ascend_resolver: Any = bool


class _CountingParser(_Parser):
    """The same with a bound on the number of nodes, for texts that are large enough to need one."""

    left = 0

    def descend_resolver(self, parent: Node | None, index: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise Refused("yaml-too-large", "has more values than can be read at once", "split the file", parent)


def compose(text: str, limits: Limits) -> Iterator[Node]:
    """The root node of every document in `text`. Raises yaml.YAMLError or Refused where it cannot go on."""
    if not _NESTING_IS_BOUNDED:
        _check_nesting(text)
    parser = _Parser(text)
    if len(text) >= _GUARDED_SIZE:
        parser = _CountingParser(text)
        parser.left = limits.nodes
    while parser.check_node():
        if (root := parser.get_node()) is not None:
            yield root


def _check_nesting(text: str) -> None:
    """Refuses nesting on which the composer's recursion in C could overflow the stack (libyaml before 0.2.6)."""
    depth, parser = 0, _Parser(text)
    while (event := parser.get_event()) is not None:
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        if depth > _LIBYAML_LEVELS:
            raise too_deep(None, _LIBYAML_LEVELS)


def too_deep(node: Node | None, limit: int) -> Refused:
    return Refused("yaml-too-deep", f"is nested more than {limit} levels deep", "flatten it", node)
