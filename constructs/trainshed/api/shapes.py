"""Shapes of strings that are neither names nor parts of pods: prefixed paths, path segments, networks.

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


def cidr(text: str) -> IpNetwork | None:
    """The network that `10.0.0.0/8` or `fd00::/8` names, or None. Bits beyond the prefix are ignored, not refused."""
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def cidr_error(text: str) -> str:
    """An IPv4 or IPv6 network with a prefix length."""
    return "" if cidr(text) else f'"{text}" is not an IP network, such as "10.0.0.0/8"'
