"""Gradient accumulation: the ranks exchange gradients once a step, not once a forward pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

COUNTING = """
import sys
import torch.distributed as dist
from pathlib import Path
from torch.nn.parallel import DistributedDataParallel as Wrapper
from trainer import train

messages = 0
build = Wrapper.__init__

def counting(self, *arguments, **options):
    build(self, *arguments, **options)
    self.register_comm_hook(None, count)

def count(_, bucket):
    global messages
    messages += 1
    mean = bucket.buffer() / dist.get_world_size()
    return dist.all_reduce(mean, async_op=True).get_future().then(lambda done: done.value()[0])

def leave(self, result, world):
    micros = self.loop.batches.share // self.loop.batches.micro_rows
    Path(f"counted-{world.rank}").write_text(f"{messages} {self.loop.progress.step} {micros}")
    return ended(self, result, world)

ended, train.Rank.leave, Wrapper.__init__ = train.Rank.leave, leave, counting
sys.exit(train.main(sys.argv[1:]))
"""


def test_gradients_are_exchanged_in_the_last_forward_pass_only(launch: Any, settings: Any, tmp_path: Path) -> None:
    script = tmp_path / "counting.py"
    script.write_text(COUNTING)
    code, output = launch("--nproc-per-node", "2", str(script), *settings(run__steps=5, batch__rows=16)).end()
    assert code == 0, output
    assert [(tmp_path / f"counted-{rank}").read_text() for rank in (0, 1)] == ["5 5 4", "5 5 4"]
