"""JSON by the standard library's fast parser, one value after another, with Kubernetes' eye for numbers and keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_ODD_VALUES: Final = 20  # each costs a pass over the text before it: JSONDecodeError counts the lines
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class JsonValue(NamedTuple):
    """One value of a stream and where it stands.

    `plain` is False where the YAML reader has to look: the value is None then, and `end` is the end of the text if the
    value's own end is unknown. `deep` says that it is nested too deeply.
    """

    start: int
    end: int
    value: Any
    plain: bool = True
    deep: bool = False


class _Odd(Exception):  # noqa: N818  (a signal between two functions here)
    """The value needs the YAML reader."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise _Odd
    return out


def _integer(digits: str) -> int | float:
    if len(digits) < 19:
        return int(digits)
    if len(digits) > 400:
        raise _Odd
    value = int(digits)
    return value if -(2**63) <= value < 2**63 else float(value)


def _real(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Odd
    return value


def _constant(_: str) -> Any:
    raise _Odd


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_real, parse_constant=_constant
)


def looks_like_json(text: str) -> bool:
    """Whether the text starts as JSON does, which is how kubectl tells (`GuessJSONStream`)."""
    match = _SPACE.match(text)
    return text[match.end() : match.end() + 1] in ("{", "[") if match else False


def json_values(text: str, max_depth: int) -> Iterator[JsonValue]:
    """The values of a JSON text or stream (JSON lines, concatenated objects), until one is not plain JSON."""
    at, size, odd = 0, len(text), 0
    while True:
        match = _SPACE.match(text, at)
        at = match.end() if match else at
        if at >= size:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
        except RecursionError:
            yield JsonValue(at, size, None, plain=False, deep=True)
            return
        except (ValueError, OverflowError, _Odd):
            odd += 1
            end = _line_end(text, at) if odd < _ODD_VALUES else size
            yield JsonValue(at, end, None, plain=False)
            at = end
            continue
        if _too_deep(value, max_depth):
            yield JsonValue(at, end, None, plain=False, deep=True)
        else:
            yield JsonValue(at, end, _scrubbed(value) if _SURROGATE.search(text, at, end) else value)
        at = end


def _line_end(text: str, at: int) -> int:
    """The end of the odd value at `at`: of its line in JSON lines, otherwise of the text."""
    end = text.find("\n", at)
    line = text[at:end].rstrip() if end > at else ""
    is_object = line.startswith("{") and not line.startswith("{{") and line.endswith("}")
    return end if is_object and text.startswith("{", end + 1) else len(text)


def _too_deep(value: Any, max_depth: int) -> bool:
    level = [value]
    for _ in range(max_depth):
        deeper: list[Any] = []
        for item in level:
            if item.__class__ is dict:
                deeper.extend(child for child in item.values() if child.__class__ in (dict, list))
            elif item.__class__ is list:
                deeper.extend(child for child in item if child.__class__ in (dict, list))
        if not deeper:
            return False
        level = deeper
    return True


def _scrubbed(value: Any) -> Any:
    """Lone surrogates become U+FFFD, as Go's reader makes them; without that, no report could be written as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_scrubbed(key): _scrubbed(item) for key, item in value.items()}
    return [_scrubbed(item) for item in value] if isinstance(value, list) else value
