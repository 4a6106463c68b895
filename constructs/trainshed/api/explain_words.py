"""What pydantic's error types mean, in Kubernetes' words: (what is wrong, what would be right)."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from trainshed.faults import nearest

Words = tuple[str, str]

#: What a value of the wrong type should have been.
WANTED: Final[Mapping[str, str]] = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "mapping_type": "a mapping",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "string_type": "a string",
}
_TRUE: Final = frozenset({"true", "yes", "on", "y", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "n", "0"})
_NUMBER: Final = re.compile(r"-?[0-9]+")
_SHORT_LIST: Final = 12
_DIGITS: Final = 40


def described(value: Any) -> str:
    """The value with its YAML type: `the number 80`, `the string "80"`, `a list`."""
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {shown(value)}"
        case int() | float():
            text = shown(value)
            return text if text.startswith("a number") else f"the number {text}"
        case str():
            return f"the string {shown(value)}"
        case datetime.date():
            return f"the date {value.isoformat()}"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def shown(value: Any) -> str:
    """The value as one would write it in YAML; long text is cut."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value if len(value) <= 80 else value[:77] + "…"}"'
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:
        return f"a number of more than {_DIGITS} digits"
    return "null" if value is None else str(value)


def wrong_type(value: Any, wanted: Iterable[str]) -> Words:
    """A value of the wrong type. `wanted` are phrases of `WANTED`, one for each type that would do."""
    wanted = list(dict.fromkeys(wanted))
    message = f"is {described(value)}, must be {' or '.join(wanted)}"
    return message, _type_fix(value, wanted)


def _type_fix(value: Any, wanted: list[str]) -> str:
    if value is None:
        return "write a value, or remove the field"
    if "a string" in wanted and isinstance(value, bool | int | float | datetime.date):
        text = value.isoformat() if isinstance(value, datetime.date) else shown(value)
        return f'write it in quotes: "{text}"'
    if isinstance(value, str):
        if wanted == ["a whole number"] and _NUMBER.fullmatch(value):
            return f"write it without quotes: {value}"
        if wanted == ["true or false"] and value.lower() in _TRUE | _FALSE:
            return f"write {'true' if value.lower() in _TRUE else 'false'} without quotes"
        if wanted == ["a list"]:
            return f"write it as a list: [{value}]" if value and "\n" not in value else "write a list"
    return 'start each item with "- "' if wanted == ["a list"] and isinstance(value, Mapping) else ""


def unknown_field(name: str, owner: str, known: Iterable[str]) -> Words:
    """A field that its model does not have. `owner` may be empty, and `known` as well."""
    known = list(known)
    message = f"is not a field of {owner}" if owner else "is not a known field"
    fix = nearest(name, known)
    longer = [word for word in known if word.lower().startswith(name.lower()) or word.lower().endswith(name.lower())]
    if not fix and len(longer) == 1:
        fix = f'did you mean "{longer[0]}"?'
    if not fix and 0 < len(known) <= _SHORT_LIST:
        fix = f"known fields are {', '.join(known)}"
    return message, fix or "remove it"


def not_among(value: Any, allowed: Iterable[Any]) -> Words:
    """A value outside an enumeration. The empty string, which means "unset" to Kubernetes, is never proposed."""
    choices = [choice for choice in allowed if choice not in ("", None)]
    if len(choices) == 1:
        return f"is {shown(value)}, must be {shown(choices[0])}", ""
    told = f"is {shown(value)}, must be one of {', '.join(map(str, choices))}"
    return told, nearest(value, map(str, choices)) if isinstance(value, str) else ""


def _least(value: Any, limit: Any) -> Words:
    return f"{shown(value)} is less than {limit}", f"write {limit} or more"


def _most(value: Any, limit: Any) -> Words:
    return f"{shown(value)} is more than {limit}", f"write {limit} or less"


def _too_short(length: int, limit: int, unit: str) -> Words:
    if length == 0:
        return "is empty", f"add at least {limit} {unit}{'s' if limit > 1 else ''}"
    return f"has {length} {unit}{'s' if length > 1 else ''}, and at least {limit} are needed", ""


def _too_long(length: int, limit: int, unit: str) -> Words:
    return f"has {length} {unit}s, {length - limit} more than the {limit} allowed", ""


def split(text: str) -> Words:
    """`what is wrong; what would be right` in its two parts."""
    message, _, fix = text.partition("; ")
    return message, fix


_Limit = Callable[[Any, Mapping[str, Any]], Words]
_LIMITS: Final[Mapping[str, _Limit]] = {
    "greater_than_equal": lambda value, ctx: _least(value, ctx["ge"]),
    "less_than_equal": lambda value, ctx: _most(value, ctx["le"]),
    "greater_than": lambda value, ctx: (f"{value} is not more than {ctx['gt']}", f"write more than {ctx['gt']}"),
    "less_than": lambda value, ctx: (f"{value} is not less than {ctx['lt']}", f"write less than {ctx['lt']}"),
    "multiple_of": lambda value, ctx: (f"{value} is not a multiple of {ctx['multiple_of']}", ""),
    "string_too_short": lambda value, ctx: _too_short(len(value), ctx["min_length"], "character"),
    "string_too_long": lambda value, ctx: _too_long(len(value), ctx["max_length"], "character"),
    "too_short": lambda value, ctx: _too_short(ctx["actual_length"], ctx["min_length"], "item"),
    "too_long": lambda value, ctx: _too_long(ctx["actual_length"] or len(value), ctx["max_length"], "item"),
    "string_pattern_mismatch": lambda value, ctx: (f"{shown(value)} does not match {ctx['pattern']}", ""),
    "duplicate": lambda value, ctx: (_duplicate(ctx), "keep one of them, or rename one"),
    "value_error": lambda value, ctx: split(str(ctx["error"])),
    "assertion_error": lambda value, ctx: split(str(ctx["error"])),
    "none_required": lambda value, ctx: (f"is {described(value)}, must be left out", "remove it"),
}


def _duplicate(ctx: Mapping[str, Any]) -> str:
    return f"two items have {ctx['told']}" if "told" in ctx else f'"{ctx.get("item", "")}" is listed twice'


def of_error(kind: str, value: Any, ctx: Mapping[str, Any], text: str) -> Words:
    """The words for an error of type `kind`; pydantic's own `text` for a type that has none here."""
    if kind in WANTED:
        return wrong_type(value, [WANTED[kind]])
    if kind == "quantity" and (isinstance(value, bool) or not isinstance(value, str | int | float)):
        return wrong_type(value, ["a quantity such as 8 or 64Gi"])
    if kind in _LIMITS:
        return _LIMITS[kind](value, ctx)
    return split(text)
