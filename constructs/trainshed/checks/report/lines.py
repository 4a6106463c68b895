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
    before = printable(line[start:at])
    marked = printable(line[at:stop])
    text = head + before + marked + printable(line[stop:end]) + ("…" if end < len(line) else "")
    return Excerpt(text, " " * (len(head) + _cells(before)) + "^" * max(1, _cells(marked)))


def printable(text: str) -> str:
    """`text` without characters that would move a terminal's cursor or change its colours."""
    return "".join(" " if char in "\t\r\n" else char if char.isprintable() else "�" for char in text)


def _cells(text: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
