"""The line of source that a finding points to, with carets under the words."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s:,\[\]{}#]+(?:[:#][^\s:,\[\]{}#]+)*")
_WIDTH: Final = 110
_BEFORE: Final = 50


class Excerpt(NamedTuple):
    """A line of source, cut to a readable length, and the carets for the line below it."""

    text: str
    carets: str


def excerpt(line: str, column: int) -> Excerpt:
    """`line` and carets from `column` (from 1) to the end of the word there. Tabs and control characters are shown as
    one character each; of a long line, the part around the column is kept."""
    at = max(0, min(column - 1, len(line)))
    start = 0 if len(line) <= _WIDTH else max(0, min(at - _BEFORE, len(line) - _WIDTH))
    end = min(len(line), start + _WIDTH)
    match = _TOKEN.match(line, at, end)
    stop = match.end() if match else min(at + 1, end)
    head = "…" if start else ""
    before = in_cells(line[start:at])
    marked = in_cells(line[at:stop])
    text = head + before + marked + in_cells(line[stop:end]) + ("…" if end < len(line) else "")
    return Excerpt(text, " " * (len(head) + _cells(before)) + "^" * max(1, _cells(marked)))


def in_cells(text: str) -> str:
    """`text` character for character, so that carets fit below it, without what would move a terminal's cursor."""
    return "".join(" " if char in "\t\r\n" else char if char.isprintable() else "�" for char in text)


def _cells(text: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
