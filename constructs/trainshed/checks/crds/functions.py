"""The functions that Kubernetes adds to CEL and the evaluator lacks (k8s.io/apiserver v0.36, `pkg/cel/library`)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from trainshed.quantity import Quantity


def _accepts(function: Callable[[Any], object]) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        try:
            function(value)
        except (ValueError, TypeError):
            return False
        return True

    return check


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def _compare(left: str, right: str) -> int:
    a, b = Quantity(left), Quantity(right)
    return (a > b) - (a < b)


def _is_url(value: str) -> bool:
    parts = urlsplit(value)
    return bool(parts.scheme) or value.startswith("/")


def _quantity(value: str) -> str:
    return str(Quantity(value))


#: By the name in CEL; a method's receiver is the first argument. A quantity is its canonical text.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "isQuantity": _accepts(Quantity),
    "quantity": _quantity,
    "isLessThan": lambda left, right: _compare(left, right) < 0,
    "isGreaterThan": lambda left, right: _compare(left, right) > 0,
    "compareTo": _compare,
    "isIP": _accepts(ipaddress.ip_address),
    "isCIDR": _accepts(ipaddress.ip_network),
    "isURL": _is_url,
    "find": _find,
    "findAll": lambda text, pattern: [match[0] for match in re.finditer(pattern, text)],
    "isSorted": lambda items: list(items) == sorted(items),
    "sum": lambda items: sum(items),
    "indexOf": lambda items, item: items.index(item) if item in items else -1,
    "split": lambda text, by: text.split(by),
    "lowerAscii": lambda text: text.lower(),
    "upperAscii": lambda text: text.upper(),
    "trim": lambda text: text.strip(),
    "replace": lambda text, old, new: text.replace(old, new),
}
