"""One table of exit codes; needs no torch."""

from __future__ import annotations

from pathlib import Path

from trainer import exits


def test_codes_are_unique_and_in_order() -> None:
    codes = [entry.code for entry in exits.TABLE]
    assert codes == sorted(set(codes))
    assert all(0 <= code <= 255 for code in codes)


def test_names_are_unique() -> None:
    assert len({entry.name for entry in exits.TABLE}) == len(exits.TABLE)


def test_preemption_never_counts_against_the_restart_budget() -> None:
    for code in (exits.PREEMPTED, exits.PREEMPTED_UNSAVED):
        assert exits.BY_CODE[code].jobset == "RestartJobSetAndIgnoreMaxRestarts"
        assert exits.BY_CODE[code].job == "FailJob", "a failure must reach the JobSet, or the gang is never whole again"


def test_what_no_restart_can_heal_fails_the_jobset() -> None:
    fatal = {entry.code for entry in exits.TABLE if entry.jobset == "FailJobSet"}
    assert fatal == {exits.USAGE, exits.DATA, exits.CONFIG, exits.DIVERGED}


def test_death_by_signal_reads_as_in_a_shell() -> None:
    assert exits.from_wait_status(-9) == exits.KILLED
    assert exits.from_wait_status(-15) == exits.TERMINATED
    assert exits.from_wait_status(75) == 75


def test_only_success_is_zero() -> None:
    assert [entry.name for entry in exits.TABLE if entry.code == 0] == ["finished"]


def test_the_page_has_the_same_table(root: Path) -> None:
    page = (root / "docs/trainer.md").read_text()
    for entry in exits.TABLE:
        assert f"| {entry.code} | {entry.name} | {entry.meaning} | {entry.job} | {entry.jobset} |" in page
