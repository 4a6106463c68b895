"""User mistakes as values: what is wrong, where it stands, and what would be right.

A mistake in a stack or a tenant file is a `Fault`. Faults are collected over a whole run and raised together as
`Faults`, so that one run shows them all; a traceback is for errors in Trainshed itself.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import FrameType

from trainshed.spelling import nearest as nearest  # part of how a fault is told


@dataclass(frozen=True, order=True)
class Place:
    """A position in a file. `line` and `column` start at 1; 0 means unknown and is not printed."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [printable(shown_path(self.file))]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)


@dataclass(frozen=True)
class Fault:
    """One mistake, told to the person who made it.

    `object` names the thing (`Tenant "high"`), `field` the path in it (`borrow.h100`), `message` says what is wrong as
    a sentence without a full stop, `fix` says what would be right. As text it is one line, whatever names it holds.
    """

    message: str
    object: str = ""
    field: str = ""
    fix: str = ""
    place: Place | None = None

    def __str__(self) -> str:
        subject = ", ".join(part for part in (self.object, self.field) if part)
        text = f"{subject}: {self.message}" if subject else self.message
        if self.fix:
            text = f"{text}; {self.fix}"
        text = printable(text)
        return f"{self.place}: {text}" if self.place else text

    def at(self, place: Place | None, object: str = "") -> Fault:
        """The same fault with `place` and `object` filled in where it had none."""
        return replace(self, place=self.place or place, object=self.object or object)


class Faults(Exception):  # noqa: N818  (a bundle of Fault values, not one error)
    """All faults of one run, in the order of their places."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        unique = dict.fromkeys(faults)
        self.faults: tuple[Fault, ...] = tuple(sorted(unique, key=lambda f: f.place or Place("")))
        super().__init__("\n".join(str(fault) for fault in self.faults))


def printable(text: str) -> str:
    """`text` on one line: whatever ends a line, moves a cursor or turns the direction of reading is shown as its escape
    (`\\n`, `\\x1b`, `\\u202e`), so that no name can write lines of its own into a log. Letters of all scripts stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or _harmless(char) else _escaped(char) for char in text)


def encodable(text: str) -> str:
    """`text` without halves of characters (lone surrogates), which are shown as their escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text


def _harmless(char: str) -> bool:
    """Blanks of all widths, and the joiners that some scripts and emoji are written with."""
    return unicodedata.category(char) == "Zs" or char in "\u200c\u200d"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def shown_path(file: str) -> str:
    """`file` relative to the working directory when it lies below it, otherwise unchanged."""
    path = Path(file)
    if not path.is_absolute():
        return file
    relative = os.path.relpath(path)
    return file if relative.startswith("..") else relative


def frame_place(frame: FrameType) -> Place:
    """The place of the call that `frame` is executing, with its column (Python 3.11 records one)."""
    line, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None, None, None, None))
    return Place(frame.f_code.co_filename, line or frame.f_lineno, (column or 0) + 1)
