"""The text of one input and the way from an offset in it to a line and a column."""

from __future__ import annotations

from bisect import bisect_right

from trainshed.faults import Place


class Source:
    """One file's (or standard input's) decoded text.

    `file` is the name to print. `root` is the path that the user gave, a folder or the file itself, and `explicit` says
    that it was the file itself (or `-`).
    """

    __slots__ = ("_starts", "explicit", "file", "root", "text")

    def __init__(self, file: str, text: str, root: str = "", explicit: bool = True) -> None:
        self.file = file
        self.text = text
        self.root = root
        self.explicit = explicit
        self._starts: list[int] | None = None

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            starts, find, at = [0], self.text.find, 0
            while (at := find("\n", at) + 1) > 0:
                starts.append(at)
            self._starts = starts
        return self._starts

    def place(self, offset: int) -> Place:
        """Line and column (both from 1, in characters) of a character offset. Lines end at LF, as editors count."""
        starts = self._line_starts()
        line = bisect_right(starts, max(0, min(offset, len(self.text))))
        return Place(self.file, line, offset - starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """The text of line `number` without its line end; empty where there is no such line."""
        starts = self._line_starts()
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")
