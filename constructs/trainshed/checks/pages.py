"""The page of every code: of the rules from their docstrings and examples, of the rest from `fixed_pages`."""

from __future__ import annotations

from trainshed.checks import all_rules
from trainshed.checks.fixed_pages import FIXED
from trainshed.checks.page import Page
from trainshed.checks.rule import RULES


def pages() -> dict[str, Page]:
    """Every page by its code, sorted by family and code."""
    all_rules.load()
    found = [*FIXED, *(Page(rule.code, rule.severity, rule.family, rule.page) for rule in RULES.values())]
    return {page.code: page for page in sorted(found, key=lambda page: (page.family, page.code))}


def fixed_codes() -> frozenset[str]:
    """Codes that no rule function stands behind."""
    return frozenset(page.code for page in FIXED)
