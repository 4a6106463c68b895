"""Plain scalars are read as Kubernetes reads them (sigs.k8s.io/yaml, goyaml.v2/resolve.go, then JSON)."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.fleet.scalars import HINTS, TagError, key_text, resolve, resolve_tagged


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True), ("Y", True), ("yes", True), ("on", True), ("On", True), ("TRUE", True), ("true", True),
        ("n", False), ("N", False), ("no", False), ("OFF", False), ("False", False),
        ("yEs", "yEs"), ("oN", "oN"), ("tRUE", "tRUE"), ("t", "t"),
        ("", None), ("~", None), ("null", None), ("Null", None), ("NULL", None), ("nULL", "nULL"), ("None", "None"),
        ("0", 0), ("-0", 0), ("+5", 5), ("12", 12), ("1_000", 1000), ("1__0_", 10), ("_1", "_1"),
        ("0777", 511), ("0o777", 511), ("0O17", 15), ("-0777", -511), ("0b101", 5), ("0B11", 3), ("-0b11", -3),
        ("0x1F", 31), ("0XfF", 255), ("0_7", 7), ("00", 0), ("0x", "0x"), ("0b12", "0b12"), ("0o8", "0o8"),
        ("08", 8), ("089", 89), ("08h", "08h"),
        ("1.4.2", "1.4.2"), ("v1.10", "v1.10"), ("8GB", "8GB"), ("200ms", "200ms"),
        ("12:30", "12:30"), ("12:30:45", "12:30:45"), ("190:20:30.15", "190:20:30.15"),
        ("2026-01-31", "2026-01-31"), ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("1e3", 1000), ("2.0", 2), ("1.", 1), ("1.5", 1.5), ("-.5", -0.5), (".5", 0.5),
        (".5e1", 5), (".", "."), ("._", "._"),
        ("1e", "1e"), ("1e400", "1e400"), (".1e400", ".1e400"), ("e3", "e3"), ("0x1p-2", "0x1p-2"),
        ("9223372036854775807", 2**63 - 1), ("9223372036854775808", float(2**63)), ("-9223372036854775808", -(2**63)),
        ("1e21", 1e21), ("=", "="), ("<<", "<<"), ("+", "+"), ("-", "-"), ("inf", "inf"), ("nan", "nan"),
        ("\uff11", "\uff11"),
    ],
)  # fmt: skip
def test_plain_scalars(text: str, value: Any) -> None:
    got = resolve(text)
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize(
    "text", [".inf", "-.Inf", "+.INF", ".nan", "9" * 400, "9" * 5000, "0x" + "f" * 300, "-" + "9" * 400]
)
def test_numbers_json_cannot_carry_are_not_finite(text: str) -> None:
    value = resolve(text)
    assert isinstance(value, float)
    assert not math.isfinite(value)


@given(st.text(max_size=8))
def test_a_first_character_without_hint_means_a_string(text: str) -> None:
    if text and text[0] not in HINTS:
        assert resolve(text) == text


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_int64_reads_back(number: int) -> None:
    assert resolve(str(number)) == number
    assert resolve(hex(number)) == resolve(bin(number)) == resolve(oct(number)) == number


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("on", "true"), ("n", "false"), ("0777", "511"), ("8080", "8080"), ("1.0", "1"), ("1.10", "1.1"),
        ("1e3", "1000"),
        ("1e6", "1e+06"), ("0.1", "0.1"), ("0.00001", "1e-05"), ("123456.7", "123456.7"), ("2026-01-31", "2026-01-31"),
        (".inf", ".inf"), ("1e60", ".inf"), ("-1e60", "-.inf"), ("3.4028235e38", "3.4028235e+38"),
        ("name", "name"), ("~", None), ("", None),
    ],
)  # fmt: skip
def test_keys_become_the_strings_that_go_writes(text: str, key: str | None) -> None:
    assert key_text(text) == key


def test_explicit_tags() -> None:
    prefix = "tag:yaml.org,2002:"
    assert resolve_tagged(prefix + "str", "12") == "12"
    assert resolve_tagged(prefix + "int", "0x10") == 16
    assert resolve_tagged(prefix + "int", str(2**63)) == float(2**63)
    assert resolve_tagged(prefix + "bool", "on") is True
    assert resolve_tagged(prefix + "null", "~") is None
    assert resolve_tagged(prefix + "binary", "aGVs\nbG8=") == "hello"
    assert resolve_tagged("!Ref", "12") == "12"
    for tag, text in (("int", "x"), ("bool", "1"), ("null", "no"), ("binary", "###"), ("int", "true")):
        with pytest.raises(TagError):
            resolve_tagged(prefix + tag, text)
