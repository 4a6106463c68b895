"""Shapes of values inside pods: paths, ports, file modes, addresses, and "one of these fields".

Each `…_error` function returns an empty string for a good value, otherwise a sentence that says what is wrong. Rules:
k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`; k8s.io/apimachinery v0.36, `pkg/util/validation`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Final

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.types import Int32, Int64, IntOrString, Str, shaped

_PORT_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")


def port_name_error(name: str) -> str:
    """An IANA service name: at most 15 of `a-z0-9-`, with a letter, no `--`, alphanumeric at both ends."""
    if len(name) > 15:
        return f'"{name}" has {len(name)} characters, {len(name) - 15} more than the 15 allowed for the name of a port'
    if not _PORT_NAME.fullmatch(name) or "--" in name or not any("a" <= c <= "z" for c in name):
        return f'"{name}" is not the name of a port: lower-case letters, digits and single "-", with a letter'
    return ""


def port_error(port: int | str) -> str:
    """A port by number (1 to 65535) or by name."""
    if isinstance(port, str):
        return port_name_error(port)
    return "" if 1 <= port <= 65535 else f"{port} is not a port number (1 to 65535)"


def env_name_error(name: str) -> str:
    """The name of an environment variable: printable ASCII without `=` (relaxed since Kubernetes 1.34)."""
    if not name:
        return "it is empty"
    return "" if _ENV_NAME.fullmatch(name) else f'"{name}" is not an environment name: printable ASCII without "="'


def key_error(key: str) -> str:
    """A key of a ConfigMap or Secret: at most 253 of `A-Za-z0-9-_.`, not `.`, not starting with `..`."""
    if len(key) > 253:
        return f"it has {len(key)} characters, {len(key) - 253} more than the 253 allowed"
    if key == "." or key.startswith("..") or not _KEY.fullmatch(key):
        return f'"{key}" is not a key of a ConfigMap or Secret: letters, digits, "-", "_" and "."'
    return ""


def header_error(name: str) -> str:
    """The name of an HTTP header."""
    return "" if _HEADER.fullmatch(name) else f'"{name}" is not the name of an HTTP header: letters, digits and "-"'


def backsteps_error(path: str) -> str:
    """A path without `..` elements."""
    return f'"{path}" contains ".."' if ".." in path.split("/") else ""


def descending_path_error(path: str) -> str:
    """A relative path without `..` elements."""
    return f'"{path}" starts with "/", but must be relative' if path.startswith("/") else backsteps_error(path)


def projected_path_error(path: str) -> str:
    """The path of a projected file: relative, without `..` elements, and not starting with `..`."""
    if not path:
        return "it is empty"
    return descending_path_error(path) or (f'"{path}" starts with ".."' if path.startswith("..") else "")


def ip_error(address: str) -> str:
    """An IPv4 or IPv6 address without zone."""
    try:
        return f'"{address}" has a zone' if "%" in address else str(ipaddress.ip_address(address))[:0]
    except ValueError:
        return f'"{address}" is not an IP address'


def not_empty(text: str) -> str:
    """Any text but the empty one: Kubernetes' validation counts an empty required string as missing."""
    return "" if text else "it is empty"


Text = Annotated[Str, shaped(not_empty)]
PortNumber = Annotated[Int32, Field(ge=1, le=65535)]
FilePath = Annotated[Str, shaped(projected_path_error)]
UserId = Annotated[Int64, Field(ge=0, le=2**31 - 1)]
PositiveSeconds = Annotated[Int64, Field(ge=1)]


def port_rules(field: str, port: IntOrString) -> Iterator[Broken]:
    """The rule of `port_error` for one field."""
    if error := port_error(port):
        yield Broken(field, error)


def mode_rules(field: str, mode: int | None, highest: int = 0o777) -> Iterator[Broken]:
    """File permissions, 0 to 0777. A decimal number whose digits are octal is most likely a lost leading zero."""
    if mode is None or 0 <= mode <= highest:
        return
    meant = str(mode)
    fix = f"write a mode between 0 and 0{highest:o}"
    if meant.isdigit() and set(meant) <= set("01234567") and int(meant, 8) <= highest:
        fix = f"did you mean octal 0{meant}? Write {int(meant, 8)}"
    yield Broken(field, f"{mode} is decimal and beyond 0{highest:o} ({highest})", fix)


def written(model: Model, names: Iterable[str]) -> list[str]:
    """Which of the fields `names` (Python names) are set, in Kubernetes' spelling."""
    fields = type(model).model_fields
    return [fields[name].alias or name for name in names if getattr(model, name) is not None]


def at_most_one(model: Model, names: Iterable[str], thing: str) -> Iterator[Broken]:
    """No two of the fields `names` are set. `thing` is what they are, in the singular (`source`)."""
    found = written(model, names)
    if len(found) > 1:
        yield Broken("", f"has {len(found)} {thing}s ({', '.join(found)}), and only one is allowed", "keep one of them")


def exactly_one(model: Model, names: Iterable[str], thing: str) -> Iterator[Broken]:
    """One of the fields `names` is set, not none and not several."""
    names = list(names)
    if not written(model, names):
        fields = type(model).model_fields
        yield Broken("", f"has no {thing}", f"add one of {', '.join(fields[name].alias or name for name in names)}")
    yield from at_most_one(model, names, thing)
