"""YAML nodes to plain data, keeping count of what Kubernetes would not forgive."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from trainshed.fleet.compose import Limits, Refused, too_deep
from trainshed.fleet.scalars import HINTS, TagError, key_text, resolve, resolve_tagged

_NOT_FINITE: Final = (float("inf"), float("-inf"))
_CACHED_SCALARS: Final = 20_000
_BOMB: Final = "has aliases that expand to {}"
_BOMB_FIX: Final = "write the values out, or use fewer aliases"
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"


class Problem(NamedTuple):
    """Something wrong at `node` that did not stop the reading; `other` is the node it clashes with."""

    code: str
    node: Node
    detail: str = ""
    other: Node | None = None


class Builder:
    """Turns node graphs into plain data as Kubernetes reads it. What is odd is collected in `problems`.

    Scalars: `scalars.resolve`. A repeated key keeps its last value. A merge key sets its keys where it stands, over
    earlier ones (go-yaml v2, `decode.go`, `merge`). An alias becomes a copy, so that nothing is shared.
    """

    def __init__(self, limits: Limits) -> None:
        self.problems: list[Problem] = []
        self._limits = limits
        self._max_depth = limits.depth
        self._copies = 0
        self._keys: dict[str, str] = {}
        self._plain: dict[str, Any] = {}

    def build(self, root: Node, aliases: bool) -> Any:
        """The value of `root`. Pass `aliases` unless the text certainly has none. Raises Refused."""
        if aliases:
            self._copies += _guard_aliases(root, self._limits)
            if self._copies > self._limits.copies:
                raise Refused("yaml-anchor-bomb", _BOMB.format("more values than can be kept"), _BOMB_FIX, root)
        return self._value(root, 0)

    def _value(self, node: Node, depth: int) -> Any:
        kind = node.__class__
        if kind is MappingNode:
            return self._mapping(node, depth)
        if kind is SequenceNode:
            return self._sequence(node, depth)
        return self._scalar(node)

    def _mapping(self, node: Node, depth: int) -> dict[str, Any]:
        if depth >= self._max_depth:
            raise too_deep(node, self._max_depth)
        out: dict[str, Any] = {}
        keys = self._keys
        for key_node, value in node.value:
            if key_node.tag is None and key_node.__class__ is ScalarNode:
                key = key_node.value
                if key in keys:
                    key = keys[key]
                elif not key_node.style:
                    if key and key[0] not in HINTS:
                        keys[key] = key
                    elif key == "<<":
                        self._merge(out, key_node, value, depth)
                        continue
                    else:
                        key = self._plain_key(key_node)
            elif key_node.tag == _MERGE_TAG:
                self._merge(out, key_node, value, depth)
                continue
            else:
                key = self._odd_key(key_node)
            kind = value.__class__
            if kind is ScalarNode:
                text = value.value
                if value.tag is not None or (not value.style and (not text or text[0] in HINTS)):
                    text = self._scalar(value)
                out[key] = text
            elif kind is MappingNode:
                out[key] = self._mapping(value, depth + 1)
            else:
                out[key] = self._sequence(value, depth + 1)
        if len(out) != len(node.value):
            self._find_repeated(node)
        return out

    def _sequence(self, node: Node, depth: int) -> list[Any]:
        if depth >= self._max_depth:
            raise too_deep(node, self._max_depth)
        out: list[Any] = []
        for value in node.value:
            kind = value.__class__
            if kind is ScalarNode:
                text = value.value
                if value.tag is not None or (not value.style and (not text or text[0] in HINTS)):
                    text = self._scalar(value)
                out.append(text)
            elif kind is MappingNode:
                out.append(self._mapping(value, depth + 1))
            else:
                out.append(self._sequence(value, depth + 1))
        return out

    def _scalar(self, node: Node) -> Any:
        text: str = node.value
        if node.tag is None:
            if node.style:
                return text
            if text in self._plain:
                return self._plain[text]
            value = resolve(text)
            if len(text) < 32 and value.__class__ is not float and len(self._plain) < _CACHED_SCALARS:
                self._plain[text] = value
        else:
            try:
                value = resolve_tagged(node.tag, text)
            except TagError as error:
                self.problems.append(Problem("yaml-tag", node, str(error)))
                return text
        if value.__class__ is float and (value != value or value in _NOT_FINITE):
            self.problems.append(Problem("yaml-not-json", node, text[:40]))
            return text
        return value

    def _plain_key(self, node: Node) -> str:
        """A plain key that might not be a string. Only keys that stay as they are spelled are remembered."""
        text: str = node.value
        key = key_text(text)
        if key is None:
            self.problems.append(Problem("yaml-non-string-key", node))
            return "null"
        if key == text:
            self._keys[text] = text
        else:
            self.problems.append(Problem("yaml-non-string-key", node, key))
        return key

    def _odd_key(self, node: Node) -> str:
        if node.__class__ is ScalarNode:
            value = self._scalar(node)
            return value if isinstance(value, str) else key_text(node.value) or "null"
        self.problems.append(Problem("yaml-complex-key", node))
        # The offset keeps two such keys apart.
        return f"<{'mapping' if node.__class__ is MappingNode else 'list'} at {node.start_mark.index}>"

    def _merge(self, out: dict[str, Any], key_node: Node, value: Node, depth: int) -> None:
        parts = list(reversed(value.value)) if value.__class__ is SequenceNode else [value]
        for part in parts:
            if part.__class__ is not MappingNode:
                self.problems.append(Problem("yaml-merge-key", key_node))
                return
            merged = self._mapping(part, depth + 1)
            if len(parts) == 1:
                changed = [key for key, new in merged.items() if key in out and out[key] != new]
                if changed:
                    self.problems.append(Problem("yaml-merge-key", key_node, changed[0]))
            out.update(merged)

    def _find_repeated(self, node: Node) -> None:
        first: dict[str, Node] = {}
        for key_node, _ in node.value:
            if (key := key_of(key_node)) is None:
                continue
            if key in first:
                self.problems.append(Problem("yaml-duplicate-key", key_node, key, first[key]))
            first.setdefault(key, key_node)


def key_of(node: Node) -> str | None:
    """The key that a key node stands for in the built mapping; None for merge keys and for keys that are no scalars."""
    if node.__class__ is not ScalarNode or is_merge(node):
        return None
    text: str = node.value
    return text if node.style or node.tag not in (None, _MERGE_TAG) else key_text(text) or "null"


def is_merge(node: Node) -> bool:
    """Whether a key node is the merge key `<<`."""
    plain: bool = node.tag == _MERGE_TAG or (node.value == "<<" and node.tag is None and not node.style)
    return plain


def _guard_aliases(root: Node, limits: Limits) -> int:
    """How many values aliases add. Refuses graphs that contain themselves, or that aliases multiply beyond the limit.

    Linear in the text, not in the result.
    """
    sizes: dict[int, int] = {}
    _size(root, sizes, limits.depth, 0)
    expanded = sizes[id(root)]
    if expanded > limits.expanded and expanded > 2 * len(sizes):
        shown = f"{expanded:,} values" if expanded < 10**15 else "more values than any memory holds"
        raise Refused("yaml-anchor-bomb", _BOMB.format(shown), _BOMB_FIX, root)
    return expanded - len(sizes)


def _size(node: Node, sizes: dict[int, int], max_depth: int, depth: int) -> int:
    identity = id(node)
    known = sizes.get(identity)
    if known is not None:
        if known == 0:
            raise Refused("yaml-recursive-alias", "an anchor's value contains itself", "write the value out", node)
        return known
    if node.__class__ is ScalarNode:
        sizes[identity] = 1
        return 1
    if depth > max_depth:
        raise too_deep(node, max_depth)
    sizes[identity] = 0
    total = 1
    for child in node.value:
        if child.__class__ is tuple:
            total += _size(child[0], sizes, max_depth, depth + 1) + _size(child[1], sizes, max_depth, depth + 1)
        else:
            total += _size(child, sizes, max_depth, depth + 1)
    sizes[identity] = total
    return total
