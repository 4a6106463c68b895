"""Kubernetes resource quantities: exact, canonical, comparable.

Rules: k8s.io/apimachinery v0.36, `pkg/api/resource/quantity.go` (grammar, three formats, canonical form, rounding up to
one nano). Values are integers of 10⁻⁹, never floats.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache, total_ordering
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic_core import PydanticCustomError, core_schema

from trainshed.faults import encodable

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

QuantityFormat = Literal["decimal", "binary", "exponent"]

_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exp>[+-]?[0-9]+))?"
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIX: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {power: suffix for suffix, power in _BINARY.items()}
_NANO: Final = 10**9
_MAX_EXPONENT: Final = 99
_MAX_LENGTH: Final = 120  # digits and all: more is no amount of anything, and takes Python long to read
_MAX_BINARY: Final = (2**63 - 1) * _NANO
_EXPECTED: Final = 'write a number with an optional suffix, such as "500m", "96", "400G" or "64Gi"'


@total_ordering
class Quantity:
    """An amount of a resource, as Kubernetes reads and writes it.

    `Quantity("12000m")`, `Quantity(12)` and `Quantity("12")` are equal; `str()` gives Kubernetes' canonical form
    (`12`, `1k`, `1Gi`, `500m`, `1536Mi`). Equality, order and hash go by value, not by spelling. Amounts finer than one
    nano are rounded up, and binary ones above 2⁶³ - 1 are cut to that, as Kubernetes does. Raises ValueError for what
    is not a quantity by Kubernetes' grammar, and for amounts whose suffix Kubernetes loses on writing (1000E, 2000E).
    """

    __slots__ = ("_format", "_nano", "_text")

    _nano: int
    _format: QuantityFormat
    _text: str | None

    def __init__(self, value: str | int | float | Quantity) -> None:
        if isinstance(value, Quantity):
            self._nano, self._format = value._nano, value._format
        elif isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{type(value).__name__} is not a quantity; {_EXPECTED}")
        elif isinstance(value, int):
            if abs(value) >= 10**_MAX_LENGTH:
                raise ValueError(f"a number of more than {_MAX_LENGTH} digits is not a quantity")
            self._nano, self._format = value * _NANO, "decimal"
        else:
            # The shortest text of a float is what the person typed; its binary value never enters.
            self._nano, self._format = _parse(value if isinstance(value, str) else repr(value))
        self._text = None
        if self._format == "decimal" and self._nano and self._nano % 10**30 == 0:
            raise ValueError(f'"{value}" is beyond the largest suffix that Kubernetes writes (E)')

    @classmethod
    def _make(cls, nano: int, format: QuantityFormat) -> Quantity:
        made = object.__new__(cls)
        made._nano, made._format, made._text = nano, format, None
        return made

    def __str__(self) -> str:
        if self._text is None:
            self._text = _canonical(self._nano, self._format)
        return self._text

    def __repr__(self) -> str:
        return f'Quantity("{self}")'

    @property
    def value(self) -> Fraction:
        """The amount in base units (cores, bytes, devices), exact."""
        return Fraction(self._nano, _NANO)

    def is_whole(self) -> bool:
        """Whether the amount is an integer, as extended resources such as `nvidia.com/gpu` must be."""
        return self._nano % _NANO == 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Quantity):
            return self._nano == other._nano
        return NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        if isinstance(other, Quantity):
            return self._nano < other._nano
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._nano)

    def __bool__(self) -> bool:
        return self._nano != 0

    def __add__(self, other: Quantity) -> Quantity:
        if isinstance(other, Quantity):
            return Quantity._make(self._nano + other._nano, self._format if self._nano else other._format)
        return NotImplemented

    def __sub__(self, other: Quantity) -> Quantity:
        if isinstance(other, Quantity):
            return Quantity._make(self._nano - other._nano, self._format if self._nano else other._format)
        return NotImplemented

    def __neg__(self) -> Quantity:
        return Quantity._make(-self._nano, self._format)

    def __mul__(self, factor: int | Fraction) -> Quantity:
        """Scaled by a whole or exact rational factor; a result finer than one nano is rounded away from zero."""
        if isinstance(factor, int | Fraction):
            return Quantity._make(_divided_up(self._nano * factor.numerator, factor.denominator), self._format)
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Quantity) -> Fraction:
        """The exact ratio of two quantities."""
        return Fraction(self._nano, other._nano)

    def __floordiv__(self, other: Quantity) -> int:
        """How many times `other` fits."""
        return self._nano // other._nano

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _validated, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "description": "A Kubernetes quantity, such as 500m, 96, 400G or 64Gi.",
            "anyOf": [
                {
                    "type": "string",
                    "pattern": r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$",
                },
                {"type": "number"},
            ],
        }


def _validated(value: Any) -> Quantity:
    try:
        return value if isinstance(value, Quantity) else Quantity(value)
    except ValueError as error:
        raise PydanticCustomError("quantity", "{reason}", {"reason": encodable(str(error))}) from None


@lru_cache(maxsize=1 << 12)
def _parse(text: str) -> tuple[int, QuantityFormat]:
    if len(text) > _MAX_LENGTH:
        raise ValueError(f'"{text[:20]}…" is not a quantity: it has {len(text)} characters; {_EXPECTED}')
    match = _GRAMMAR.fullmatch(text)
    if not match or not (match["whole"] or match["part"]):
        raise ValueError(f'"{text}" is not a quantity; {_EXPECTED}')
    part, suffix, exponent = match["part"] or "", match["suffix"] or "", match["exp"]
    digits = int(match["whole"] + part)
    kind: QuantityFormat = "decimal"
    if suffix in _BINARY:
        nano = min(_divided_up(digits * 1024 ** _BINARY[suffix] * _NANO, 10 ** len(part)), _MAX_BINARY)
        kind = "decimal" if 0 < nano < _NANO else "binary"
    else:
        power = _DECIMAL[suffix]
        if exponent is not None:
            if abs(int(exponent)) > _MAX_EXPONENT:
                raise ValueError(f'"{text}" has an exponent beyond {_MAX_EXPONENT}')
            kind, power = "exponent", int(exponent)
        shift = power + 9 - len(part)
        nano = digits * 10**shift if shift >= 0 else _divided_up(digits, 10**-shift)
    return (-nano if match["sign"] == "-" else nano), kind


def _divided_up(number: int, divisor: int) -> int:
    """The quotient, rounded away from zero: whoever asks for a little gets a little (quantity.go, ParseQuantity)."""
    return -(-number // divisor) if number >= 0 else number // divisor


def _canonical(nano: int, format: QuantityFormat) -> str:
    if nano == 0:
        return "0"
    if format == "binary" and abs(nano) >= 1024 * _NANO and nano % _NANO == 0:
        mantissa, power = nano // _NANO, 0
        while mantissa % 1024 == 0 and power < 6:
            mantissa, power = mantissa // 1024, power + 1
        return f"{mantissa}{_BINARY_SUFFIX.get(power, '')}"
    mantissa, exponent = nano, -9
    while mantissa % 1000 == 0 and (exponent < 18 or format == "exponent"):
        mantissa, exponent = mantissa // 1000, exponent + 3
    if format == "exponent":
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_DECIMAL_SUFFIX[exponent]}"
