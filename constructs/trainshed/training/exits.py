"""Exit codes of the reference trainer, and what Kubernetes is told to do with each.

The trainer has the same table in `trainer/exits.py`; neither imports the other, and a test compares the rows. Codes
below 128 follow sysexits.h where it has a word for the case, and reach Kubernetes only through the trainer's own
launcher: torchrun makes each of them 1 (pytorch 2.13.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

JobAction = Literal["FailJob", "Ignore", "Count", "none"]
JobSetAction = Literal["FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts", "none"]


@dataclass(frozen=True)
class Exit:
    """One exit code: what the Job inside a JobSet does with it, and what the JobSet does then.

    `none` writes no rule. `Ignore` holds for pods with the condition DisruptionTarget, which has a rule of its own.
    """

    code: int
    name: str
    meaning: str
    job: JobAction
    jobset: JobSetAction


TABLE: Final[tuple[Exit, ...]] = (
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


def codes(jobset: JobSetAction) -> list[int]:
    """Codes that fail the Job and then mean `jobset`, in order."""
    return [entry.code for entry in TABLE if entry.job == "FailJob" and entry.jobset == jobset]


#: Not the run's fault: restarted without counting.
PREEMPTED: Final = codes("RestartJobSetAndIgnoreMaxRestarts")
#: No restart heals it.
FATAL: Final = codes("FailJobSet")
#: Another node may do better: restarted, and counted.
UNHEALTHY: Final = codes("RestartJobSet")
