"""Exceptions raised while a stack is being built, told as faults: where in the stack, and what."""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from trainshed.api.explain import faults_of
from trainshed.faults import Fault, Faults, Place, nearest

_UNEXPECTED = re.compile(r"(?:(\w+)\.__init__|(\w+))\(\) got an unexpected keyword argument '(\w+)'")
_HERE = str(Path(__file__).resolve().parent.parent)
_LIBRARIES = ("site-packages", f"lib{os.sep}python", "<frozen")


@contextmanager
def faults_reported() -> Iterator[None]:
    """Ends the process with exit 1 and one line a fault on stderr, instead of a traceback.

    With TRAINSHED_TRACEBACK=1 the traceback is printed as well, for errors in a stack that a line does not explain.
    """
    try:
        yield
    except Exception as error:
        if os.environ.get("TRAINSHED_TRACEBACK") == "1":
            traceback.print_exc()
        faults = error.faults if isinstance(error, Faults) else tuple(faults_from_exception(error))
        for fault in faults:
            print(f"error: {fault}", file=sys.stderr)
        told = "1 error" if len(faults) == 1 else f"{len(faults)} errors"
        print(f"{told}; dist/ is as it was", file=sys.stderr)
        raise SystemExit(1) from None


def faults_from_exception(error: Exception) -> list[Fault]:
    """One fault, or one for each problem of a pydantic error, at the innermost line of the person's own code."""
    if isinstance(error, Faults):
        return list(error.faults)
    place = _innermost_place(error.__traceback__)
    if isinstance(error, ValidationError):
        return faults_of(error, place=place)
    if isinstance(error, SyntaxError) and error.filename:
        return [Fault(f"{error.msg}", place=Place(error.filename, error.lineno or 0, error.offset or 0))]
    if isinstance(error, TypeError) and (match := _UNEXPECTED.search(str(error))):
        owner, word = match[1] or match[2], match[3]
        fix = nearest(word, _parameters(error.__traceback__))
        return [Fault(f'has no argument "{word}"', owner, fix=fix, place=place)]
    return [Fault(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, place=place)]


def _innermost_place(trace: TracebackType | None) -> Place | None:
    place = None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_HERE) and not any(part in file for part in _LIBRARIES):
            place = Place(file, trace.tb_lineno, _column(trace))
        trace = trace.tb_next
    return place


def _column(trace: TracebackType) -> int:
    positions = list(trace.tb_frame.f_code.co_positions())
    column = positions[trace.tb_lasti // 2][2] if trace.tb_lasti // 2 < len(positions) else None
    return (column or 0) + 1


def _parameters(trace: TracebackType | None) -> list[str]:
    """The parameters of the constructor that was called: jsii's metaclass has the class in its frame."""
    found: list[str] = []
    while trace is not None:
        cls = trace.tb_frame.f_locals.get("cls")
        if isinstance(cls, type):
            found = [name for name in inspect.signature(cls).parameters if name not in ("scope", "id")]
        trace = trace.tb_next
    return found
