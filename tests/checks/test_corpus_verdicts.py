"""Upstream's samples and the cases with verdict ok get no finding, save those that are written down with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.checks.corpus_verdicts import VERDICTS
from trainshed.checks.engine import check
from trainshed.checks.options import Options
from trainshed.fleet.finding import Finding

TABLES = ("SOURCE.md", "INDEX.md")


def judged(path: Path, baseline: Path | None = None) -> list[Finding]:
    """The errors and warnings of one file, checked alone."""
    report = check([str(path)], Options(severity="warning"), baseline=str(baseline) if baseline else None)
    return report.findings


def samples(shared: Path) -> dict[str, Path]:
    """Every file of the corpus, by its path in it."""
    corpus = shared / "corpus"
    files = (path for path in sorted(corpus.rglob("*")) if path.is_file() and path.name not in TABLES)
    return {path.relative_to(corpus).as_posix(): path for path in files}


def test_every_sample_gets_what_is_written_down(shared: Path) -> None:
    wrong = {}
    for name, path in samples(shared).items():
        found = judged(path)
        errors = frozenset(item.code for item in found if item.severity == "error")
        warnings = frozenset(item.code for item in found if item.severity == "warning")
        verdict = VERDICTS.get(name)
        nothing: frozenset[str] = frozenset()
        expected = (verdict.errors, verdict.warnings) if verdict else (nothing, nothing)
        if (errors, warnings) != expected:
            wrong[name] = [f"{item.severity} {item.code}: {item.message}" for item in found]
    assert not wrong


def test_every_verdict_is_of_a_sample(shared: Path) -> None:
    assert VERDICTS.keys() <= samples(shared).keys()


def test_samples_that_upstream_calls_invalid_are_refused(shared: Path) -> None:
    names = [name for name in samples(shared) if "/invalid-" in name]
    assert names
    assert all(VERDICTS[name].errors for name in names)


def test_the_whole_corpus_at_once_is_read_without_an_internal_error(shared: Path) -> None:
    report = check([str(shared / "corpus")], Options())
    assert report.counts.internal_errors == 0
    assert report.counts.objects > 100


def test_cases_with_verdict_ok_are_clean(shared: Path) -> None:
    cases = shared / "cases"
    if not cases.is_dir():
        pytest.skip("the cases are not beside the repository")
    wrong, seen = {}, 0
    for expect in sorted(cases.glob("*/expect.yaml")):
        wanted = yaml.safe_load(expect.read_text(encoding="utf-8"))
        if wanted["verdict"] != "ok":
            continue
        seen += 1
        base = expect.parent / wanted["baseline"] if wanted.get("baseline") else None
        if found := judged(expect.parent / "input.yaml", base):
            wrong[expect.parent.name] = [f"{item.code}: {item.message}" for item in found]
    assert seen > 30
    assert not wrong
