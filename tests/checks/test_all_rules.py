"""The list of rule modules is complete, every code has a page, and docs/rules.md is what the rules say."""

from __future__ import annotations

import re
from pathlib import Path

from trainshed.checks import all_rules
from trainshed.checks.docs import rules_page
from trainshed.checks.fixed_pages import FIXED
from trainshed.checks.pages import pages
from trainshed.checks.rule import RULES

PACKAGE = Path(all_rules.__file__).parent
CODE = re.compile(r'"((?:yaml|schema|allow|template-not|sops|argocd-skipped|not-an|missing|duplicate)(?:-[a-z0-9]+)+)"')


def test_every_module_that_registers_rules_is_listed() -> None:
    registering = {path.stem for path in PACKAGE.glob("*.py") if re.search(r"^@rule\(", path.read_text(), re.M)}
    assert registering == set(all_rules.MODULES)
    assert list(all_rules.MODULES) == sorted(all_rules.MODULES)


def test_no_code_is_used_twice() -> None:
    all_rules.load()
    fixed = [page.code for page in FIXED]
    assert len(set(fixed)) == len(fixed)
    assert not set(fixed) & RULES.keys()


def test_every_code_that_the_reader_and_the_engine_write_has_a_page() -> None:
    sources = [*PACKAGE.parent.joinpath("fleet").glob("*.py"), *PACKAGE.glob("schema*.py"), PACKAGE / "allow.py"]
    written = {code for path in [*sources, PACKAGE / "versions.py"] for code in CODE.findall(path.read_text())}
    assert len(written) > 20
    assert written <= pages().keys()


def test_the_page_of_all_rules_is_current(root: Path) -> None:
    assert (root / "docs" / "rules.md").read_text(encoding="utf-8") == rules_page(), "run `make rules`"
