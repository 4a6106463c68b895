"""How a process says why it left: one JSON file per local rank, and the pod's termination message."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from trainer import exits

FOLDER_VARIABLE = "TRAINSHED_OUTCOME_DIR"
MESSAGE_VARIABLE = "TRAINSHED_TERMINATION_LOG"
DEFAULT_MESSAGE_FILE = Path("/dev/termination-log")
MESSAGE_LIMIT = 4096
"""Bytes the kubelet keeps of a termination message (Kubernetes, "Determine the Reason for Pod Failure")."""


@dataclass(frozen=True)
class Outcome:
    """Code and reason of one process; `time` is seconds since the epoch, `step` the last completed optimizer step."""

    code: int
    reason: str
    rank: int | None = None
    step: int | None = None
    time: float = 0.0

    def line(self) -> str:
        """One line of JSON, within the kubelet's limit."""
        fields = {"code": self.code, "name": exits.name_of(self.code), **asdict(self)}
        fields["time"] = round(self.time or time.time(), 3)
        text = json.dumps(fields, ensure_ascii=True)
        if len(text) > MESSAGE_LIMIT:
            room = max(0, len(self.reason) - (len(text) - MESSAGE_LIMIT) - 3)
            fields["reason"] = self.reason[:room].encode("ascii", "replace").decode() + "..."
            text = json.dumps(fields, ensure_ascii=True)[:MESSAGE_LIMIT]
        return text


def write(outcome: Outcome, local_rank: int) -> None:
    """Leave the outcome where the launcher of this node looks for it; does nothing without a launcher."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return
    stamped = Outcome(outcome.code, outcome.reason, outcome.rank, outcome.step, time.time())
    target = Path(folder) / f"{local_rank}.json"
    temporary = target.with_suffix(f".tmp{os.getpid()}")
    try:
        temporary.write_text(json.dumps(asdict(stamped)))
        temporary.replace(target)
    except OSError:
        return


def read_all(folder: Path) -> dict[int, Outcome]:
    """Outcomes by local rank; unreadable ones are left out."""
    found: dict[int, Outcome] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            found[int(file.stem)] = Outcome(**json.loads(file.read_text()))
        except (OSError, ValueError, TypeError):
            continue
    return found


def publish(outcome: Outcome) -> None:
    """Write the pod's termination message; best effort, since the file exists only in a pod."""
    chosen = os.environ.get(MESSAGE_VARIABLE)
    target = Path(chosen) if chosen else DEFAULT_MESSAGE_FILE
    if not chosen and not target.exists():
        return
    try:
        target.write_text(outcome.line() + "\n")
    except OSError:
        return
