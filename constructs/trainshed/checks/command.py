"""The bodies of `trainshed check` and `trainshed explain`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from itertools import groupby
from typing import Final

from trainshed.checks.config import known_codes, parse_target, read_config
from trainshed.checks.engine import Report, check
from trainshed.checks.options import CannotCheck, Options
from trainshed.checks.page import Page
from trainshed.fleet.finding import Severity

OUTPUTS: Final = ("text", "json", "github", "sarif", "junit")
_QUIET_SECONDS: Final = 1.0


def run_check(
    paths: Sequence[str],
    *,
    output: str = "text",
    baseline: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severity: Severity | None = None,
    target: Sequence[str] = (),
    crds: Sequence[str] = (),
    config: str | None = None,
) -> int:
    """Checks, prints the report to standard output, and returns the exit code.

    What is given replaces what the configuration file says; `target` and `crds` add to it. Raises CannotCheck.
    """
    settings = read_config(config)
    base = settings.options
    options = Options(
        select=known_codes(select, "--select") or base.select,
        ignore=known_codes(ignore, "--ignore") or base.ignore,
        severity=severity or base.severity,
        target=parse_target(target, base.target),
        crds=(*base.crds, *crds),
    )
    wanted = tuple(paths) or settings.paths
    if not wanted:
        raise CannotCheck(
            "nothing to check; name files or folders, - for standard input, or set paths in trainshed.toml"
        )
    progress = _Progress()
    try:
        report = check(wanted, options, baseline=baseline, on_source=progress)
    finally:
        progress.done()
    _write(render(report, output, colour=_has_colours()))
    return report.exit_code


def render(report: Report, output: str, *, colour: bool = False) -> str:
    """The report in one of the forms of `OUTPUTS`."""
    if output == "text":
        from trainshed.checks.report.text import text_report

        return text_report(report, colour=colour)
    module = import_module(f"trainshed.checks.report.{'json_report' if output == 'json' else output}")
    text: str = getattr(module, f"{output}_report")(report)
    return text


def run_explain(code: str | None) -> str:
    """The page of a code; the codes that begin with these words, or all, by family. Raises CannotCheck for no code."""
    from trainshed.checks.pages import pages
    from trainshed.faults import nearest

    known = pages()
    if code not in known:
        chosen = [page for page in known.values() if code is None or page.code.startswith(f"{code.rstrip('-')}-")]
        if code is None or (code and chosen):
            return _list(chosen)
        raise CannotCheck(f'"{code}" is no code; {nearest(code, known) or "`trainshed explain` lists them"}')
    return known[code].markdown(level=1)


def _list(pages: Sequence[Page]) -> str:
    lines = []
    for family, group in groupby(pages, key=lambda page: page.family):
        lines += [f"{family}", *(f"  {page.code:<44} {page.severity:<8} {page.summary}" for page in group), ""]
    return "\n".join(lines)


class _Progress:
    """Counts the files on standard error: on a terminal only, and only when it takes long."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()
        self._started = self._last = time.monotonic()
        self._count = 0
        self._shown = False

    def __call__(self, _: str) -> None:
        self._count += 1
        now = time.monotonic()
        if self._on and now - self._started > _QUIET_SECONDS and now - self._last > 0.1:
            self._last, self._shown = now, True
            self._write(f"\r{self._count:,} files read…\033[K")

    def done(self) -> None:
        """Takes the line away again."""
        if self._shown:
            self._write("\r\033[K")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write(text: str) -> None:
    """To standard output as UTF-8, whatever the locale says; a reader that closes early is no error. Raises CannotCheck
    where the report finds no room."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise CannotCheck(f"the report cannot be written: {error.strerror}") from None
