"""One check: read, split into clusters, judge each object against its schema and each cluster against the rules."""

from __future__ import annotations

import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from trainshed.checks import all_rules, schema_core
from trainshed.checks.allow import Allowances
from trainshed.checks.baseline import Baseline, read_baseline
from trainshed.checks.counts import CheckCounts
from trainshed.checks.fleets import clusters, world_of
from trainshed.checks.nothing import NOTHING, nothing_checked
from trainshed.checks.options import CannotCheck, Options
from trainshed.checks.overrules import told_once
from trainshed.checks.pages import fixed_codes
from trainshed.checks.rule import RULES, Rule
from trainshed.checks.schema import SchemaPass
from trainshed.checks.schema_crds import CustomKinds, InputKinds
from trainshed.collector import collector_paused
from trainshed.faults import Place
from trainshed.fleet.document import Document, Identity
from trainshed.fleet.finding import Finding
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.kueue_v1beta1 import as_v1beta2
from trainshed.fleet.reading import Reading, read, read_rendered
from trainshed.fleet.source import Source


@dataclass
class Report:
    """What a check has found: `findings` as asked for, sorted; `documents` as read; the numbers."""

    findings: list[Finding]
    documents: list[Document]
    counts: CheckCounts
    unreadable: bool
    line: Callable[[Place], str]

    @property
    def exit_code(self) -> int:
        """0 nothing of severity error, 1 errors, 2 an input that cannot be read or that holds nothing to judge."""
        if self.unreadable or any(finding.code == NOTHING and finding.severity == "error" for finding in self.findings):
            return 2
        return int(any(finding.severity == "error" for finding in self.findings))


def check(
    paths: Sequence[str],
    options: Options,
    *,
    stdin: BinaryIO | None = None,
    baseline: str | None = None,
    on_source: Callable[[str], None] | None = None,
) -> Report:
    """Judges what `paths` hold; with `baseline` (a path or a Git revision), the change from there as well.

    Never raises on what the input contains. Raises CannotCheck when the options or the baseline cannot be used.
    """
    custom = _ready(options)
    with collector_paused():  # a fleet lives until its report is made
        reading = read(paths, stdin, on_source=on_source)
        before = read_baseline(baseline, paths, reading.documents) if baseline is not None else None
        return _Run(paths, options, reading, custom, before).report()


def check_rendered(items: Iterable[tuple[Source, dict[str, Any]]], options: Options) -> Report:
    """As `check`, of what our own writer has rendered and nobody has written to a disk yet. Nothing is no fault."""
    options = replace(options, ignore=(*options.ignore, NOTHING))
    custom = _ready(options)
    with collector_paused():  # a fleet lives until its report is made
        return _Run(("",), options, read_rendered(items), custom, None).report()


def _ready(options: Options) -> CustomKinds:
    all_rules.load()
    custom = CustomKinds(_definitions(options.crds), options.target.kubernetes)
    if options.target.kubernetes not in (releases := schema_core.releases()):
        raise CannotCheck(f"there are no schemas of Kubernetes {options.target.kubernetes}, only {', '.join(releases)}")
    return custom


def _definitions(paths: Sequence[str]) -> list[Document]:
    if not paths:
        return []
    reading = read(paths)
    if reading.unreadable:
        raise CannotCheck(f"--crds: {reading.findings[0].place} {reading.findings[0].message}")
    return reading.documents


class _Run:
    def __init__(
        self, paths: Sequence[str], options: Options, reading: Reading, custom: CustomKinds, before: Baseline | None
    ) -> None:
        self.paths = paths
        self.options = options
        self.reading = reading
        self.custom = custom
        self.before = before
        self.failed: set[str] = set()
        self.documents = [as_v1beta2(document) for document in reading.documents]
        self.world_of = world_of(self.documents)
        self.of_input = InputKinds(self.documents, self.world_of, options.target.kubernetes)
        self.schema = SchemaPass(options.target, custom, self.of_input, self._previous())

    def report(self) -> Report:
        """Everything that was found, less what was allowed or is not asked for."""
        found = list(dict.fromkeys(self._all()))
        allowances = Allowances(self.documents)
        kept = [finding for finding in found if not allowances.allows(finding)]
        allowed = len(found) - len(kept)
        kept.extend(allowances.findings({*RULES, *fixed_codes()}, self.options))
        shown = sorted(told_once(finding for finding in kept if self._shown(finding)))
        counts = self._counts(shown, allowed)
        return Report(shown, self.documents, counts, self.reading.unreadable, self._line)

    def _shown(self, finding: Finding) -> bool:
        if finding.code == NOTHING and finding.severity == "error":
            return not self.options.ignores(NOTHING)
        wanted = self.options.wants(finding.code) and self.options.shows(finding.severity)
        return wanted or finding.code == "unreadable"

    def _all(self) -> Iterator[Finding]:
        yield from self.reading.findings
        if not (self.before and self.before.documents):  # else what is gone is the change
            yield from nothing_checked(self.paths, self.reading)
        yield from self.reading.duplicates(self.world_of)
        for document in self.documents:
            if document.judged:
                yield from self._guarded("schema", self.schema.findings, document)
        yield from self._of_definitions()
        earlier = clusters(self.before.documents, self.before.world) if self.before else {}
        for name, documents in clusters(self.documents, self.world_of).items():
            baseline = None
            if self.before:
                alone = next(iter(earlier.values())) if len(earlier) == 1 else []
                baseline = Fleet(earlier.get(name, alone), target=self.options.target)
            fleet = Fleet(documents, target=self.options.target, baseline=baseline)
            for rule in RULES.values():
                if self.options.wants(rule.code) and not (rule.baseline and baseline is None):
                    yield from self._guarded(rule.code, _issues, rule, fleet)

    def _guarded(self, name: str, findings: Callable[..., Iterator[Finding]], *arguments: object) -> list[Finding]:
        """The findings, or one that says that `name` failed: a mistake of ours must not hide all the rest."""
        try:
            return list(findings(*arguments))
        except Exception as error:
            if os.environ.get("TRAINSHED_TRACEBACK"):
                traceback.print_exc(file=sys.stderr)
            if name in self.failed:
                return []
            self.failed.add(name)
            message = f"the rule {name} failed ({type(error).__name__}: {str(error)[:200]}); it judged nothing"
            fix = "report it with the input; TRAINSHED_TRACEBACK=1 shows where it failed"
            return [Finding("internal-error", "warning", message, fix)]

    def _of_definitions(self) -> Iterator[Finding]:
        """What the definitions of custom resources could not be used for."""
        for kind in (*self.custom.all, *self.of_input.all):
            if kind.broken and not kind.told:
                yield kind.finding
            for rule in sorted(kind.unevaluated):
                yield Finding("schema-rule-unevaluated", "info", f"a rule of a CRD could not be evaluated: {rule}")

    def _previous(self) -> Callable[[Document], Document | None]:
        known: dict[Identity, Document] = {item.identity: item for item in self.before.documents} if self.before else {}
        return lambda document: known.get(document.identity)

    def _line(self, place: Place) -> str:
        return self.reading.line(place)

    def _counts(self, shown: list[Finding], allowed: int) -> CheckCounts:
        severities = Counter(finding.severity for finding in shown)
        counts = self.reading.counts
        return CheckCounts(
            target=self.options.target,
            errors=severities["error"],
            warnings=severities["warning"],
            infos=severities["info"],
            allowed=allowed,
            files=counts.files,
            objects=counts.objects,
            unjudged=sum(not document.judged for document in self.documents),
            unknown=sum(self.schema.unknown_kinds.values()),
            unknown_kinds=dict(sorted(self.schema.unknown_kinds.items())),
            not_kubernetes=counts.not_kubernetes,
            skipped_files=counts.skipped_files,
            chart_templates=counts.chart_templates,
            internal_errors=len(self.failed),
        )


def _issues(rule: Rule, fleet: Fleet) -> Iterator[Finding]:
    for issue in rule.function(fleet):
        yield issue.finding(rule)
