"""Every rule's page is complete, and its examples are what the rule says they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from trainshed.checks import all_rules
from trainshed.checks.engine import check
from trainshed.checks.example_files import FOLDER, path_of
from trainshed.checks.options import Options
from trainshed.checks.rule import RULES, Rule

all_rules.load()

EVERY = pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)


def codes(rule: Rule, section: str, folder: Path) -> set[str]:
    """The codes that a check of one of the rule's examples gives."""
    example, before = path_of(rule.code, section), path_of(rule.code, "Baseline")
    assert example
    copy = folder / example.name  # its place in this repository is none of its own
    (shutil.copytree if example.is_dir() else shutil.copyfile)(example, copy)
    report = check([str(copy)], Options(), baseline=str(before) if before else None)
    return {finding.code for finding in report.findings}


def test_every_folder_of_examples_belongs_to_a_rule() -> None:
    assert {folder.name for folder in FOLDER.iterdir()} == RULES.keys()


@EVERY
def test_the_page_says_what_why_and_how_to_mend_it(rule: Rule) -> None:
    assert {"Summary", "Why", "Fix", "Bad", "Good"} <= rule.page.keys()
    assert all(rule.page.values())
    assert "\n\n" not in rule.page["Summary"], "the summary is one sentence"
    assert ("Baseline" in rule.page) == rule.baseline


@EVERY
def test_the_bad_example_is_reported(rule: Rule, tmp_path: Path) -> None:
    assert rule.code in codes(rule, "Bad", tmp_path)


@EVERY
def test_the_good_example_is_not(rule: Rule, tmp_path: Path) -> None:
    found = codes(rule, "Good", tmp_path)
    assert rule.code not in found
    assert "internal-error" not in found
