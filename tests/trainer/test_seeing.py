"""The journal, its schema, Prometheus, evaluation, chat training, and the hang watch."""

from __future__ import annotations

import io
import json
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import exits, train  # noqa: E402
from trainer.metrics import Gauges, Goodput, Journal, serve  # noqa: E402
from trainer.watch import Watch  # noqa: E402


def test_every_event_fits_the_published_schema(settings: Any, events: Any, packed: Path, root: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed")
    schema = json.loads((root / "trainer/schemas/metrics.schema.json").read_text())
    more = {"data__eval": packed, "eval__every": 5, "eval__rows": 12, "checkpoint__every": 5, "log__prometheus_port": 0}
    assert train.main(settings(run__steps=10, **more)) == exits.FINISHED
    assert train.main(settings(run__steps=12, optim__lr=1e-4, **more)) == exits.FINISHED
    assert train.main(settings(run__steps=40, optim__lr=1e30, **more)) == exits.DIVERGED
    validator = jsonschema.validator_for(schema)
    seen = set()
    for event in events():
        validator.validate(event)
        seen.add(event["event"])
    assert seen >= {"budget", "start", "step", "eval", "checkpoint", "resume", "notice", "end", "exit", "prometheus"}
    assert not validator.is_valid({"event": "step", "time": 1.0}), "the schema can fail"


def test_evaluation_sees_every_row_once_and_has_no_dropout(settings: Any, events: Any, packed: Path) -> None:
    more = {"data__eval": packed, "eval__every": 3, "eval__rows": 13, "model__dropout": 0.5, "run__steps": 3}
    assert train.main(settings("a", batch__micro_rows=2, **more)) == exits.FINISHED
    assert train.main(settings("b", batch__micro_rows=2, **more)) == exits.FINISHED
    assert events("a", "eval")[0]["loss"] == events("b", "eval")[0]["loss"]


def test_evaluation_disturbs_no_random_state(settings: Any, state_hash: Any, packed: Path) -> None:
    assert train.main(settings("plain")) == exits.FINISHED
    assert train.main(settings("watched", data__eval=packed, eval__every=2)) == exits.FINISHED
    assert state_hash("plain", 20) == state_hash("watched", 20)


def test_chat_data_is_learned(settings: Any, events: Any, tmp_path: Path) -> None:
    from trainer.data.pack import pack
    from trainer.data.tokenizer import ByteTokenizer

    file = tmp_path / "chat.jsonl"
    file.write_text("".join(json.dumps({"prompt": f"say {n}", "completion": "yes sir"}) + "\n" for n in range(200)))
    pack([file], tmp_path / "chat", ByteTokenizer(), kind="chat")
    more = {"data__train": tmp_path / "chat", "data__seq_len": 128, "optim__lr": 0.01, "model__dropout": 0}
    assert train.main(settings(run__steps=50, **more)) == exits.FINISHED
    losses = [event["loss"] for event in events(kind="step")]
    assert losses[-1] < 0.5 < 5 < losses[0]


def test_activation_checkpointing_and_zero_accumulation_change_no_weight(settings: Any, state_hash: Any) -> None:
    assert train.main(settings("plain", run__steps=5)) == exits.FINISHED
    assert train.main(settings("saving", run__steps=5, speed__activation_checkpointing="true")) == exits.FINISHED
    assert state_hash("plain", 5) == state_hash("saving", 5)


def test_bfloat16_learns_as_well(settings: Any, events: Any) -> None:
    more = {"run__steps": 40, "model__dropout": 0, "optim__lr": 0.01}
    assert train.main(settings(speed__dtype="bfloat16", **more)) == exits.FINISHED
    assert events(kind="step")[-1]["loss"] < 4


def test_prometheus_text() -> None:
    gauges = Gauges()
    gauges.set("loss", "Mean loss.", 2.5)
    gauges.set("phase_seconds_total", "Seconds.", {"step": 1.0, "data": 0.5}, kind="counter")
    server = serve(gauges, 0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
            text = answer.read().decode()
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    finally:
        server.shutdown()
        server.server_close()
    assert "# HELP trainer_loss Mean loss.\n# TYPE trainer_loss gauge\ntrainer_loss 2.5\n" in text
    assert 'trainer_phase_seconds_total{phase="step"} 1.0\n' in text


def test_goodput_counts_phases() -> None:
    goodput = Goodput()
    with goodput.during("step"):
        time.sleep(0.02)
    found = goodput.snapshot()
    assert found["step_seconds"] >= 0.02
    assert 0 < found["goodput"] <= 1


def test_a_terminal_gets_one_line_and_the_file_gets_json(tmp_path: Path) -> None:
    screen = io.StringIO()
    journal = Journal(tmp_path, bar=True, stream=screen)
    for step in (1, 2):
        journal.say("step", step=step, steps=4, loss=float("nan"), tokens_per_second=10)
    journal.say("checkpoint", step=2, path="x")
    journal.close()
    assert screen.getvalue().count("\r") == 2
    assert "[############............] 2/4" in screen.getvalue()
    assert "checkpoint: step 2, path x" in screen.getvalue()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["step", "step", "checkpoint"]
    assert lines[0]["loss"] == "nan"


def test_a_hang_leaves_stacks_and_is_reported(tmp_path: Path) -> None:
    told: list[str] = []
    ended = threading.Event()

    def on_hang(text: str) -> None:
        told.append(text)
        ended.set()

    Watch(0.2, tmp_path / "dumps", 3, on_hang)
    assert ended.wait(10)
    assert "nothing moved" in told[0]
    assert "test_a_hang_leaves_stacks" in (tmp_path / "dumps/stacks-00003.txt").read_text()


def test_a_beating_run_is_no_hang(tmp_path: Path) -> None:
    told: list[str] = []
    watch = Watch(0.4, tmp_path, 0, told.append)
    for _ in range(8):
        time.sleep(0.1)
        watch.beat()
    watch.stop()
    assert not told


def test_the_flight_recorder_writes_beside_the_stacks_unless_told_otherwise(tmp_path: Path) -> None:
    """The variables alone: only NCCL reads them, and no GPU is needed to set them."""
    from trainer.build import record_flight

    env: dict[str, str] = {}
    record_flight(tmp_path / "dumps", env)
    assert env["TORCH_FR_BUFFER_SIZE"] == "2000"
    assert env["TORCH_NCCL_DUMP_ON_TIMEOUT"] == "1"
    assert env["TORCH_FR_DUMP_TEMP_FILE"] == env["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] == str(tmp_path / "dumps" / "nccl-")
    assert (tmp_path / "dumps").is_dir()


def test_a_flight_recorder_that_is_set_under_its_older_name_stays(tmp_path: Path) -> None:
    from trainer.build import record_flight

    env = {"TORCH_NCCL_TRACE_BUFFER_SIZE": "7"}
    record_flight(tmp_path, env)
    assert env["TORCH_NCCL_TRACE_BUFFER_SIZE"] == "7"
    assert "TORCH_FR_BUFFER_SIZE" not in env
