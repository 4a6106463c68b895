"""Shapes of strings in API objects that are not object names, and what is wrong with one that does not fit.

Each `…_error` function returns an empty string for a good value. Rules: k8s.io/apimachinery v0.36,
`pkg/util/validation/validation.go` and `ip.go`, `pkg/api/validation/generic.go`.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from trainshed import naming

IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_URL_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_PORT_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def domain_prefixed_path_error(path: str) -> str:
    """`domain/path`, as `managedBy` has it (`IsDomainPrefixedPath`)."""
    domain, slash, rest = path.partition("/")
    if not slash or not domain or not rest:
        return f'"{path}" is not a domain, "/" and a path'
    if error := naming.dns1123_subdomain_error(domain):
        return f'its domain "{domain}" is wrong: {error}'
    return "" if _URL_PATH.fullmatch(rest) else f'its path "{rest}" holds characters that a URL path may not'


def path_segment_error(name: str) -> str:
    """A name that fits between the slashes of a URL, all that RBAC asks of names (`IsValidPathSegmentName`)."""
    if not name:
        return "it is empty"
    if name in (".", ".."):
        return f'it cannot be "{name}"'
    wrong = [letter for letter in "/%" if letter in name]
    return f'"{name}" holds "{wrong[0]}"' if wrong else ""


def config_key_error(key: str) -> str:
    """A key of a ConfigMap or Secret, which becomes a file's name (`IsConfigMapKey`)."""
    if not key or len(key) > naming.SUBDOMAIN_MAX:
        return f"it has {len(key)} characters; 1 to {naming.SUBDOMAIN_MAX} are allowed"
    if not _CONFIG_KEY.fullmatch(key):
        return f'"{key}" is not made of letters, digits, "-", "_" and "." alone'
    if key == "." or key.startswith(".."):
        return f'"{key}" would be a relative path'
    return ""


def port_error(port: int | str) -> str:
    """A port, by number (1 to 65535) or by name (at most 15 of `a-z0-9-`, one a letter; `IsValidPortName`)."""
    if isinstance(port, int):
        return "" if 1 <= port <= 65535 else f"{port} is not a port; ports go from 1 to 65535"
    if len(port) > 15:
        return f"the port name has {len(port)} characters, {len(port) - 15} more than the 15 allowed"
    if not _PORT_NAME.fullmatch(port) or "--" in port or not any(letter.isalpha() for letter in port):
        return f'"{port}" is not a port name: lower-case letters, digits and single "-" between them, one a letter'
    return ""


def ip_error(text: str) -> str:
    """An IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return f'"{text}" is not an IP address'
    return ""


def cidr(text: str) -> IpNetwork | None:
    """The network that `10.0.0.0/8` or `fd00::/8` names, or None. Bits beyond the prefix are ignored, not refused."""
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def cidr_error(text: str) -> str:
    """An IPv4 or IPv6 network with a prefix length."""
    return "" if cidr(text) else f'"{text}" is not an IP network, such as "10.0.0.0/8"'
