"""Where a field stands, and how its value is spelled: found by reading the document's text again, only when asked."""

from __future__ import annotations

import re
from collections import OrderedDict
from contextlib import suppress
from typing import Final, Literal, NamedTuple

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from trainshed.faults import Place
from trainshed.fleet.compose import Limits, Refused, compose
from trainshed.fleet.nodes import is_merge, key_of
from trainshed.fleet.paths import Path
from trainshed.fleet.source import Source

Style = Literal["plain", "single-quoted", "double-quoted", "literal", "folded"]

_STYLES: Final[dict[str, Style]] = {
    "": "plain",
    "'": "single-quoted",
    '"': "double-quoted",
    "|": "literal",
    ">": "folded",
}
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_KEPT_CHARACTERS: Final = 4 << 20


class Spelling(NamedTuple):
    """A scalar as it is written: its text before it became a number or a boolean, its style, and an explicit tag."""

    text: str
    style: Style
    tag: str = ""

    @property
    def plain(self) -> bool:
        """Whether it stands without quotes."""
        return self.style == "plain"


class Extent:
    """The stretch of a source's text that holds one document; `json` says that it was read as JSON."""

    __slots__ = ("end", "json", "source", "start")

    def __init__(self, source: Source, start: int, end: int, json: bool = False) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.json = json


class Positions:
    """Node graphs of documents, made on demand; the latest few are kept."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: OrderedDict[tuple[int, int], tuple[Extent, Node | None]] = OrderedDict()
        self._size = 0

    def root(self, extent: Extent) -> Node | None:
        """The root node of a document; None where its text cannot be read as YAML (some JSON cannot)."""
        key = (id(extent.source), extent.start)
        if key in self._kept:
            self._kept.move_to_end(key)
        else:
            self._kept[key] = (extent, self._compose(extent))
            self._size += extent.end - extent.start
            while self._size > _KEPT_CHARACTERS and len(self._kept) > 1:
                _, (dropped, _) = self._kept.popitem(last=False)
                self._size -= dropped.end - dropped.start
        return self._kept[key][1]

    def place(self, extent: Extent, path: Path, value: bool = False) -> Place:
        """The place of the key at `path`, or of its value; of the nearest parent that exists where there is none."""
        root = self.root(extent) if path or not extent.json else None
        if root is None:
            return extent.source.place(extent.start)
        key, node, depth = locate(root, path)
        at = node if key is None or (value and depth == len(path)) else key
        return extent.source.place(extent.start + at.start_mark.index)

    def spelling(self, extent: Extent, path: Path) -> Spelling | None:
        """The spelling of the scalar at exactly `path`; None where there is none."""
        root = self.root(extent)
        if root is None:
            return None
        _, node, depth = locate(root, path)
        if depth < len(path) or not isinstance(node, ScalarNode):
            return None
        return Spelling(node.value, _STYLES.get(node.style or "", "plain"), node.tag or "")

    def _compose(self, extent: Extent) -> Node | None:
        text = extent.source.text[extent.start : extent.end]
        if extent.json:
            text = _without_surrogates(text)
        with suppress(yaml.YAMLError, Refused):
            return next(compose(text, self._limits), None)
        return None


def _without_surrogates(text: str) -> str:
    """JSON with its surrogate escapes, which libyaml refuses, replaced by others of the same length."""
    return _SURROGATE.sub(r"\\uFFFD", text)


def locate(root: Node, path: Path) -> tuple[Node | None, Node, int]:
    """(key node, value node, how many parts of `path` exist). The key node is None for the root and list items.

    A key that occurs twice is its last occurrence, as for the reader; a key that comes from a merge is found there.
    """
    key: Node | None = None
    node = root
    for depth, part in enumerate(path):
        if isinstance(node, MappingNode):
            found = _entry(node, str(part), 0)
            if found is None:
                return key, node, depth
            key, node = found
        elif isinstance(node, SequenceNode) and str(part).isdecimal() and int(part) < len(node.value):
            key, node = None, node.value[int(part)]
        else:
            return key, node, depth
    return key, node, len(path)


def _entry(mapping: Node, wanted: str, depth: int) -> tuple[Node, Node] | None:
    merges: list[Node] = []
    for key, value in reversed(mapping.value):
        if isinstance(key, ScalarNode) and is_merge(key):
            merges.extend(value.value if isinstance(value, SequenceNode) else [value])
        elif key_of(key) == wanted:
            return key, value
    for merged in merges:
        if isinstance(merged, MappingNode) and depth < 100 and (found := _entry(merged, wanted, depth + 1)):
            return found
    return None
