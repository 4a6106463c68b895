"""The shapes of cron schedules and of time zones' names.

Rules: kubernetes v1.36, `pkg/apis/batch/validation/validation.go`; robfig/cron v3, `ParseStandard`.
"""

from __future__ import annotations

import re
from typing import Final

_FIELD: Final = re.compile(r"[0-9A-Za-z*/,?-]+")
_DESCRIPTOR: Final = re.compile(
    r"@(yearly|annually|monthly|weekly|daily|midnight|hourly|every ([0-9.]+(ns|us|µs|ms|s|m|h))+)"
)
#: Each field with its least and greatest number, and the names that stand for numbers.
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
_DAYS: Final = "sun mon tue wed thu fri sat"
_RANGES: Final[tuple[tuple[str, int, int, str], ...]] = (
    ("minute", 0, 59, ""),
    ("hour", 0, 23, ""),
    ("day of the month", 1, 31, ""),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_ZONE_PART: Final = re.compile(r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}")


def schedule_error(schedule: str) -> str:
    """What is wrong with a schedule: five fields within their ranges, or a descriptor."""
    if "TZ" in schedule:
        return "it holds a time zone, which belongs into timeZone"
    if _DESCRIPTOR.fullmatch(schedule):
        return ""
    if schedule.startswith("@"):
        return f'"{schedule}" is not a known word'
    fields = schedule.split()
    if len(fields) != 5:
        return f'"{schedule}" has {len(fields)} fields, not 5'
    wrong = [field for field in fields if not _FIELD.fullmatch(field)]
    if wrong:
        return f'"{wrong[0]}" is not a cron field'
    errors = (_field_error(field, *limits) for field, limits in zip(fields, _RANGES, strict=True))
    return next(filter(None, errors), "")


def _field_error(field: str, what: str, least: int, most: int, names: str) -> str:
    """What is wrong with one field: `*`, numbers and names, ranges of them, each with a step, in a list."""
    known = {name: number for number, name in enumerate(names.split(), least)}
    for part in field.split(","):
        span, slash, step = part.partition("/")
        if slash and not (step.isdigit() and int(step) > 0):
            return f'"{part}" has no step above 0 after the slash'
        if span in ("*", "?"):
            continue
        ends = [known.get(end.lower(), int(end) if end.isdigit() else None) for end in span.split("-")]
        if len(ends) > 2 or None in ends:
            return f'"{part}" is no {what}'
        low, high = ends[0] or 0, ends[-1] or 0
        if low < least or high > most:
            return f'"{part}" is no {what}, which goes from {least} to {most}'
        if low > high:
            return f'"{part}" begins after its end'
    return ""


def time_zone_error(zone: str) -> str:
    """What is wrong with a time zone's name: its shape, or that no zone has it, where this machine knows the zones."""
    if zone.lower() == "local":
        return f'"{zone}" depends on the machine'
    parts = zone.split("/")
    if any(part in (".", "..") or not _ZONE_PART.fullmatch(part) for part in parts):
        return f'"{zone}" is not the name of a time zone'
    return "" if _exists(zone) or not _exists("Europe/London") else f'there is no time zone "{zone}"'


def _exists(zone: str) -> bool:
    from zoneinfo import ZoneInfo  # only CronJobs with a zone need it

    try:
        ZoneInfo(zone)
    except (ValueError, LookupError, OSError):
        return False
    return True
