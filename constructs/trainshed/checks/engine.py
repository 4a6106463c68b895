"""One check: read, split into clusters, judge each object against its schema and each cluster against the rules."""

from __future__ import annotations

import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from trainshed.checks import all_rules
from trainshed.checks.allow import Allowances
from trainshed.checks.fleets import clusters, world_of
from trainshed.checks.options import Options
from trainshed.checks.rule import RULES, Rule
from trainshed.checks.schema import schema_findings
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import Reading, read


@dataclass
class Report:
    """What a check has found: `findings` as asked for, sorted; `summary` for people and programs."""

    findings: list[Finding]
    reading: Reading
    summary: dict[str, object] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 nothing of severity error, 1 errors, 2 an input that cannot be read."""
        if self.reading.unreadable:
            return 2
        return int(any(finding.severity == "error" for finding in self.findings))


def check(
    paths: Sequence[str],
    options: Options,
    *,
    stdin: BinaryIO | None = None,
    baseline: Sequence[str] = (),
    on_source: Callable[[str], None] | None = None,
) -> Report:
    """Judges what `paths` hold; with `baseline`, the change from there as well. Never raises on what they contain."""
    all_rules.load()
    reading = read(paths, stdin, on_source=on_source)
    run = _Run(options)
    before = read(baseline).documents if baseline else None
    found = run.judge(reading, before)
    allowances = Allowances(reading.documents)
    kept = [finding for finding in found if not allowances.allows(finding)]
    kept.extend(allowances.findings(RULES, options))
    shown = sorted(
        finding
        for finding in dict.fromkeys(kept)
        if finding.code == "unreadable" or (options.wants(finding.code) and options.shows(finding.severity))
    )
    return Report(shown, reading, run.summary(reading, shown, allowed=len(found) - len(kept)))


class _Run:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.failed: set[str] = set()

    def judge(self, reading: Reading, before: list[Document] | None) -> list[Finding]:
        """All findings, unsorted, before allowances and filters."""
        found = list(reading.findings)
        world = world_of(reading.documents)
        found.extend(reading.duplicates(world))
        whole = Fleet(reading.documents, target=self.options.target)
        for document in reading.documents:
            if document.judged:
                found.extend(schema_findings(whole, document))
        earlier = clusters(before, world_of(before)) if before is not None else {}
        for name, documents in clusters(reading.documents, world).items():
            baseline = None
            if before is not None:
                old = next(iter(earlier.values())) if len(earlier) == 1 else earlier.get(name, [])
                baseline = Fleet(old, target=self.options.target)
            fleet = Fleet(documents, target=self.options.target, baseline=baseline)
            for rule in RULES.values():
                if self.options.wants(rule.code) and not (rule.baseline and baseline is None):
                    found.extend(self._apply(rule, fleet))
        return found

    def _apply(self, rule: Rule, fleet: Fleet) -> Iterator[Finding]:
        try:
            yield from [issue.finding(rule) for issue in rule.function(fleet)]
        except Exception as error:
            if os.environ.get("TRAINSHED_TRACEBACK"):
                traceback.print_exc(file=sys.stderr)
            if rule.code not in self.failed:
                self.failed.add(rule.code)
                message = f"the rule {rule.code} failed ({type(error).__name__}: {error}), so nothing was judged by it"
                fix = "report it with the input; TRAINSHED_TRACEBACK=1 shows where it failed"
                yield Finding("internal-error", "warning", message, fix)

    def summary(self, reading: Reading, shown: list[Finding], allowed: int) -> dict[str, object]:
        """Counts for the report."""
        by_severity = Counter(finding.severity for finding in shown)
        return {
            "errors": by_severity["error"],
            "warnings": by_severity["warning"],
            "infos": by_severity["info"],
            "allowed": allowed,
            "files": reading.counts.files,
            "objects": reading.counts.objects,
            "unjudged": sum(not document.judged for document in reading.documents),
            "internalErrors": len(self.failed),
        }
