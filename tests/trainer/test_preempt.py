"""The signal's way into the program: also where Python drops the exception that a handler raises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import exits

ROOT = Path(__file__).resolve().parents[2]
SWALLOW = """
import os, signal, time
from trainer import train
from trainer.preempt import Preemption

class Loud:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)

def busy(self, config):
    del_me = Loud()
    del del_me  # the exception is ignored here, as in the callbacks of a compiler
    time.sleep(60)

train.Rank.train = busy
raise SystemExit(train.main([]))
"""


def test_a_signal_whose_exception_is_swallowed_still_ends_a_set_up() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", SWALLOW], env=env, capture_output=True, text=True, timeout=50)
    assert "Exception ignored in" in done.stderr
    assert done.returncode == exits.PREEMPTED_UNSAVED, done.stderr
    assert "preempted during set-up" in done.stderr
