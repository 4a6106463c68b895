"""Faults: told in the order of their places, once each, in one form."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trainshed.faults import Fault, Faults, Place, frame_place, nearest, printable, shown_path


def test_a_fault_reads_place_subject_message_fix() -> None:
    fault = Fault('unknown pool "h10"', 'Tenant "high"', "borrow.h10", 'did you mean "h100"?', Place("a.yaml", 3, 5))
    assert str(fault) == 'a.yaml:3:5: Tenant "high", borrow.h10: unknown pool "h10"; did you mean "h100"?'


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault("wrong"), "wrong"),
        (Fault("wrong", fix="write 1"), "wrong; write 1"),
        (Fault("wrong", "Queue"), "Queue: wrong"),
        (Fault("wrong", field="a.b"), "a.b: wrong"),
        (Fault("wrong", place=Place("f")), "f: wrong"),
        (Fault("wrong", place=Place("f", 2)), "f:2: wrong"),
        (Fault("wrong", place=Place("f", 0, 7)), "f: wrong"),
    ],
)
def test_what_is_unknown_is_left_out(fault: Fault, text: str) -> None:
    assert str(fault) == text


def test_faults_are_sorted_by_place_and_told_once() -> None:
    late, early, nowhere = (
        Fault("b", place=Place("x", 10, 1)),
        Fault("z", place=Place("x", 9, 2)),
        Fault("a"),
    )
    faults = Faults([late, early, nowhere, late])
    assert faults.faults == (nowhere, early, late)
    assert str(faults) == "a\nx:9:2: z\nx:10:1: b"


def test_faults_at_one_place_keep_their_order() -> None:
    place = Place("x", 1)
    assert [f.message for f in Faults([Fault("b", place=place), Fault("a", place=place)]).faults] == ["b", "a"]


def test_at_fills_in_only_what_is_missing() -> None:
    here, there = Place("here", 1), Place("there", 2)
    assert Fault("wrong").at(here, "Queue") == Fault("wrong", "Queue", place=here)
    assert Fault("wrong", "Job", place=there).at(here, "Queue") == Fault("wrong", "Job", place=there)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("namspaces", 'did you mean "namespaces"?'),
        ("NAMESPACES", 'did you mean "namespaces"?'),
        ("clusterqueue", 'did you mean "clusterQueue"?'),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_the_nearest_word(word: str, told: str) -> None:
    assert nearest(word, ["namespaces", "clusterQueue", "borrow"]) == told


def test_the_nearest_of_nothing() -> None:
    assert nearest("word", []) == ""


def test_paths_are_shown_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "stacks" / "lab.py"
    outside = tmp_path.parent / "elsewhere.py"
    monkeypatch.chdir(tmp_path)
    assert shown_path(str(inside)) == str(Path("stacks", "lab.py"))
    assert shown_path(str(outside)) == str(outside)
    assert shown_path("stacks/lab.py") == "stacks/lab.py"


def where() -> Place:
    return frame_place(sys._getframe(1))


def test_a_frame_knows_the_column_of_its_call() -> None:
    line = sys._getframe().f_lineno
    first, second = where(), where()
    assert (first.file, first.line, second.line) == (__file__, line + 1, line + 1)
    assert (first.column, second.column) == (21, 30)


def test_a_call_over_many_lines_stands_where_it_begins() -> None:
    line = sys._getframe().f_lineno
    place = max(
        where(),
        Place(""),
    )
    assert (place.line, place.column) == (line + 2, 9)


@pytest.mark.parametrize("char", ["\n", "\r", "\x1b", "\x00", "\x7f", "\x85", "\x9b", "\u2028", "\u202e", "\ud800"])
def test_a_fault_is_one_line_that_no_name_can_break(char: str) -> None:
    wild = f"a{char}::error::b"
    told = str(Fault(wild, wild, wild, wild, Place(wild, 1, 2)))
    assert char not in told
    assert told.isprintable()
    assert told.count("::error::b") == 5


def test_letters_of_all_scripts_stay_readable() -> None:
    text = "Größe 日本 \u00a0 अर\u200dथ 👩\u200d🔬 \\n"
    assert printable(text) == text
    assert printable("a\nb\x1b[0m") == "a\\nb\\x1b[0m"
