"""Texts that people write by hand (tenant files, `cdk8s.yaml`): read, or told why they are none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from trainshed.faults import Fault, Faults, Place

_CONFLICT: Final = re.compile(r"^<{7} .*$(?=[\s\S]*^>{7} )", re.M)
#: What YAML 1.2 does not allow anywhere.
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def read_text(path: Path, file: str) -> str:
    """The text of a YAML file, which messages call `file`. Raises Faults, with line and column, for what is no UTF-8,
    for characters that YAML forbids and for a merge conflict; and OSError."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        told = f"is not UTF-8: it has the byte 0x{error.object[error.start]:02x} here"
        before = error.object[: error.start].decode("utf-8", "replace")
        raise Faults([Fault(told, fix="save the file as UTF-8", place=_after(before, file))]) from None
    if found := _CONTROL.search(text):
        told = f"has the character U+{ord(found[0]):04X} here, which YAML does not allow"
        raise Faults([Fault(told, fix="remove it", place=_after(text[: found.start()], file))])
    if found := _CONFLICT.search(text):
        fix = "keep what is right of the two sides, and remove the markers"
        raise Faults([Fault("has a merge conflict here", fix=fix, place=_after(text[: found.start()], file))])
    return text


def _after(text: str, file: str) -> Place:
    return Place(file, text.count("\n") + 1, len(text.rpartition("\n")[2]) + 1)
