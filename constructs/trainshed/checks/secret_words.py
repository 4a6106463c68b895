"""What looks like a secret: names that promise one, shapes of well-known credentials."""

from __future__ import annotations

import re
from typing import Final

#: Whole words of a variable's name that mean its value is a secret.
_SECRET_NAME: Final = re.compile(
    r"(?:^|[_.-])(?:API[_-]?KEY|ACCESS[_-]?KEY|SECRET(?:[_-]?KEY|[_-]ACCESS[_-]KEY)?|PASSWORD|PASSWD|TOKEN|PAT"
    r"|PRIVATE[_-]?KEY|CREDENTIALS?)(?:_V?[0-9]+)?$",
    re.IGNORECASE,
)
#: Names that end like a secret's and hold none: a count, a path, a switch, a reference.
_NO_SECRET: Final = re.compile(
    r"(?:^|[_.-])(?:MAX|NUM|N|PAD|EOS|BOS|UNK|SEP|MASK|STOP|IMAGE|SPECIAL|PER|CLS|START|END|USER|SYSTEM|CHAT|PATH)"
    r"[_-]?(?:[A-Z]+[_-])?TOKENS?$|_ID$|(?:^|_)SECRET_?NAME$",
    re.IGNORECASE,
)
#: Shapes of well-known credentials, wherever they stand.
_SHAPES: Final = re.compile(
    r"\b(?:AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}"
    r"|glpat-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{40,}|AIza[A-Za-z0-9_-]{35}"
    r"|dckr_pat_[A-Za-z0-9_-]{20,}|xox[baprs]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{32,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})"
    r"|hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b[a-z][a-z0-9+.-]*://[^/\s:@\"'$<{(]+:[^/\s:@\"'$<{(]{4,}@[a-zA-Z0-9]"
)
#: What stands for a value that comes from elsewhere, or for none.
_PLACEHOLDER: Final = re.compile(
    r"^(?:\$.*|<.*>|\{\{.*\}\}|\[.*\]|/.*|\.\.?/.*|true|false|[0-9]{1,4}|none|null|x{3,}|\*{3,}|\.{3})$"
    r"|^(?:change|replace|your|insert|todo|dummy|example|placeholder|redacted|fake|test)(?:$|[-_ ]|me)",
    re.IGNORECASE,
)
#: `NAME=value`, `export NAME="value"`, `--api-key=value`, `--api-key value`, `api_key: value` in commands and files.
_ASSIGNED: Final = re.compile(
    r"(?:^|[\s;&|\"'])(?:export\s+)?-{0,2}([A-Za-z][A-Za-z0-9_.-]*)(?:\s*[=:]\s*|\s+)[\"']?([^\s\"';&|]{12,})"
)
#: A long random number under the name of a key: what services give out.
_KEY: Final = re.compile(r"(?:^|[_.-])(?:KEY|AUTH|WEBHOOK)$", re.IGNORECASE)
_HEX: Final = re.compile(r"[0-9a-f]{32,64}|[0-9A-F]{32,64}")
_SHORTEST: Final = 8


def is_secret(name: str, value: str) -> bool:
    """Whether `value` under this name is a secret in the open; placeholders and references to others are none."""
    if placeholder(value):
        return False
    if has_credential(value):
        return True
    return (names_secret(name) and len(value) >= _SHORTEST) or bool(_KEY.search(name) and _HEX.fullmatch(value))


def placeholder(value: str) -> bool:
    """Whether a value is empty, refers to another or only shows where one is to be."""
    return not value or bool(_PLACEHOLDER.match(value))


def names_secret(name: str) -> bool:
    """Whether a variable, a key or a flag of this name holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _NO_SECRET.search(name)


def has_credential(text: str) -> bool:
    """Whether a well-known credential stands anywhere in `text`."""
    return bool(_SHAPES.search(text))


def assigned_secret(text: str) -> str:
    """The name under which a command or a file sets a secret; empty where it sets none. A value must look random
    (letters and digits), since in prose much follows the word "token"."""
    if has_credential(text):
        return "it"
    for match in _ASSIGNED.finditer(text):
        name, value = match[1], match[2]
        random = any(letter.isdigit() for letter in value) and value.isascii() and not value.startswith(("-", "http"))
        if random and names_secret(name) and not placeholder(value) and "(" not in value and "/" not in value:
            return name
    return ""
