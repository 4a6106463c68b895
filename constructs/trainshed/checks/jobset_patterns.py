"""Patterns in a JobSet's failure policy that can never match."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import items, mappings
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: What Perl's expressions have and RE2 does not (github.com/google/re2/wiki/Syntax).
_UNSUPPORTED: Final = (
    (re.compile(r"\(\?<?[=!]"), "looks ahead or behind"),
    (re.compile(r"\\[1-9]|\(\?P="), "refers back to a group"),
    (re.compile(r"\(\?>|[*+?}]\+"), "has an atomic or possessive part"),
    (re.compile(r"^[*+?]|(?<!\\)\|[*+?]"), "repeats nothing"),
)
_PLAIN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]", re.S)


@rule("jobset-message-pattern", severity="error", family="jobset", targets=("jobset",))
def message_pattern(fleet: Fleet) -> Iterator[Issue]:
    """A failure policy's message pattern is none that JobSet can read.

    Why: JobSet matches `onJobFailureMessagePatterns` by Go's regexp (RE2), which knows no lookarounds and no
    backreferences. A pattern that does not compile is not refused; its rule never matches, and the default action is
    taken.
    Fix: Write the pattern in RE2's syntax.
    """
    for document, start in _policies(fleet):
        for index, entry in mappings(document.manifest, *start, "rules"):
            for position, pattern in enumerate(items(entry, "onJobFailureMessagePatterns")):
                if isinstance(pattern, str) and (problem := _problem(pattern)):
                    path = (*start, "rules", index, "onJobFailureMessagePatterns", position)
                    message = f'pattern "{pattern}" {problem}, which RE2 does not know: the rule never matches'
                    yield Issue(document, path, message, "write it in the syntax of RE2")


def _policies(fleet: Fleet) -> Iterator[tuple[Document, Path]]:
    for document in fleet.of(("jobset.x-k8s.io", "JobSet")):
        yield document, ("spec", "failurePolicy")
    for kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
        for document in fleet.of(("trainer.kubeflow.org", kind)):
            yield document, ("spec", "template", "spec", "failurePolicy")


def _problem(pattern: str) -> str:
    bare = _PLAIN.sub(lambda match: match[0] if match[0][0] == "\\" and match[0][1:].isdigit() else "x", pattern)
    for expression, problem in _UNSUPPORTED:
        if expression.search(bare):
            return problem
    depth = 0
    for sign in bare:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            break
    return "has a bracket too many or too few" if depth or "[" in bare else ""
