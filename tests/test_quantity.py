"""Quantities: exact, canonical, comparable, and nothing else than what Kubernetes reads."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from trainshed.quantity import Quantity

POWERS = {
    **{suffix: Fraction(10) ** power for suffix, power in zip("num", (-9, -6, -3), strict=True)},
    "": Fraction(1),
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
NUMBERS = st.from_regex(r"[0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12}", fullmatch=True)
SUFFIXES = st.sampled_from([*POWERS, "e0", "E3", "e-3", "e+6", "e-30", "e17"])
TEXTS = st.builds("{}{}{}".format, st.sampled_from(["", "+", "-"]), NUMBERS, SUFFIXES)


def readable(text: str) -> bool:
    try:
        Quantity(text)
    except ValueError:
        return False
    return True


READABLE = TEXTS.filter(readable)


def exact(text: str) -> Fraction:
    """The value of `text`, by another way than the code under test: what Kubernetes documents."""
    number = text.lstrip("+-")
    digits = number.rstrip("numkKMGTPEi") if "e" not in number else number
    suffix = number[len(digits) :]
    mantissa, _, exponent = digits.replace("E", "e").partition("e")
    value = (Fraction(mantissa.strip(".") and f"0{mantissa}0" if "." in mantissa else mantissa)) * POWERS[suffix]
    value *= Fraction(10) ** int(exponent or 0)
    if suffix.endswith("i"):
        value = min(value, Fraction(2**63 - 1))
    value = Fraction(math.ceil(value * 10**9), 10**9)
    return -value if text.startswith("-") else value


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("12000m", "12"),
        ("1000", "1k"),
        ("1024Mi", "1Gi"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("0", "0"),
        ("-0", "0"),
        ("0Gi", "0"),
        ("+1", "1"),
        ("1.", "1"),
        (".5", "500m"),
        ("001", "1"),
        ("1023", "1023"),
        ("1024", "1024"),
        ("1023Ki", "1023Ki"),
        ("0.5Ki", "512"),
        ("512Ki", "512Ki"),
        ("0.5Mi", "512Ki"),
        ("1.1Ki", "1126400m"),
        ("0.0001Ki", "102400u"),
        ("1000Ki", "1000Ki"),
        ("1024Ki", "1Mi"),
        ("400G", "400G"),
        ("1200G", "1200G"),
        ("1000G", "1T"),
        ("100m", "100m"),
        ("1500m", "1500m"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.1n", "2n"),
        ("-1.5", "-1500m"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("12e4", "120e3"),
        ("1e0", "1"),
        ("1e-3", "1e-3"),
        ("1e-20", "1e-9"),
        ("1e21", "1e21"),
        ("1E", "1E"),
        ("1001E", "1001E"),
        ("7Ei", "7Ei"),
        ("8Ei", "9223372036854775807"),
        ("-8Ei", "-9223372036854775807"),
    ],
)
def test_the_canonical_form_is_that_of_kubernetes(text: str, canonical: str) -> None:
    assert str(Quantity(text)) == canonical


@pytest.mark.parametrize(
    ("given_", "canonical"), [(12, "12"), (1000, "1k"), (0.5, "500m"), (0.1, "100m"), (1e16, "10e15"), (-3, "-3")]
)
def test_numbers_are_read_as_written(given_: float, canonical: str) -> None:
    assert str(Quantity(given_)) == canonical


@pytest.mark.parametrize(
    "text",
    ["", " ", " 1", "1 ", "1\n", "abc", "1.1.M", "1+1.0M", "0.1mi", "0.1am", ".5i", "1i", "-3.01e-", "1e", "1e1.5",
     "1K", "1g", "1gi", "1GiB", "1GB", "--1", "1_000", "0x10", "1,5", "inf", "nan", "+", ".", "k", "Gi", "٣", "²",
     "1000E", "1e100", "3000E"],
)  # fmt: skip
def test_anything_else_is_refused_and_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantity|beyond") as caught:
        Quantity(text)
    assert f'"{text}"' in str(caught.value)


@pytest.mark.parametrize("value", [True, None, [], {}, b"1", math.inf, math.nan])
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(value)


@given(READABLE)
def test_the_value_is_exact(text: str) -> None:
    assert Quantity(text).value == exact(text)


@given(READABLE)
def test_reading_what_was_written_changes_nothing(text: str) -> None:
    written = str(Quantity(text))
    assert str(Quantity(written)) == written
    assert Quantity(written) == Quantity(text)


@given(READABLE, READABLE)
def test_equality_order_and_hash_go_by_value(one: str, other: str) -> None:
    a, b = Quantity(one), Quantity(other)
    assert (a == b) == (exact(one) == exact(other))
    assert (a < b) == (exact(one) < exact(other))
    assert (a >= b) == (exact(one) >= exact(other))
    assert a != b or hash(a) == hash(b)


def test_spelling_does_not_matter() -> None:
    assert Quantity("12000m") == Quantity(12) == Quantity("12") == Quantity("0.012k")
    assert len({Quantity("1Gi"), Quantity("1024Mi"), Quantity(2**30)}) == 1
    assert Quantity(1) != 1


@given(READABLE, READABLE)
def test_sums_and_differences_are_exact(one: str, other: str) -> None:
    a, b = Quantity(one), Quantity(other)
    assert (a + b).value == exact(one) + exact(other)
    assert (a - b).value == exact(one) - exact(other)
    assert (-a).value == -exact(one)
    assert a + b - b == a


@given(READABLE, st.integers(-100, 100), st.integers(1, 100))
def test_scaling_rounds_away_from_zero_by_less_than_a_nano(text: str, over: int, under: int) -> None:
    factor = Fraction(over, under)
    scaled, wanted = (Quantity(text) * factor).value, exact(text) * factor
    assert abs(wanted) <= abs(scaled) < abs(wanted) + Fraction(1, 10**9)
    assert (3 * Quantity(text)).value == 3 * exact(text)


@given(READABLE, READABLE.filter(lambda text: bool(Quantity(text))))
def test_ratios_are_exact(one: str, other: str) -> None:
    assert Quantity(one) / Quantity(other) == exact(one) / exact(other)
    assert Quantity(one) // Quantity(other) == exact(one) // exact(other)


def test_floats_never_enter_arithmetic() -> None:
    half: Any = 0.5
    for method in (operator.mul, operator.add, operator.sub):
        with pytest.raises(TypeError):
            method(Quantity(1), half)
    assert Quantity(0.1) + Quantity(0.2) == Quantity("0.3")


def test_a_sum_keeps_the_format_of_its_first_non_zero_part() -> None:
    assert str(Quantity("512Mi") + Quantity("512M")) == "1024288Ki"
    assert str(Quantity("1Gi") + Quantity("1Gi")) == "2Gi"
    assert str(Quantity(0) + Quantity("1Gi")) == "1Gi"


def test_whole_and_zero() -> None:
    assert Quantity("8").is_whole()
    assert not Quantity("7500m").is_whole()
    assert not Quantity("0")
    assert Quantity("1n")


def test_a_copy_is_equal() -> None:
    assert Quantity(Quantity("1Gi")) == Quantity("1Gi")
    assert repr(Quantity("1024Mi")) == 'Quantity("1Gi")'


def test_pydantic_reads_and_writes_it() -> None:
    adapter = TypeAdapter(Quantity)
    assert adapter.validate_python("1024Mi") == Quantity("1Gi")
    assert adapter.dump_python(Quantity("1024Mi")) == "1Gi"
    with pytest.raises(ValidationError, match='"1 GB" is not a quantity; write a number'):
        adapter.validate_python("1 GB")
    assert "anyOf" in adapter.json_schema()
