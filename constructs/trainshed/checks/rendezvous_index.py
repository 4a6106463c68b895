"""Ranks from completion indexes, in Jobs that have none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.launchers import Option
from trainshed.fleet.pod_environment import INDEX_PATHS
from trainshed.fleet.runs import indexed
from trainshed.fleet.words import refs, shown

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"


@rule("rendezvous-rank-without-index", severity="error", family=FAMILY)
def rank_without_index(fleet: Fleet) -> Iterator[Issue]:
    """A Job without completion indexes takes ranks from them.

    Why: Only Indexed Jobs have the variable JOB_COMPLETION_INDEX, the annotation and the label. Without them the rank
    is empty, or stays `$(JOB_COMPLETION_INDEX)`, and torchrun refuses it as no number.
    Fix: Write `completionMode: Indexed`, with completions as many as parallelism.
    """
    for run in fleet.runs:
        seen: set[tuple[int, tuple[str | int, ...]]] = set()
        for member in run.members:
            if indexed(member) is not False:
                continue
            launch = member.launch
            candidates = [launch.option("node-rank"), *(launch.variable(name) for name in launch.environment.paths)]
            for option in candidates:
                key = (id(member.pod_set), option.path) if option else (0, ())
                if option is None or key in seen or not _wants_index(option):
                    continue
                seen.add(key)
                message = f"{option.label} is the completion index, and the Job is not Indexed, so its pods have none"
                yield issue(member.pod_set, option.path, message, "write completionMode: Indexed")


def _wants_index(option: Option) -> bool:
    if any(ref.source in INDEX_PATHS or ref.name == "JOB_COMPLETION_INDEX" for ref in refs(option.word)):
        return True
    return "$(JOB_COMPLETION_INDEX)" in shown(option.word)
