"""Nearest names: the same answers from an index as from a walk through all names, and cheap among many."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.spelling import Names, distance, misspelt, near_miss, nearest

WORDS = st.sampled_from(["research", "reserach", "vision", "vison", "team", "tema", "gpu", "h100", "h10", "a", "b"])
NAMES = st.lists(WORDS, min_size=1, max_size=3).map("-".join)


@given(NAMES, st.lists(NAMES, max_size=20))
def test_the_index_finds_what_a_walk_finds(name: str, known: list[str]) -> None:
    assert near_miss(name, Names(known)) == near_miss(name, known)


@given(st.text("ab-1", max_size=8), st.lists(st.text("ab-1", max_size=8), max_size=40))
@settings(max_examples=200)
def test_of_few_names_the_nearest_is_the_same_either_way(word: str, known: list[str]) -> None:
    assert nearest(word, Names(known)) == nearest(word, known)


@pytest.mark.parametrize(
    ("name", "other", "slip"),
    [
        ("research", "reserach", True),
        ("team-a", "team-b", False),
        ("gpu-1", "gpu-2", False),
        ("GPU-queue", "gpu-queue", True),
        ("gpu_queue", "gpu-queue", True),
        ("vision", "vision", False),
        ("a" * 400, "a" * 401, False),
    ],
)
def test_a_slip_is_no_next_member_of_a_series(name: str, other: str, slip: bool) -> None:
    assert misspelt(name, other) == slip


@pytest.mark.parametrize(
    ("word", "other", "letters"), [("ab", "ba", 1), ("abc", "abd", 1), ("abc", "abcd", 1), ("", "ab", 2), ("a", "a", 0)]
)
def test_distance_counts_a_swap_as_one(word: str, other: str, letters: int) -> None:
    assert distance(word, other) == letters


def letters(number: int) -> str:
    """Five letters, another for each number."""
    return "".join(chr(97 + number // 26**place % 26) for place in range(5))


def test_in_a_crowd_one_letter_is_a_slip_and_two_are_another_name() -> None:
    known = Names(["lab-quarterly", *(f"lab-{letters(number * 7919)}" for number in range(1, 500))])
    assert near_miss("lab-quaterly", known) == "lab-quarterly"
    assert near_miss("lab-quartely", known) == "lab-quarterly"
    assert near_miss("lab-quately", known) == ""


def test_among_many_names_those_that_begin_or_end_alike_are_compared() -> None:
    known = Names([*(f"{letters(number * 7919)}-pool" for number in range(5000)), "h100-sxm", "Research"])
    assert nearest("h100-smx", known) == 'did you mean "h100-sxm"?'
    assert nearest("research", known) == 'did you mean "Research"?'
    assert nearest("g100-sxm", known) == 'did you mean "h100-sxm"?'


def test_ten_thousand_questions_among_ten_thousand_names_take_seconds_at_most() -> None:
    known = Names(f"tenant-{letters(number * 7919)}" for number in range(10_000))
    started = time.process_time()
    for number in range(10_000):
        near_miss(f"tenant-{letters(number * 7919 + 3)}x", known)
        nearest(f"tenant-{letters(number * 7919 + 5)}", known)
    assert time.process_time() - started < 6  # a walk through all names would take half an hour


def test_texts_that_are_no_names_are_not_compared() -> None:
    text = "a" * 200_000
    started = time.process_time()
    assert near_miss(text, Names([text + "b"])) == nearest(text, Names([text + "b"])) == ""
    assert nearest(text, [text + "b"]) == ""
    assert time.process_time() - started < 1
