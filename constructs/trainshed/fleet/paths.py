"""Field paths: tuples of mapping keys and sequence indices, and how they are written for people."""

from __future__ import annotations

import re
from typing import Final

Path = tuple[str | int, ...]

_WORD: Final = re.compile(r"[A-Za-z_$][\w$-]*")
_PART: Final = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


def show_path(path: Path) -> str:
    """`spec.containers[0].env`, `metadata.labels[kueue.x-k8s.io/queue-name]`; empty for the whole object."""
    text = ""
    for part in path:
        if isinstance(part, str) and _WORD.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{part}]"
    return text


def parse_path(text: str) -> Path:
    """The path that `show_path` wrote as `text`. A number in brackets is an index: `place` takes either for a key."""
    parts: list[str | int] = []
    for bracketed, word in _PART.findall(text):
        part = word or bracketed
        parts.append(int(part) if bracketed and part.isascii() and part.isdigit() and len(part) < 10 else part)
    return tuple(parts)
