"""The bodies of `trainshed check` and `trainshed explain`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from trainshed.checks.engine import check
from trainshed.checks.options import Options
from trainshed.checks.report.json_report import json_report


def run_check(paths: Sequence[str], output: str, options: Options, baseline: str | None) -> int:
    """Checks, prints the report to standard output, and returns the exit code."""
    report = check(paths, options, baseline=baseline)
    if output == "json":
        sys.stdout.write(json_report(report))
    else:
        for finding in report.findings:
            print(
                f"{finding.place}: {finding.severity}[{finding.code}]: {finding.object}: {finding.path}: "
                f"{finding.message}; {finding.fix}"
            )
    return report.exit_code
