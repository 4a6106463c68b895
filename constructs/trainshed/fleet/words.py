"""Values as far as a manifest tells them: text with gaps where a variable or a command's output goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Ref:
    """A gap: the variable `name` (empty for what a command prints), as it is written in `text`. `source` says where
    the value comes from, where that is known: a fieldRef's path, `secret`, `controller`, `command`."""

    name: str
    text: str
    source: str = ""


Word = tuple[str | Ref, ...]

_KUBERNETES: Final = re.compile(r"\$(\$|\(([^)]*)\))")
#: Values that a pod does not share with the others of its run.
_OWN: Final = ("metadata.name", "metadata.uid", "status.podIP", "status.podIPs", "status.hostIP", "spec.nodeName")
_OWN_NAMES: Final = frozenset(
    {"RANDOM", "SRANDOM", "HOSTNAME", "BASHPID", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "JOB_COMPLETION_INDEX"}
)
_OWN_COMMANDS: Final = re.compile(
    r"\b(?:uuidgen|hostname|date|mktemp|openssl\s+rand|shuf|urandom|random|\$RANDOM)\b|/uuid\b"
)


def literal(word: Word | None) -> str | None:
    """The text of a word without gaps; None where it has any."""
    if word is None or not all(part.__class__ is str for part in word):
        return None
    return "".join(part for part in word if isinstance(part, str))


def shown(word: Word) -> str:
    """The word as a person wrote it."""
    return "".join(part if isinstance(part, str) else part.text for part in word)


def number(word: Word | None) -> int | None:
    """The whole number that a word is; None where it is none, or not known."""
    text = literal(word)
    return int(text) if text and len(text) < 10 and text.isascii() and text.isdigit() else None


def refs(word: Word) -> list[Ref]:
    """The gaps of a word."""
    return [part for part in word if isinstance(part, Ref)]


def joined(parts: Iterable[str | Ref]) -> Word:
    """A word of these parts, neighbouring texts put together."""
    out: list[str | Ref] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        elif part != "":
            out.append(part)
    return tuple(out)


def split(word: Word, separator: str) -> tuple[Word, Word] | None:
    """The word before and after the last `separator` in its text; None where there is none."""
    for index in range(len(word) - 1, -1, -1):
        part = word[index]
        if isinstance(part, str) and separator in part:
            before, _, after = part.rpartition(separator)
            return joined([*word[:index], before]), joined([after, *word[index + 1 :]])
    return None


def own_to_pod(ref: Ref) -> bool:
    """Whether the value differs from pod to pod, or from one start to the next."""
    if ref.source == "command":
        return bool(_OWN_COMMANDS.search(ref.text))
    return ref.name in _OWN_NAMES or ref.source in _OWN or "completion-index" in ref.source


def expand(text: str, variables: Mapping[str, Word], missing: Callable[[str], None] | None = None) -> Word:
    """`$(NAME)` as Kubernetes puts values in (k8s.io/kubernetes `third_party/forked/golang/expansion`): unknown names
    stay as they are and go to `missing`; `$$` is one dollar sign."""
    parts: list[str | Ref] = []
    end = 0
    for match in _KUBERNETES.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        if match[1] == "$":
            parts.append("$")
        elif match[2] in variables:
            parts.extend(variables[match[2]])
        else:
            parts.append(match[0])
            if missing is not None:
                missing(match[2])
    parts.append(text[end:])
    return joined(parts)
