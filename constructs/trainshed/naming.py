"""The shapes of Kubernetes names, what is wrong with one that does not fit, and how to make one that does.

Each `…_error` function returns an empty string for a good name, otherwise a sentence that says what is wrong. Rules:
k8s.io/apimachinery v0.36, `pkg/util/validation/validation.go`. For names that controllers derive: `naming_budgets`.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

#: Annotation of an object whose owner lets findings of `trainshed check` pass: codes, separated by commas.
ALLOW_ANNOTATION: Final = "trainshed.dev/allow"

LABEL_MAX: Final = 63
SUBDOMAIN_MAX: Final = 253

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SAFE_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH: Final = 8


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
        and _shape_error(
            value, _QUALIFIED, 'a label value: letters, digits, "-", "_" and ".", alphanumeric at both ends'
        )
    )


@lru_cache(maxsize=1 << 12)  # ten thousand objects share some dozen keys
def label_key_error(key: str) -> str:
    """A qualified name such as `kueue.x-k8s.io/queue-name`: optional DNS prefix, `/`, name of at most 63."""
    prefix, slash, name = key.rpartition("/")
    if slash and (error := dns1123_subdomain_error(prefix)):
        return f'its prefix "{prefix}" is wrong: {error}'
    return _length_error(name, LABEL_MAX) or _shape_error(
        name, _QUALIFIED, 'a qualified name: letters, digits, "-", "_" and ".", alphanumeric at both ends'
    )


def short_hash(value: Any, length: int = _HASH_LENGTH) -> str:
    """`length` characters that stand for `value` (plain JSON data), the same on every machine and Python.

    Key order does not matter. The alphabet is Kubernetes' own for generated names: no vowels, so no words, and no
    digits that look like letters (k8s.io/apimachinery v0.36, `pkg/util/rand`). Raises TypeError for what JSON lacks.
    """
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    number = int.from_bytes(sha256(canonical.encode()).digest(), "big")
    letters = []
    for _ in range(length):
        number, index = divmod(number, len(_SAFE_ALPHABET))
        letters.append(_SAFE_ALPHABET[index])
    return "".join(letters)


def truncated(name: str, limit: int) -> str:
    """`name` where it has at most `limit` characters, otherwise cut, with a hash of the whole name at its end.

    A good label stays one, and two long names stay two. Raises ValueError when `limit` leaves no room for a letter.
    """
    if len(name) <= limit:
        return name
    kept = limit - _HASH_LENGTH - 1
    if kept < 1:
        raise ValueError(f"a limit of {limit} leaves no room for a name and its hash")
    return f"{name[:kept].rstrip('-.')}-{short_hash(name)}"


def suffixed(name: str, suffix: str, limit: int = LABEL_MAX) -> str:
    """`<name>-<suffix>` in at most `limit` characters; only `name` is shortened, as by `truncated`."""
    return f"{truncated(name, limit - len(suffix) - 1)}-{suffix}"


def _length_error(name: str, limit: int) -> str:
    if not name:
        return "it is empty"
    if len(name) > limit:
        return f"it has {len(name)} characters, {len(name) - limit} more than the {limit} allowed"
    return ""


def _shape_error(name: str, shape: re.Pattern[str], wanted: str) -> str:
    return "" if shape.fullmatch(name) else f'"{name}" is not {wanted}'
