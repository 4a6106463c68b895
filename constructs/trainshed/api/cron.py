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
_ZONE_PART: Final = re.compile(r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}")


def schedule_error(schedule: str) -> str:
    """What is wrong with the shape of a schedule: five fields or a descriptor. The numbers' ranges are not checked."""
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
    return f'"{wrong[0]}" is not a cron field' if wrong else ""


def time_zone_error(zone: str) -> str:
    """What is wrong with the shape of a time zone's name. Whether the zone exists is not checked."""
    if zone.lower() == "local":
        return f'"{zone}" depends on the machine'
    parts = zone.split("/")
    if any(part in (".", "..") or not _ZONE_PART.fullmatch(part) for part in parts):
        return f'"{zone}" is not the name of a time zone'
    return ""
