"""Text as standard input, and what is found in it."""

from __future__ import annotations

import io
from typing import Any

from trainshed.fleet.reading import Reading, read

JOB = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n  namespace: aurora\nspec:\n  parallelism: 2\n"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def take(text: str | bytes, **options: Any) -> Reading:
    """Reads `text` as standard input."""
    return read(["-"], io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def codes(reading: Reading) -> list[str]:
    """The codes of the findings, in order."""
    return [finding.code for finding in reading.findings]


def only(reading: Reading, code: str) -> tuple[int, int, str]:
    """Line, column and message of the only finding, which has `code`."""
    assert codes(reading) == [code]
    (finding,) = reading.findings
    assert finding.place is not None
    return finding.place.line, finding.place.column, finding.message
