"""The body of `trainshed synth`: render, judge, and only then write."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from trainshed.faults import Faults
from trainshed.gitops.app_config import read_config
from trainshed.gitops.app_process import ToldAlready, started
from trainshed.gitops.publish import Files, texts_of
from trainshed.gitops.tree import Changes, compare_tree, write_tree

if TYPE_CHECKING:
    from trainshed.checks.engine import Report
    from trainshed.checks.options import Options


#: The Application of a cluster that is applied by hand.
_ROOT = re.compile(r"([^/]+)/argocd/Application\.argocd\.(\1-argocd)\.yaml")


@dataclass(frozen=True)
class Made:
    """What a run has come to: `changes` that were made (or, verifying, found), none where there are errors; `told` is
    for stderr."""

    dist: str
    changes: Changes | None
    told: str
    failed: bool


class Synthesis:
    """One run for the repository in `folder`."""

    def __init__(self, folder: Path, *, verify: bool, check: bool) -> None:
        self._folder = folder
        self._verify = verify
        self._check = check

    def run(self) -> Made:
        """Raises CannotRun and CannotCheck before anything is rendered. Ends the process when the app has faults."""
        from trainshed.gitops.failures import Told, tell

        self._config = config = read_config(self._folder)
        options = self._options()
        with _terminated_like_interrupted():
            try:
                with started(self._folder, config) as app:
                    if self._check:
                        _load_check()
                    files = app.files()
                    report = self._judged(files, options)
                    app.wait()
                return self._made(files, report)
            except ToldAlready:
                raise Told(1) from None
            except Faults as found:
                tell(found.faults)
            except KeyboardInterrupt:
                name = config.dist.relative_to(self._folder).as_posix()
                print(f"interrupted; {name}/ is as it was", file=sys.stderr)
                raise SystemExit(130) from None

    def _options(self) -> Options | None:
        if not self._check:
            return None
        from trainshed.checks.rendered import options_here

        return options_here()

    def _judged(self, files: Files, options: Options | None) -> Report | None:
        if options is None:
            return None
        from trainshed.checks.rendered import judge

        return judge(files, self._config.dist, options)

    def _made(self, files: Files, report: Report | None) -> Made:
        dist = self._config.dist
        name = dist.relative_to(self._folder).as_posix()
        told = _told(report) if report else ""
        errors = report is not None and report.exit_code != 0
        if self._verify:
            changes = compare_tree(dist, texts_of(files))
            if changes:
                told += f"error: {name}/ is stale; run `trainshed synth` and commit what it writes\n"
            return Made(name, changes, told, errors or bool(changes))
        if errors:
            return Made(name, None, f"{told}{name}/ is as it was\n", True)
        changes = write_tree(dist, texts_of(files))
        return Made(name, changes, told + _left_alone(changes, name), False)


def _left_alone(changes: Changes, name: str) -> str:
    """Applications that were applied by hand and that nothing deletes when their file goes."""
    told = ""
    made = [f"{name}/{path}" for path in changes.added if _ROOT.fullmatch(path)]
    fix = f"apply the new one ({', '.join(made)}), then delete the old" if made else "delete it if that was meant"
    for path in changes.removed:
        if found := _ROOT.fullmatch(path):
            gone = f"{name}/{found[1]}/argocd/, which is gone"
            told += f'warning: {name}/{path}: the live Application "{found[2]}" still points at {gone}; {fix}\n'
    return told


def _load_check() -> None:
    """What takes half a second, while the app is rendering."""
    from trainshed.checks import all_rules, schema_core

    all_rules.load()
    schema_core.releases()


def _told(report: Report) -> str:
    from trainshed.checks.rendered import told

    return told(report)


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """A CI system that ends this process gets what Ctrl-C gets: everything back in its place."""

    def end(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(AttributeError, ValueError):  # Windows; a thread that is not the main one
            before[name] = signal.signal(getattr(signal, name), end)
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
