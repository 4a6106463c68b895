"""The time that a preempted run of Trainshed's trainer has to save in, as far as manifests tell.

Its launcher derives the ranks' time from TRAINSHED_GRACE_PERIOD and refuses (78) what cannot hold. Whether a save fits
is a matter of the model's size and the volume's speed, which no manifest has: the trainer measures that at its start.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.checks.torchrun_ends import FAMILY
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import Member, grace_period
from trainshed.fleet.words import number

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_DEFAULT_GRACE: Final = 30
#: What the launcher keeps for itself (`trainer/launch.py`, GRACE_MARGIN_SECONDS).
_MARGIN: Final = 5


def _members(fleet: Fleet) -> Iterator[tuple[Member, int | None, int]]:
    """(member behind the trainer's launcher, its pod's grace period as written, and as it holds)."""
    for run in fleet.runs:
        for member in run.torch:
            if member.launch.keeps_codes:
                written = grace_period(member.pod_set)
                yield member, written, _DEFAULT_GRACE if written is None else written


@rule("torchrun-launcher-grace", severity="warning", family=FAMILY)
def launcher_grace(fleet: Fleet) -> Iterator[Issue]:
    """The trainer's launcher is told of another grace period than the pod has.

    Why: The launcher ends its ranks 5 seconds before TRAINSHED_GRACE_PERIOD is over (30 where it is not set). Told too
    much, it waits on while the kubelet kills the pod in the middle of a save; told too little, it cuts a save short.
    Fix: Set TRAINSHED_GRACE_PERIOD to the pod's terminationGracePeriodSeconds.
    """
    for member, written, grace in _members(fleet):
        variable = member.launch.variable("TRAINSHED_GRACE_PERIOD")
        if variable is None and not member.launch.environment.complete:
            continue
        told = number(variable.word) if variable else _DEFAULT_GRACE
        if told is None or told == grace:
            continue
        said = (
            f"TRAINSHED_GRACE_PERIOD is {told}"
            if variable
            else f"TRAINSHED_GRACE_PERIOD is not set, which means {told}"
        )
        shown = f"is {grace}" if written is not None else f"is {grace}, as it is not written"
        path: Path = ("spec", "terminationGracePeriodSeconds") if written is not None else ("spec",)
        message = f"terminationGracePeriodSeconds {shown}, and {said}"
        yield issue(member.pod_set, path, message, f'set the variable to "{grace}"')


@rule("torchrun-launcher-budget", severity="error", family=FAMILY)
def launcher_budget(fleet: Fleet) -> Iterator[Issue]:
    """The trainer's launcher refuses to start: its ranks' time does not fit into the grace period.

    Why: An explicit PET_SHUTDOWN_TIMEOUT must be at most TRAINSHED_GRACE_PERIOD less 5 seconds; otherwise the launcher
    leaves with 78 at once, since the kubelet would kill the ranks while they save.
    Fix: Leave the timeout out, or make the grace period longer.
    """
    for member, _, _ in _members(fleet):
        told = member.launch.variable("TRAINSHED_GRACE_PERIOD")
        given = member.launch.variable("PET_SHUTDOWN_TIMEOUT") or member.launch.variable(
            "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
        )
        if told is None or given is None:
            continue
        grace, timeout = number(told.word), number(given.word)
        if grace is None or timeout is None or timeout <= max(1, grace - _MARGIN):
            continue
        message = f"{given.label} is {timeout} s, and the launcher refuses more than {max(1, grace - _MARGIN)} s"
        yield issue(member.pod_set, given.path, message, "leave it out, or make the grace period longer")
