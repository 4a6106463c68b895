"""A rule is a function from a fleet to issues, registered with a code, a severity and a page.

The page is the function's docstring: a summary line, then sections `Why:` and `Fix:`. Its examples are files:
`examples/CODE/bad.yaml`, which the rule reports, and `good.yaml`, which it does not. Tests run them;
`trainshed explain` and `docs/rules.md` print the page.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.checks.example_files import examples
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding, Severity
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

RuleFunction = Callable[["Fleet"], Iterator["Issue"]]
_SECTION: Final = re.compile(r"^(Why|Fix):[ ]?(.*)$")
_CODE: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


class Issue(NamedTuple):
    """What a rule has found in one document. `message` says what is wrong, `fix` what would be right, both without a
    full stop. `severity` replaces the rule's where an answer depends on what is not in the input. `related` names
    further documents and paths that the message speaks of."""

    document: Document
    path: Path
    message: str
    fix: str = ""
    severity: Severity | None = None
    related: tuple[tuple[str, Document, Path], ...] = ()

    def finding(self, rule: Rule) -> Finding:
        """The issue as a finding of `rule`, with places."""
        related = tuple((label, document.place(path)) for label, document, path in self.related)
        return self.document.finding(
            rule.code, self.severity or rule.severity, self.message, self.fix, self.path, related
        )


@dataclass(frozen=True)
class Rule:
    """A registered rule. `family` groups rules for people; `targets` are the systems whose versions it depends on."""

    code: str
    severity: Severity
    family: str
    function: RuleFunction
    targets: tuple[str, ...] = ()
    baseline: bool = False

    @cached_property
    def page(self) -> dict[str, str]:
        """Sections: `Summary`, `Why`, `Fix`, and of files `Bad`, `Good`, `Baseline`; absent ones are missing."""
        sections: dict[str, list[str]] = {"Summary": []}
        current = "Summary"
        for line in inspect.cleandoc(self.function.__doc__ or "").splitlines():
            if match := _SECTION.match(line):
                current = match[1]
                sections[current] = [match[2]]
            else:
                sections[current].append(line)
        told = {name: textwrap.dedent("\n".join(lines)).strip() for name, lines in sections.items()}
        return told | examples(self.code)


RULES: Final[dict[str, Rule]] = {}


def rule(
    code: str, *, severity: Severity, family: str, targets: tuple[str, ...] = (), baseline: bool = False
) -> Callable[[RuleFunction], RuleFunction]:
    """Registers a rule function under a stable, unique, kebab-case `code`. `baseline` rules judge a change: they run
    only when `fleet.baseline` is there. Raises ValueError for a code that is taken or ill-formed."""

    def register(function: RuleFunction) -> RuleFunction:
        if code in RULES or not _CODE.fullmatch(code):
            raise ValueError(f"rule code {code!r} is taken or not kebab-case")
        RULES[code] = Rule(code, severity, family, function, targets, baseline)
        return function

    return register
