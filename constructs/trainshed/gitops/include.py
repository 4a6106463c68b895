"""cdk8s' own `Include`, asked for a file that is not there: told before Node is, which would print its stack."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

from cdk8s import Include

from trainshed.faults import Fault, Faults
from trainshed.gitops.values import calling_place


def tell_missing_files() -> None:
    """From now on, `Include` raises Faults for a path that is no file. Addresses are left to it."""
    made = Include.__init__
    if hasattr(made, "__wrapped__"):
        return

    @wraps(made)
    def judging(self: Include, scope: Any, id: str, **given: Any) -> None:
        url = given.get("url")
        if isinstance(url, str) and "://" not in url and not Path(url).is_file():
            place = calling_place()
            fix = "paths are relative to where the command runs"
            if not Path(url).is_absolute() and (Path(place.file).parent / url).is_file():
                fix = f'write str(Path(__file__).parent / "{url}"): {fix}'
            raise Faults([Fault(f'there is no file "{url}"', f'Include "{id}"', "url", fix, place)])
        made(self, scope, id, **given)

    Include.__init__ = judging  # type: ignore[method-assign]  # the same constructor, guarded
