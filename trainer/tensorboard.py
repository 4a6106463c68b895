"""Scalars for TensorBoard, an extra: `log.tensorboard = true` writes them under `run.dir`/tensorboard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trainer import exits
from trainer.exits import Stop

TAGS = ("loss", "lr", "gradient_norm", "tokens_per_second", "mfu")


class TensorBoard:
    """Hears the journal's events. After a resume the steps that were lost are hidden, not drawn twice."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError:
            raise Stop(exits.CONFIG, "log.tensorboard is set but not installed: pip install tensorboard") from None
        self._make = SummaryWriter
        self.folder = folder
        self.writer = SummaryWriter(str(folder), max_queue=100)

    def hear(self, event: Mapping[str, object]) -> None:
        """Write the numbers of a step or an evaluation."""
        kind, step = event.get("event"), event.get("step")
        if kind == "resume" and isinstance(step, int):
            self.close()
            self.writer = self._make(str(self.folder), max_queue=100, purge_step=step + 1)
        tags = {"step": TAGS, "eval": ("loss",)}.get(str(kind), ())
        for tag in tags:
            value = event.get(tag)
            if isinstance(value, int | float):
                where = "train" if kind == "step" else "eval"
                self.writer.add_scalar(f"{where}/{tag}", value, step)

    def close(self) -> None:
        """Write what is waiting."""
        self.writer.close()
