"""Where one YAML document ends and the next begins.

Kubernetes' tools cut the stream at lines that start with `---` before they parse
(k8s.io/apimachinery v0.36, `pkg/util/yaml/decoder.go`). Doing the same keeps the other documents of a file readable
when one is broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SEPARATOR: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_DIRECTIVES: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n|%[^\n]*\n)*")


def chunks(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of every stretch between separators; a separator belongs to the stretch it opens."""
    start = 0
    for match in _SEPARATOR.finditer(text):
        end = match.start()
        if end > start and not _only_directives(text, start, end):
            yield start, end
            start = end
    if start < len(text):
        yield start, len(text)


def _only_directives(text: str, start: int, end: int) -> bool:
    """`%YAML 1.2` and the like belong to the document after the separator."""
    return "%" in text[start : min(end, start + 2000)] and _DIRECTIVES.fullmatch(text, start, end) is not None
