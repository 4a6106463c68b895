"""Points in time, as `metav1.Time` writes them: RFC 3339."""

from __future__ import annotations

import re
from typing import Annotated, Final

from trainshed.api.types import Str, shaped

_DATE: Final = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_CLOCK: Final = r"([01]\d|2[0-3]):[0-5]\d"
_TIME: Final = re.compile(rf"{_DATE}[Tt]{_CLOCK}:[0-5]\d(\.\d+)?([Zz]|[+-]{_CLOCK})", re.ASCII)


def time_error(text: str) -> str:
    """A date, a time of day with seconds, and a zone."""
    return "" if _TIME.fullmatch(text) else f'"{text}" is not a time such as "2026-09-01T12:00:00Z"'


Time = Annotated[Str, shaped(time_error)]
