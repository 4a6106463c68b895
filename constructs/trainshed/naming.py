"""The shapes of Kubernetes names, and what is wrong with one that does not fit.

Each `…_error` function returns an empty string for a good name, otherwise a sentence that says what is wrong. Rules:
k8s.io/apimachinery v0.36, `pkg/util/validation/validation.go`.
"""

from __future__ import annotations

import re
from typing import Final

LABEL_MAX: Final = 63
SUBDOMAIN_MAX: Final = 253

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def dns1123_label_error(name: str) -> str:
    """A DNS-1123 label: at most 63 of `a-z0-9-`, alphanumeric at both ends (namespaces, LocalQueue pods, …)."""
    return _length_error(name, LABEL_MAX) or _shape_error(
        name, _LABEL, 'a DNS-1123 label: lower-case letters, digits and "-", alphanumeric at both ends'
    )


def dns1035_label_error(name: str) -> str:
    """A DNS-1035 label: as DNS-1123, but it starts with a letter (Services, TrainJobs, JobSets)."""
    return _length_error(name, LABEL_MAX) or _shape_error(
        name, _LABEL_1035, 'a DNS-1035 label: lower-case letters, digits and "-", starting with a letter'
    )


def dns1123_subdomain_error(name: str) -> str:
    """A DNS-1123 subdomain: labels joined by dots, at most 253 characters (most object names)."""
    return _length_error(name, SUBDOMAIN_MAX) or _shape_error(
        name, _SUBDOMAIN, 'a DNS-1123 subdomain: lower-case letters, digits, "-" and ".", alphanumeric at both ends'
    )


def label_value_error(value: str) -> str:
    """A label value: empty, or at most 63 of `A-Za-z0-9-_.`, alphanumeric at both ends."""
    return (value and _length_error(value, LABEL_MAX)) or (
        value
        and _shape_error(value, _QUALIFIED, 'a label value: letters, digits, "-", "_" and ".", alphanumeric at both ends')
    )


def label_key_error(key: str) -> str:
    """A qualified name such as `kueue.x-k8s.io/queue-name`: optional DNS prefix, `/`, name of at most 63."""
    prefix, slash, name = key.rpartition("/")
    if slash and (error := dns1123_subdomain_error(prefix)):
        return f'its prefix "{prefix}" is wrong: {error}'
    return _length_error(name, LABEL_MAX) or _shape_error(
        name, _QUALIFIED, 'a qualified name: letters, digits, "-", "_" and ".", alphanumeric at both ends'
    )


def _length_error(name: str, limit: int) -> str:
    if not name:
        return "it is empty"
    if len(name) > limit:
        return f"it has {len(name)} characters, {len(name) - limit} more than the {limit} allowed"
    return ""


def _shape_error(name: str, shape: re.Pattern[str], wanted: str) -> str:
    return "" if shape.fullmatch(name) else f'"{name}" is not {wanted}'
