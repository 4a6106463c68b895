"""The annotation by which a job waits for other controllers before Kueue queues it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.kueue_common import managed_workloads
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.kueue_tree import KUEUE

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

GATED_BY: Final = f"{KUEUE}/admission-gated-by"
_GATE: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[^\s/]+(/[^\s/]+)*")
_LONGEST: Final = 63


@rule("kueue-admission-gated-by", severity="error", family="kueue jobs", targets=("kueue",))
def admission_gated_by(fleet: Fleet) -> Iterator[Issue]:
    """`admission-gated-by` lists a controller twice, an empty one, or one without a domain.

    Why: The webhook refuses the job (kueue v0.19.2, `pkg/controller/jobframework/validation.go`): each controller is
    a path with a domain in front, of at most 63 characters, once.

    Fix: Write names such as `example.com/data-ready`, separated by commas.
    """
    for workload in managed_workloads(fleet):
        written = workload.annotations.get(GATED_BY)
        if written is None:
            continue
        fault = _fault(written)
        if fault:
            path = (*workload.annotations_path, GATED_BY)
            message = f"admission-gated-by {fault}: the webhook refuses the job"
            yield Issue(workload.document, path, message, "write names such as example.com/data-ready, each once")


def _fault(written: str) -> str:
    names = written.split(",")
    for name in names:
        if not name.strip():
            return "has an empty name"
        if len(name) > _LONGEST:
            return f'names "{name[:80]}", longer than {_LONGEST} characters'
        if not _GATE.fullmatch(name):
            return f'names "{name}", which has no domain in front'
        if names.count(name) > 1:
            return f'names "{name}" twice'
    return ""
