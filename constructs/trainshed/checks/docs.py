"""Writes docs/rules.md from the pages of all codes: `python -m trainshed.checks.docs docs/rules.md`."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from trainshed.checks.page import Page
from trainshed.checks.pages import pages

_HEAD = """\
# What `trainshed check` finds

Generated from the rules by `make rules`; do not edit. `trainshed explain CODE` prints one page.

An object allows a code with the annotation `trainshed.dev/allow: code[, code]`; an allowance that nothing needs any
more is reported. `--select` and `--ignore` take codes, or their first words: `--ignore kueue-topology` means every
`kueue-topology-…`.
"""


def rules_page() -> str:
    """docs/rules.md: a table of all codes, then one section for each."""
    found = list(pages().values())
    parts = [_HEAD]
    for family, group in groupby(found, key=lambda page: page.family):
        rows = [f"| [`{page.code}`](#{page.code}) | {page.severity} | {_cell(page.summary)} |" for page in group]
        parts.append("\n".join([f"**{family}**\n", "| code | severity | what |", "| --- | --- | --- |", *rows]) + "\n")
    parts.extend(_section(page) for page in found)
    return "\n".join(parts)


def _section(page: Page) -> str:
    return f"{page.markdown(level=2)}\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(rules_page(), encoding="utf-8")
