"""Exit codes of the trainer and what the layers above do with each: one table.

The numbers follow sysexits.h where it has a word for the case (64, 65, 69, 70, 75, 78); 71, 76 and 79 are ours, 137 and
143 are the shell's 128 + signal. torchrun flattens every one of them to 1 (seen with torch 2.13.0), so the launcher in
`trainer.launch` is what makes this table worth having. Nothing here imports torch: the generator's tests read the table
without it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

JobAction = Literal["FailJob", "Ignore", "Count", "none"]
JobSetAction = Literal["FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts", "none"]


@dataclass(frozen=True)
class Exit:
    """One exit code. `job` is the `podFailurePolicy` action, `jobset` the action of the JobSet's failure policy rule.

    `none` means that no rule is written (success). `Ignore` holds only together with the pod condition
    `DisruptionTarget`; without that condition the failure counts.
    """

    code: int
    name: str
    meaning: str
    job: JobAction
    jobset: JobSetAction


TABLE: tuple[Exit, ...] = (
    Exit(0, "finished", "all steps are done and saved", "none", "none"),
    Exit(64, "usage", "the command line is wrong", "FailJob", "FailJobSet"),
    Exit(65, "data", "the data was refused: hash, tokenizer, format, or a corrupt shard", "FailJob", "FailJobSet"),
    Exit(69, "unhealthy", "the environment failed: volume, GPU, fabric, or master", "FailJob", "RestartJobSet"),
    Exit(70, "bug", "unhandled exception", "Count", "RestartJobSet"),
    Exit(71, "collateral", "a peer died first", "Count", "RestartJobSet"),
    Exit(75, "preempted", "preempted, state saved", "FailJob", "RestartJobSetAndIgnoreMaxRestarts"),
    Exit(76, "preempted-unsaved", "preempted, nothing saved", "FailJob", "RestartJobSetAndIgnoreMaxRestarts"),
    Exit(78, "config", "the config or the topology was refused", "FailJob", "FailJobSet"),
    Exit(79, "diverged", "loss or gradient is not finite; the last good checkpoint is kept", "FailJob", "FailJobSet"),
    Exit(137, "killed", "SIGKILL: out of memory, or the grace period ran out", "Ignore", "RestartJobSet"),
    Exit(143, "terminated", "SIGTERM before a handler existed", "Ignore", "RestartJobSet"),
)

BY_CODE: dict[int, Exit] = {entry.code: entry for entry in TABLE}
_BY_NAME: dict[str, int] = {entry.name: entry.code for entry in TABLE}

FINISHED = _BY_NAME["finished"]
USAGE = _BY_NAME["usage"]
DATA = _BY_NAME["data"]
UNHEALTHY = _BY_NAME["unhealthy"]
BUG = _BY_NAME["bug"]
COLLATERAL = _BY_NAME["collateral"]
PREEMPTED = _BY_NAME["preempted"]
PREEMPTED_UNSAVED = _BY_NAME["preempted-unsaved"]
CONFIG = _BY_NAME["config"]
DIVERGED = _BY_NAME["diverged"]
KILLED = _BY_NAME["killed"]
TERMINATED = _BY_NAME["terminated"]

COLLATERAL_DELAY_SECONDS = 10.0
"""How long a rank waits before it leaves with 71, so that the pod that caused it is seen to fail first."""


class Stop(Exception):  # noqa: N818 - not always an error: a preemption is one as well
    """Leave with `code` and say `reason`: everything the trainer refuses or gives up on is raised as this."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def name_of(code: int) -> str:
    """The table's name for a code, or `exit-<code>` for one that is not ours."""
    entry = BY_CODE.get(code)
    return entry.name if entry else f"exit-{code}"


def from_wait_status(exitcode: int) -> int:
    """A child's exit code as a shell would give it: a negative one (death by signal) becomes 128 + signal."""
    return 128 - exitcode if exitcode < 0 else exitcode


def as_rows() -> list[dict[str, object]]:
    """The table as plain data, in order of code."""
    return [asdict(entry) for entry in TABLE]
