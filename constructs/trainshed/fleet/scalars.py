"""Plain scalars as Kubernetes reads them.

kubectl, Argo CD and the API server read YAML with sigs.k8s.io/yaml (v1.4 to v1.6, `goyaml.v2/resolve.go`), turn it
into JSON, and read that. So `y`, `on` and `No` are booleans, `0777`, `0o777` and `0b11` are integers, `1_000` is 1000,
`12:30:45` and `2026-01-31` are strings, `08` is 8, and a float without a fraction (`1e3`, `2.0`) arrives as an integer.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from typing import Final

Scalar = str | int | float | bool | None

# First characters of plain scalars that can be anything but a string.
HINTS: Final = frozenset("0123456789+-.~yYnNtTfFoO<")

WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}

_DIGITS: Final = frozenset("0123456789+-")
_INT: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_DOT_FLOAT: Final = re.compile(r"\.[0-9]+(?:[eE][-+]?[0-9]+)?", re.ASCII)
_INT64: Final = 2**63
_BASES: Final = ((2, 16), (3, 2), (4, 8))


def resolve(text: str) -> Scalar:
    """The value of the plain, untagged scalar `text`. A number that JSON cannot carry comes back as inf or nan."""
    if text in WORDS:
        return WORDS[text]
    first = text[0]
    if first in _DIGITS:
        return _number(text)
    if first == "." and _DOT_FLOAT.fullmatch(text):
        value = float(text)
        return text if math.isinf(value) else _as_json(value)
    return text


def _number(text: str) -> Scalar:
    plain = text.replace("_", "")
    if match := _INT.fullmatch(plain):
        for group, base in _BASES:
            if digits := match[group]:
                return _as_json(-int(digits, base) if match[1] == "-" else int(digits, base))
        # Python refuses to convert more than 4,300 digits; 400 are already more than a float can hold.
        return _as_json(int(plain)) if len(plain) < 400 else math.inf
    if _FLOAT.fullmatch(plain):
        value = float(plain)
        if not math.isinf(value):
            return _as_json(value)
        return math.inf if plain.lstrip("+-").isdigit() else text  # `089…9` is an integer, `1e400` stays a string
    return text


def _as_json(value: int | float) -> int | float:
    """The number after the way through JSON: int64 where it is whole and fits, otherwise a float64."""
    if -_INT64 <= value < _INT64:
        return int(value) if isinstance(value, int) or value.is_integer() else value
    try:
        return float(value)
    except OverflowError:
        return math.inf


class TagError(ValueError):
    """A scalar that does not fit its explicit tag; Kubernetes' reader refuses the document."""


def resolve_tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar with an explicit tag; a tag that YAML 1.1 does not define leaves a string."""
    short = tag.removeprefix("tag:yaml.org,2002:")
    if short == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            raise TagError("a !!binary value is not base64") from None
    if short not in ("int", "float", "bool", "null"):
        return text
    value = resolve(text)
    wanted: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
    if short == "int" and isinstance(value, float) and _INT.fullmatch(text.replace("_", "")):
        return value  # outside int64
    if type(value) not in wanted[short]:
        raise TagError(f'"{text[:40]}" is not a !!{short}')
    return value


def key_text(text: str) -> str | None:
    """The key that the plain scalar `text` becomes in JSON; None for null, which Kubernetes refuses as a key."""
    value = resolve(text)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and _INT.fullmatch(text.replace("_", "")):
        return str(value)
    return _float_text(float(value))


def _float_text(value: float) -> str:
    """Go's FormatFloat(value, 'g', -1, 32): the shortest digits that give the same float32."""
    narrow: float = struct.unpack("f", struct.pack("f", value))[0]  # inf where a float32 cannot hold it
    if not math.isfinite(narrow):
        return ".nan" if math.isnan(narrow) else ".inf" if narrow > 0 else "-.inf"
    for precision in range(9):
        text = f"{narrow:.{precision}e}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == narrow:
            break
    exponent = int(text.partition("e")[2])
    return text if exponent < -4 or exponent >= 6 else f"{float(text):.{max(0, precision - exponent)}f}"
