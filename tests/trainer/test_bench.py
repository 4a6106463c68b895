"""What measures the trainer works where nothing can be measured: on a busy machine without a GPU."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from bench.trainer_pace import VARIABLE, Race, Ratio

ROOT = Path(__file__).resolve().parents[2]


def test_the_gpu_script_goes_all_the_way_on_a_cpu(tmp_path: Path) -> None:
    own = {"PYTHON": sys.executable, "OUT": str(tmp_path), "DEVICE": "cpu", "STEPS": "8", "MICRO_ROWS": "4"}
    env = {**os.environ, **own, "SETTINGS": "--set speed.compile=off"}
    done = subprocess.run(["sh", "bench/gpu.sh"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tokens/s, MFU none, loss" in done.stdout
    assert "989 TFLOPS (target 40%, floor 35%)" in done.stdout


def test_sides_step_in_turn_and_never_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = tmp_path / "side.py"
    script.write_text(
        "import os, sys\n"
        "from bench.trainer_pace import VARIABLE, Pace\n"
        "pace, log = Pace(os.environ[VARIABLE]), open(sys.argv[1], 'a', buffering=1)\n"
        "while True:\n"
        "    pace.turn()\n"
        "    log.write(sys.argv[2] + ' begins\\n')\n"
        "    sum(range(int(sys.argv[3])))\n"
        "    log.write(sys.argv[2] + ' ends\\n')\n"
    )
    race = Race(tmp_path / "pace")
    env = {**os.environ, VARIABLE: race.path, "PYTHONPATH": str(ROOT)}
    sides = []
    for name, work in (("slow", 3_000_000), ("fast", 1_000_000)):
        sides.append(subprocess.Popen([sys.executable, str(script), str(log), name, str(work)], env=env))
        race.admit(name, 1)
    race.run(rounds=9, uncounted=1)
    assert [side.wait(30) for side in sides] == [0, 0]
    lines = log.read_text().splitlines()
    assert len(lines) == 2 * 2 * 10
    for begins, ends in zip(lines[::2], lines[1::2], strict=True):
        assert ends == begins.replace("begins", "ends")
    assert sum(line == "fast begins" for line in lines[::4]) == 5
    ratio = Ratio.of(race.sides["slow"].cpu, race.sides["fast"].cpu)
    assert 1.5 < ratio.median < 6


def test_a_side_that_ends_early_ends_the_bench(tmp_path: Path) -> None:
    race = Race(tmp_path / "pace")
    line = socket.socket(socket.AF_UNIX)
    line.connect(race.path)
    line.close()
    with pytest.raises(SystemExit, match="before its time"):
        race.admit("gone", 1)
