"""The small text formats Argo CD reads: Go durations and cron schedules.

Each `…_error` function returns an empty string for a good text, otherwise a sentence that says what is wrong.
"""

from __future__ import annotations

import re
from typing import Final

_DURATION: Final = re.compile(r"[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")
_SECONDS: Final = re.compile(r"[-+]?\d+")
_ITEM: Final = re.compile(r"(?P<low>[*?]|\w+)(-(?P<high>\w+))?(/(?P<step>\d+))?")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final[tuple[tuple[str, int, int, dict[str, int]], ...]] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    ("day of week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def is_templated(text: str | None) -> bool:
    """Whether an ApplicationSet will still fill this text in, so that nothing can be said about it yet."""
    return text is not None and "{{" in text


def go_duration_error(text: str) -> str:
    """A Go duration such as `5s`, `3m` or `1h30m` (Go, `time.ParseDuration`)."""
    return "" if _DURATION.fullmatch(text) else f'"{text}" is not a duration'


def retry_duration_error(text: str) -> str:
    """A Go duration, or a whole number of seconds (Argo CD v3.5.1, `types.go`, `parseStringToDuration`)."""
    return "" if _SECONDS.fullmatch(text) or is_templated(text) else go_duration_error(text)


def cron_error(text: str) -> str:
    """A cron schedule of five fields (robfig/cron v3 without descriptors; Sunday is 0, never 7)."""
    parts = re.sub(r"^(CRON_)?TZ=\S+\s", "", text).split()
    if len(parts) != len(_FIELDS):
        return f'"{text}" has {len(parts)} fields, a cron schedule has 5'
    for part, (field, low, high, names) in zip(parts, _FIELDS, strict=True):
        for item in part.split(","):
            if error := _item_error(item, low, high, names):
                return f'the {field} "{part}" {error}'
    return ""


def _item_error(item: str, low: int, high: int, names: dict[str, int]) -> str:
    match = _ITEM.fullmatch(item)
    if not match:
        return "is not a number, a range, a step or *"
    if match["step"] is not None and int(match["step"]) == 0:
        return "has a step of 0"
    if match["low"] in "*?":
        return "puts a range after *" if match["high"] else ""
    first = _number(match["low"], names)
    last = _number(match["high"], names) if match["high"] else first
    if first is None or last is None:
        return "has a name that is not known here"
    if not (low <= first and last <= high):
        return f"is outside {low} to {high}"
    return "runs backwards" if first > last else ""


def _number(text: str, names: dict[str, int]) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else names.get(text.lower())
