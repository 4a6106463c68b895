"""Reading manifests that may hold anything: what is not as expected is treated as not there."""

from __future__ import annotations

from typing import Any

from trainshed.fleet.paths import Path

Node = dict[str, Any]


def dig(node: Any, *path: str | int) -> Any:
    """The value at `path`, or None where any part of it is missing or of another shape."""
    return _at(node, path)


def _at(node: Any, path: Path) -> Any:
    """As `dig`; a million calls of a large check need not unpack the path twice."""
    for part in path:
        if isinstance(node, dict):
            node = node.get(part)
        elif isinstance(node, list) and isinstance(part, int) and -len(node) <= part < len(node):
            node = node[part]
        else:
            return None
    return node


def mapping(node: Any, *path: str | int) -> Node:
    """The mapping at `path`; an empty one where there is none."""
    found = _at(node, path)
    return found if isinstance(found, dict) else {}


def items(node: Any, *path: str | int) -> list[Any]:
    """The list at `path`; an empty one where there is none."""
    found = _at(node, path)
    return found if isinstance(found, list) else []


def mappings(node: Any, *path: str | int) -> list[tuple[int, Node]]:
    """(index, item) of each mapping in the list at `path`."""
    return [(index, item) for index, item in enumerate(items(node, *path)) if isinstance(item, dict)]


def text(node: Any, *path: str | int) -> str:
    """The string at `path`; empty where there is none."""
    found = _at(node, path)
    return found if isinstance(found, str) else ""


def whole(node: Any, *path: str | int) -> int | None:
    """The integer at `path`, or None. A boolean is no integer."""
    found = _at(node, path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def strings(node: Any, *path: str | int) -> dict[str, str]:
    """The entries with string values of the mapping at `path`: labels and annotations as the API server takes them."""
    return {key: value for key, value in mapping(node, *path).items() if isinstance(value, str)}


__all__ = ["Node", "Path", "dig", "items", "mapping", "mappings", "strings", "text", "whole"]
