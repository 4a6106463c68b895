"""Where two manifests differ: the first place, in Kubernetes' eyes."""

from __future__ import annotations

from typing import Any

from trainshed.fleet.amounts import quantity
from trainshed.fleet.paths import Path

_AMOUNTS = frozenset({"limits", "requests", "capacity", "default", "defaultRequest", "nominalQuota", "sizeLimit"})


def first_difference(old: Any, new: Any, path: Path = ()) -> tuple[Path, Any, Any] | None:
    """(path, old value, new value) of the first difference, None where both mean the same.

    Absent, null and empty are the same, and so are two spellings of one quantity; depth is bounded by the reader's.
    """
    if old == new or (_empty(old) and _empty(new)):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            if found := first_difference(old.get(key), new.get(key), (*path, key)):
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else None
            after = new[index] if index < len(new) else None
            if before is not None or after is not None:
                found = first_difference(before, after, (*path, index))
                if found:
                    return found
        return None
    if _AMOUNTS.intersection(str(part) for part in path[-2:]) and _same_amount(old, new):
        return None
    return path, old, new


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, dict | list | str) and not value)


def _same_amount(old: Any, new: Any) -> bool:
    before, after = quantity(old), quantity(new)
    return before is not None and before == after


def shown(value: Any) -> str:
    """A value as a message shows it; long ones are cut."""
    if _empty(value):
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else f"a list of {len(value)}"
    text = str(value)
    return f'"{text[:60]}…"' if len(text) > 60 else f'"{text}"'
