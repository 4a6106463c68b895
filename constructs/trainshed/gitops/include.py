"""cdk8s' own `Include`: what it cannot read is told as a mistake of the stack, without Node's stack beside it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, Final

from cdk8s import Include

from trainshed.faults import Fault, Faults, Place
from trainshed.gitops.failures import said_by_node
from trainshed.gitops.values import calling_place

#: How cdk8s 2.70 (`lib/yaml.ts`, loadurl) begins when the process that it starts for reading has failed.
_FAILED: Final = "Command failed:"
#: The last line that such a process prints, and how long it may be on its way.
_LAST: Final = b"Node.js v"
_PATIENCE: Final = 1.0


def tell_what_include_cannot_read() -> None:
    """From now on, `Include` raises Faults for a path that is no file, and for an address that gives nothing."""
    made = Include.__init__
    if hasattr(made, "__wrapped__"):
        return

    @wraps(made)
    def judging(self: Include, scope: Any, id: str, **given: Any) -> None:
        url, place = given.get("url"), calling_place()
        if isinstance(url, str) and "://" not in url and not Path(url).is_file():
            raise Faults([_missing(url, id, place)])
        try:
            with _stderr_kept():
                made(self, scope, id, **given)
        except RuntimeError as error:
            if _FAILED not in str(error):
                raise
            told = f'"{url}" cannot be read: {said_by_node(str(error))}'
            raise Faults([Fault(told, f'Include "{id}"', "url", place=place)]) from None

    Include.__init__ = judging  # type: ignore[method-assign]  # the same constructor, guarded


def _missing(url: str, id: str, place: Place) -> Fault:
    fix = "paths are relative to where the command runs"
    if not Path(url).is_absolute() and (Path(place.file).parent / url).is_file():
        fix = f'write str(Path(__file__).parent / "{url}"): {fix}'
    return Fault(f'there is no file "{url}"', f'Include "{id}"', "url", fix, place)


@contextmanager
def _stderr_kept() -> Iterator[None]:
    """What jsii hands on of Node's stderr comes after the call, unless that is the stack of what cannot be read."""
    kept, before = BytesIO(), sys.stderr
    sys.stderr = instead = TextIOWrapper(kept, encoding="utf-8", errors="replace", write_through=True)
    try:
        yield
    except RuntimeError as error:
        until = time.monotonic() + _PATIENCE
        while _FAILED in str(error) and _LAST not in kept.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        if _FAILED in str(error):
            kept.seek(0)
            kept.truncate()
        raise
    finally:
        instead.flush()
        sys.stderr = before
        before.write(kept.getvalue().decode("utf-8", "replace"))
