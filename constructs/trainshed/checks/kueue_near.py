"""When one name is likely a misspelling of another, and not the next of a series (`team-a`, `team-b`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_SHORTEST: Final = 4
_WORDS: Final = re.compile(r"[-_.]+")


def near_miss(name: str, known: Iterable[str]) -> str:
    """The known name that `name` likely was to be; empty when none is that close, or when they differ as members of
    a series do: in a number, in a word of its own, in a short word."""
    return next((other for other in known if other != name and misspelt(name, other)), "")


def misspelt(name: str, other: str) -> bool:
    """Whether two names differ by a slip of the keyboard: letter case, a separator, or one or two letters of a word."""
    if name == other:
        return False
    if _folded(name) == _folded(other):
        return True
    if abs(len(name) - len(other)) > 2 or re.sub(r"\D", "", name) != re.sub(r"\D", "", other):
        return False
    words, others = _WORDS.split(name.lower()), _WORDS.split(other.lower())
    if len(words) != len(others):
        return False
    differing = [(word, meant) for word, meant in zip(words, others, strict=True) if word != meant]
    if len(differing) != 1:
        return False
    word, meant = differing[0]
    if min(len(word), len(meant)) < _SHORTEST:
        return False
    return _distance(word, meant) <= (1 if min(len(word), len(meant)) < 6 else 2)


def _folded(name: str) -> str:
    return _WORDS.sub("", name.lower())


def _distance(word: str, other: str) -> int:
    """Letters to insert, delete, replace or swap with a neighbour (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        two_before, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                cost = min(cost, two_before[j - 2] + 1)
            row.append(cost)
    return row[-1]
