"""Pages name only what exists: files, links, make targets, commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import Page, named_paths
from trainshed.cli import main

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "constructs" / "trainshed"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Written by commands, so a fresh clone has none of them.
MADE = ("build/", ".venv/", ".cdk8s/")
#: Named because it must not be there.
ABSENT = {"constructs/__init__.py"}


@pytest.fixture(params=PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def page(request: pytest.FixtureRequest) -> Page:
    return Page.read(request.param)


def test_every_path_named_exists(page: Page) -> None:
    missing = {
        path
        for path in named_paths(page)
        if not path.startswith(MADE) and not any((base / path).exists() for base in (ROOT, LIBRARY))
    }

    assert missing <= ABSENT


def test_every_link_leads_somewhere(page: Page) -> None:
    assert {link for link in page.links if not (page.path.parent / link).exists()} == set()


def test_every_make_target_named_exists(page: Page) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    named = {match[1] for line in page.commands if (match := re.match(r"make ([a-z-]+)$", line))}

    assert named <= targets


def test_every_command_named_exists(page: Page) -> None:
    named = {match[1] for line in page.commands for match in re.finditer(r"(?:^|&& )trainshed ([a-z]+)", line)}

    assert named <= set(main.commands)


def test_help_lists_every_target_that_a_person_may_call() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.M)
    listed = set(re.findall(r"^([a-z-]+):.*## \S", makefile, re.M))

    assert phony is not None
    assert set(phony[1].split()) == listed


def test_decisions_are_numbered_and_listed() -> None:
    """Each record is in the list, each number is used once."""
    folder = ROOT / "docs" / "decisions"
    records = sorted(path.name for path in folder.glob("[0-9]*.md"))
    numbers = [name[:4] for name in records]

    assert len(set(numbers)) == len(numbers)
    assert set(records) <= Page.read(folder / "README.md").links
