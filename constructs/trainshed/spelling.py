"""Which known name a misspelt one likely was to be; cheap also among ten thousand names.

Two questions: `nearest` proposes the most similar name, however sure that something is wrong; `near_miss` says whether
a name that may exist elsewhere is likely a slip, and not the next of a series (`team-a`, `team-b`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Final

_SHORTEST: Final = 4
_WORDS: Final = re.compile(r"[-_.]+")
#: Longer texts are no names, and comparing them letter by letter would take for ever.
_LONGEST: Final = 317
_MOST_WORDS: Final = 40
_DIGITS: Final = re.compile(r"[0-9]+")
#: What generators put behind a name: cdk8s a hash of the construct's path, kustomize (hasher.go) one of the content.
_HASH: Final = re.compile(r"-(?:c8[0-9a-f]{6}|[2456789bcdfghkmt]{10})$")
#: Above this number of names only those that begin or end alike are compared, `_BESIDE` of each side.
_FEW: Final = 64
_BESIDE: Final = 16
#: So many proposals are sought among one set of names. Who has more wrong names has one mistake, not as many slips.
_SEARCHES: Final = 200
#: In larger crowds of names that differ in one word, only one letter may be wrong: two are the next of a series.
_CROWD: Final = 48


class Names(tuple[str, ...]):
    """Known names, indexed on first use: for many questions about the same names. `in` takes constant time."""

    def __contains__(self, name: object) -> bool:
        return name in self._set

    @cached_property
    def _set(self) -> frozenset[str]:
        return frozenset(self)

    @cached_property
    def in_order(self) -> tuple[str, ...]:
        """Each name once, sorted."""
        return tuple(sorted(self._set))

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self._set:
            found.setdefault(_HASH.sub("", name), []).append(name)
        return found

    def rehashed(self, name: str) -> str:
        """The one known name that differs from `name` in its generated hash only, or in having one; else empty."""
        found = self._by_stem.get(_HASH.sub("", name), [])
        return found[0] if len(found) == 1 and found[0] != name else ""

    @cached_property
    def _index(self) -> _Index:
        return _Index(self)

    @cached_property
    def _sides(self) -> tuple[list[str], list[str]]:
        """The names in order of their beginnings, and spelt backwards in order of their ends; all in lower case."""
        lowered = {name.lower() for name in self}
        return sorted(lowered), sorted(name[::-1] for name in lowered)

    @cached_property
    def _by_lower(self) -> dict[str, str]:
        return {name.lower(): name for name in self}

    @cached_property
    def _answers(self) -> dict[str, str]:
        return {}

    def near_miss(self, name: str) -> str:
        """The known name that `name` likely was to be; empty when none is that close."""
        return self._index.near_miss(name)

    def closest(self, word: str) -> str:
        """The known name most similar to `word`, or an empty string when none is similar."""
        answers = self._answers
        if word not in answers:
            if len(answers) >= _SEARCHES:
                return self._by_lower.get(word.lower(), "")
            answers[word] = self._closest(word)
        return answers[word]

    def _closest(self, word: str) -> str:
        if len(self) <= _FEW:
            return _closest(word, self)
        lowered = word.lower()
        candidates = {self._by_lower[near] for near in self._beside(lowered)}
        if near := self._index.near_miss(word):
            candidates.add(near)
        return _closest(word, sorted(candidates))

    def _beside(self, word: str) -> Iterator[str]:
        ahead, behind = self._sides
        at = bisect_left(ahead, word)
        yield from ahead[max(0, at - _BESIDE) : at + _BESIDE]
        at = bisect_left(behind, word[::-1])
        yield from (name[::-1] for name in behind[max(0, at - _BESIDE) : at + _BESIDE])


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean "…"?` for the known word closest to `word`, or an empty string when none is close."""
    near = known.closest(word) if isinstance(known, Names) else _cached(word, tuple(known))
    return f'did you mean "{near}"?' if near else ""


@lru_cache(4096)
def _cached(word: str, choices: tuple[str, ...]) -> str:
    return _closest(word, choices)


def _closest(word: str, choices: Iterable[str]) -> str:
    if len(word) > _LONGEST:
        return ""
    from difflib import get_close_matches  # not needed where every name is right

    choices = list(choices)
    matches = get_close_matches(word, choices, n=1, cutoff=0.6)
    if not matches:
        lowered = {choice.lower(): choice for choice in choices}
        matches = [lowered[m] for m in get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)]
    return matches[0] if matches else ""


def near_miss(name: str, known: Iterable[str]) -> str:
    """The known name that `name` likely was to be; empty when none is that close, or when they differ as members of
    a series do: in a number, in a word of its own, in a short word."""
    if isinstance(known, Names):
        return known.near_miss(name)
    return next((other for other in known if other != name and misspelt(name, other)), "")


def misspelt(name: str, other: str) -> bool:
    """Whether two names differ by a slip of the keyboard: letter case, a separator, or one or two letters of a word."""
    if name == other:
        return False
    if _folded(name) == _folded(other):
        return True
    if abs(len(name) - len(other)) > 2 or len(name) > _LONGEST or _digits(name) != _digits(other):
        return False
    words, others = _WORDS.split(name.lower()), _WORDS.split(other.lower())
    if len(words) != len(others):
        return False
    differing = [(word, meant) for word, meant in zip(words, others, strict=True) if word != meant]
    return len(differing) == 1 and _slip(*differing[0])


def _slip(word: str, meant: str) -> bool:
    shorter = min(len(word), len(meant))
    return shorter >= _SHORTEST and distance(word, meant) <= (1 if shorter < 6 else 2)


def short_slip(name: str, known: Iterable[str]) -> str:
    """The known word of three letters or so that `name` likely was to be, where `near_miss` leaves such words alone:
    one letter too many or too few, two swapped, or another one behind the same beginning (`lba`, but not `gpu` for
    `cpu`). Only for words that have no meaning unless somebody else writes them as well."""
    if not 3 <= len(name) <= _SHORTEST:
        return ""
    return next((other for other in known if _short(name.lower(), other.lower())), "")


def _short(word: str, other: str) -> bool:
    if word == other or not (word.isalpha() and other.isalpha()) or not 3 <= min(len(word), len(other)) < _SHORTEST:
        return False
    if abs(len(word) - len(other)) > 1 or distance(word, other) != 1:
        return False
    return sorted(word) == sorted(other) or word[0] == other[0]


class _Index:
    """Names by what a misspelling leaves as it is: all letters, or all words but one and the digits."""

    def __init__(self, names: Iterable[str]) -> None:
        self._folded: dict[str, list[str]] = {}
        self._but_one: dict[tuple[object, ...], _Crowd] = {}
        self._order: dict[str, int] = {}
        for name in names:
            if name not in self._order:
                self._order[name] = len(self._order)
                self._folded.setdefault(_folded(name), []).append(name)
                for key, word in _keys(name):
                    self._but_one.setdefault(key, _Crowd()).members.append((word, name))

    def near_miss(self, name: str) -> str:
        """The first of the names that `misspelt` finds, but for names of a crowd that are two letters away."""
        found = {other for other in self._folded.get(_folded(name), ()) if other != name}
        for key, word in _keys(name):
            if crowd := self._but_one.get(key):
                found.update(crowd.like(word, name))
        return min(found, key=self._order.__getitem__, default="")


class _Crowd:
    """Names that have all words in common but one."""

    def __init__(self) -> None:
        self.members: list[tuple[str, str]] = []
        self._by_shape: dict[str, list[tuple[str, str]]] | None = None

    def like(self, word: str, name: str) -> Iterator[str]:
        """The members that `name`, which has `word` for theirs, may be a slip of."""
        if len(self.members) <= _CROWD:
            yield from (other for _, other in self.members if misspelt(name, other))
            return
        if self._by_shape is None:
            self._by_shape = {}
            for member in self.members:
                for shape in _shapes(member[0]):
                    self._by_shape.setdefault(shape, []).append(member)
        for shape in _shapes(word):
            for meant, other in self._by_shape.get(shape, ()):
                if other != name and min(len(word), len(meant)) >= _SHORTEST and distance(word, meant) == 1:
                    yield other


def _keys(name: str) -> Iterator[tuple[tuple[object, ...], str]]:
    """For each word of a name: everything that stays when that word is misspelt, and the word."""
    words, digits = _WORDS.split(name.lower()), _digits(name)
    if len(words) > _MOST_WORDS or len(name) > _LONGEST:
        return
    for at, word in enumerate(words):
        yield (at, digits, *words[:at], *words[at + 1 :]), word


def _shapes(word: str) -> set[str]:
    """The word, and without each of its letters: words that are one slip apart have one of these in common."""
    return {word} | {word[:at] + word[at + 1 :] for at in range(min(len(word), 64))}


def _folded(name: str) -> str:
    return _WORDS.sub("", name.lower())


def _digits(name: str) -> str:
    return "".join(_DIGITS.findall(name))


def distance(word: str, other: str) -> int:
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
