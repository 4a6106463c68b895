"""`trainer plot`, and the loss beside a plain loop's."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import cli, exits, plot, train  # noqa: E402


def test_the_loss_falls_as_a_plain_loops_does(packed: Path, settings: Any, events: Any, root: Path) -> None:
    """Same data, shape, rate and warm-up; the loop draws random windows, so the ends are close and not equal."""
    steps, rate = 150, 0.003
    options = {"data": packed, "preset": "tiny", "steps": steps, "rows": 8, "length": 32, "rate": rate, "warmup": 10}
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    command = [sys.executable, "-m", "bench.trainer_plain", "loop", *words]
    loop = json.loads(subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout)["losses"]
    asked = settings(run__steps=steps, model__dropout=0.0, optim__lr=rate, optim__warmup_steps=10)
    assert train.main(asked) == exits.FINISHED
    ours = [float(event["loss"]) for event in events(kind="step")]
    assert abs(ours[0] - loop[0]) < 0.1
    ends = [sum(losses[-20:]) / 20 for losses in (ours, loop)]
    assert ends[0] < ours[0] - 2
    assert ends[0] == pytest.approx(ends[1], rel=0.05)


def journal(folder: Path, *events: dict[str, object]) -> Path:
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return folder


def step(number: int, loss: object) -> dict[str, object]:
    return {"event": "step", "step": number, "loss": loss, "tokens_per_second": 100}


def test_steps_after_a_kill_count_as_they_were_the_second_time(tmp_path: Path) -> None:
    folder = journal(tmp_path / "a", step(1, 5), step(2, 4), {"event": "resume", "step": 1}, step(2, 3))
    with (folder / "metrics.jsonl").open("a") as stream:
        stream.write('{"event":"st')
    found = plot.read(folder, "a")
    assert (found.loss, found.resumed) == ({1: 5.0, 2: 3.0}, [1])


def test_the_picture_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    folder = journal(tmp_path / "a", step(1, 5), step(2, "nan"), {"event": "eval", "step": 2, "loss": 4})
    target = tmp_path / "new" / "loss.png"
    assert cli.main(["plot", str(folder), f"again={folder}", "--output", str(target)]) == 0
    content = target.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == (1080, 720)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [("", "no steps to draw"), ("junk\n{}\n", "not a line of a journal"), (None, "cannot be read")],
)
def test_what_is_no_journal_is_65(text: str | None, fragment: str, tmp_path: Path, capsys: Any) -> None:
    if text is not None:
        (tmp_path / "metrics.jsonl").write_text(text)
    code = cli.main(["plot", str(tmp_path / "metrics.jsonl"), "--output", str(tmp_path / "x.png")])
    assert code == exits.DATA
    assert fragment in capsys.readouterr().err
