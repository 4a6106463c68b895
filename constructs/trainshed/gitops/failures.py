"""Exceptions raised while a stack is being built, told as faults: where in the stack, and what."""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from pydantic import ValidationError

from trainshed.api.explain import faults_of
from trainshed.faults import Fault, Faults, Place, nearest
from trainshed.gitops import publish

_CALL = re.compile(r"(?:(\w+)\.)?(\w+)\(\) (.+)", re.S)
_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"missing \d+ required (?:keyword-only|positional) arguments?: (.+)", re.S)
_SURPLUS = re.compile(r"takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given")
_NO_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)' \(")
_HERE = str(Path(__file__).resolve().parent.parent)
_LIBRARIES = ("site-packages", f"lib{os.sep}python", "<frozen")


class Told(SystemExit):
    """The end of a process that has told its faults."""


@contextmanager
def faults_reported() -> Iterator[None]:
    """Ends the process with exit 1 and one line a fault on stderr, instead of a traceback.

    A stack that ends the process itself (`sys.exit`) before everything was published is a fault, too.
    """
    before, folder = publish.count, Path.cwd()
    try:
        yield
    except (Told, KeyboardInterrupt):
        raise
    except SystemExit as stopped:
        if stopped.code in (None, 0) and publish.count > before:  # it has ended well: sys.exit(main())
            raise
        os.chdir(folder)  # paths are told from where the command runs, wherever the stack has gone
        tell([ended_by(stopped)])
    except BaseException as error:  # asyncio.CancelledError, for one, is no Exception
        os.chdir(folder)
        tell(faults_from_exception(error))


def tell(faults: Iterable[Fault]) -> NoReturn:
    """Prints one line a fault to stderr, and ends the process with exit 1."""
    lines = [f"error: {fault}" for fault in faults]
    count = "1 error" if len(lines) == 1 else f"{len(lines)} errors"
    print(*lines, f"{count}; dist/ is as it was", sep="\n", file=sys.stderr)
    raise Told(1) from None


def ended_by(stopped: SystemExit) -> Fault:
    """What is told about a stack that called `sys.exit`: it may have been silent."""
    place = _innermost_place(stopped.__traceback__)
    if stopped.code in (None, 0):
        return Fault("sys.exit() ended the app before app.synth()", fix="call app.synth() first", place=place)
    return Fault(f"sys.exit({stopped.code!r}) ended the app", fix="raise an exception that says why", place=place)


def faults_from_exception(error: BaseException) -> list[Fault]:
    """One fault, or one for each problem of a pydantic error, at the innermost line of the person's own code.

    With TRAINSHED_TRACEBACK=1 the traceback is printed as well, for errors in a stack that a line does not explain.
    """
    if isinstance(error, Faults):
        return list(error.faults)
    if os.environ.get("TRAINSHED_TRACEBACK") == "1":
        traceback.print_exception(error)
    place = _innermost_place(error.__traceback__)
    if isinstance(error, ValidationError):
        return faults_of(error, object=error.title, place=place, python=True)
    if isinstance(error, SyntaxError) and error.filename:
        place = Place(error.filename, error.lineno or 0, error.offset or 0)
        return [Fault(f"is not Python: {error.msg}", place=place)]
    if isinstance(error, TypeError) and (match := _CALL.match(str(error))):
        found = list(_argument_faults(error, match, place))
        if found:
            return found
    if isinstance(error, ImportError) and (match := _NO_NAME.match(str(error))):
        known = getattr(module := sys.modules.get(match[2]), "__all__", None) or dir(module)
        return [Fault(f'{match[2]} has no "{match[1]}"', fix=nearest(match[1], known), place=place)]
    if isinstance(error, AttributeError) and (unmade := _unmade(error)):
        return [unmade.at(place)]
    text = said_by_node(str(error))
    told = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return [Fault(told, fix="TRAINSHED_TRACEBACK=1 shows the way there", place=place)]


def said_by_node(text: str) -> str:
    """What an error of Node says, without the lines of its own that led there."""
    said = re.search(r"^\w*Error: (.+)$", text, re.M)
    return said[1] if said and "\n    at " in text else text


def _unmade(error: AttributeError) -> Fault | None:
    """What is told where a construct is used whose own `__init__` never called that of its class."""
    made = error.obj
    from constructs import Construct  # with it comes Node, which the process that judges and writes does not need

    if not isinstance(made, Construct) or hasattr(made, "__jsii_ref__") or _is_own(error.__traceback__):
        return None
    kind = type(made)
    scope = "app" if any(base.__name__ == "Cluster" for base in kind.__mro__) else "scope"
    code = getattr(kind.__init__, "__code__", None)
    place = Place(code.co_filename, code.co_firstlineno) if code else None
    fix = f'call super().__init__({scope}, "name") first'
    return Fault("is used before it is made", kind.__name__, "", fix, place)


def _is_own(trace: TracebackType | None) -> bool:
    """Whether the error was raised by a line of the person's own code."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and _is_theirs(trace.tb_frame.f_code.co_filename)


def _is_theirs(file: str) -> bool:
    return not file.startswith(_HERE) and not any(part in file for part in _LIBRARIES)


def _argument_faults(error: TypeError, match: re.Match[str], place: Place | None) -> Iterator[Fault]:
    """A call that does not fit its signature: each argument that is unknown or missing."""
    called = _constructed(error.__traceback__)
    title = called.title if called else match[1] or match[2]
    if unexpected := _UNEXPECTED.search(match[3]):
        known = called.parameters if called else []
        fix = nearest(unexpected[1], known) or (f"it has {', '.join(known)}" if known else "")
        yield Fault("is not an argument", title, unexpected[1], fix, place)
    elif missing := _MISSING.search(match[3]):
        for name in re.findall(r"'(\w+)'", missing[1]):
            of_cluster = called is not None and called.is_cluster
            yield Fault("is missing", title, name, f"write app.build({title})" if of_cluster else "add it", place)
    elif surplus := _SURPLUS.search(match[3]):
        told = f"takes {surplus[1]} without a name, and {surplus[2]} are given"
        yield Fault(told, called.title if called else f"{title}()", "", "leave the others out, or name them", place)


@dataclass(frozen=True)
class _Constructed:
    """The construct that was being made: what messages call it, and the arguments that it takes by name."""

    title: str
    parameters: list[str]
    is_cluster: bool


def _constructed(trace: TracebackType | None) -> _Constructed | None:
    """The innermost one: jsii's metaclass has the class and the call's arguments in its frame."""
    found = None
    while trace is not None:
        local = trace.tb_frame.f_locals
        cls, given = local.get("cls"), local.get("args")
        if isinstance(cls, type) and isinstance(given, tuple) and trace.tb_frame.f_code.co_name == "__call__":
            named = given[1:2] if given else ()
            title = f'{cls.__name__} "{named[0]}"' if named and isinstance(named[0], str) else cls.__name__
            parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]  # the class itself is asked
            known = [name for name in parameters if name not in ("self", "scope", "id")]
            found = _Constructed(title, known, any(base.__name__ == "Cluster" for base in cls.__mro__))
        trace = trace.tb_next
    return found


def _innermost_place(trace: TracebackType | None) -> Place | None:
    place = None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if _is_theirs(file):
            place = Place(file, trace.tb_lineno, _column(trace))
        trace = trace.tb_next
    return place


def _column(trace: TracebackType) -> int:
    positions = list(trace.tb_frame.f_code.co_positions())
    column = positions[trace.tb_lasti // 2][2] if trace.tb_lasti // 2 < len(positions) else None
    return (column or 0) + 1
