"""Objects that run together into one mapping, because no `---` stands between them: `cat dist/*.yaml`."""

from __future__ import annotations

from typing import Any, Final

from yaml.nodes import MappingNode, Node

from trainshed.fleet.finding import Finding
from trainshed.fleet.nodes import key_of
from trainshed.fleet.source import Source

_HEAD: Final = frozenset({"apiVersion", "kind"})


def joints(root: Node, value: Any) -> list[int]:
    """Where the second object of a document and those after it begin, as offsets of their first keys.

    Empty for a document that is one object. `value` is what `root` was built into. An object begins where apiVersion
    or kind comes again after a mapping that had both and more than that.
    """
    if root.__class__ is not MappingNode or root.flow_style or len(value) == len(root.value):
        return []
    begins: list[int] = []
    seen: set[str | None] = set()
    for key_node, _ in root.value:
        key = key_of(key_node)
        if key in _HEAD and key in seen and len(seen) > len(_HEAD) and seen >= _HEAD:
            if key_node.start_mark.column:
                return []
            begins.append(key_node.start_mark.index)
            seen = set()
        seen.add(key)
    return begins if seen >= _HEAD else []


def joined_finding(source: Source, begins: list[int]) -> Finding:
    """The one finding on objects that run together. `begins`: where each of them stands in `source`."""
    count = "twice" if len(begins) == 2 else f"{len(begins)} times"
    message = (
        f"apiVersion and kind stand {count} in one document, as if {len(begins)} objects had no `---` between them; "
        "kubectl and Argo CD read one object and keep the last value of each key silently"
    )
    fix = "write `---` on a line of its own here" + (" and before each object after it" if len(begins) > 2 else "")
    related = (("the first object", source.place(begins[0])),)
    return Finding("yaml-duplicate-key", "error", message, fix, place=source.place(begins[1]), related=related)
