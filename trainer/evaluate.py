"""Mean loss on the first rows of the evaluation data, the same rows at any world size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from trainer.comm import Comm
from trainer.data.reader import Dataset, gather
from trainer.models import Trained
from trainer.preempt import Preemption
from trainer.watch import Watch


class Evaluation:
    """`forward` takes tokens, targets and segments and returns the summed loss."""

    def __init__(
        self, data: Dataset, comm: Comm, model: Trained, forward: Callable[..., Tensor], *, rows: int, micro_rows: int
    ) -> None:
        self.data, self.comm, self.model, self.forward, self.micro_rows = data, comm, model, forward, micro_rows
        count = min(rows, data.rows)
        share = comm.world.size * micro_rows
        padded = np.full(-(-count // share) * share, -1, dtype=np.int64)
        padded[:count] = np.arange(count)
        self.rows = padded.reshape(-1, comm.world.size, micro_rows)[:, comm.world.rank]

    @torch.no_grad()
    def run(self, preemption: Preemption, watch: Watch) -> float | None:
        """The mean loss, or None when the ranks agreed to stop for a preemption. Collective."""
        self.model.eval()
        loss = torch.zeros((), dtype=torch.float64, device=self.comm.device)
        targets = 0
        try:
            for rows in self.rows:
                batch = gather(self.data, rows, self.micro_rows)
                asked, count = self.comm.total(int(preemption.requested), batch.targets)
                if asked:
                    return None
                targets += count
                loss += self.forward(*batch.micro(0, self.comm.device)).double()
                watch.beat()
        finally:
            self.model.train()
        return float(self.comm.total_on_device(loss)) / max(1, targets)
