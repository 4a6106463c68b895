"""Fixtures of the trainer's tests: a small packed dataset, settings of a toy run, and the real launcher."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


logging.getLogger("torch").setLevel(logging.WARNING)
logging.getLogger("c10d-NullHandler-dcp_logger").setLevel(logging.WARNING)  # two lines per tensor in each report


@pytest.fixture(autouse=True)
def keep_signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The trainer takes over signals; give them back. No test inherits a launcher's variables."""
    before = {number: signal.getsignal(number) for number in HANDLED}
    for name in [name for name in os.environ if name.startswith(("PET_", "TRAINSHED_", "TORCHELASTIC_"))]:
        monkeypatch.delenv(name)
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Part of CPython's help topics (PSF-2.0), as one text file."""
    from pydoc_data.topics import topics

    file = tmp_path_factory.mktemp("corpus") / "topics.txt"
    file.write_text("\n\n".join(topics[name] for name in sorted(topics))[:60_000])
    return file


@pytest.fixture(scope="session")
def packed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus packed by bytes, in several shards."""
    pytest.importorskip("numpy", reason="the trainer's packages are not installed (see docs/trainer.md)")
    from trainer.data.pack import pack
    from trainer.data.tokenizer import ByteTokenizer

    lines = tmp_path_factory.mktemp("lines") / "topics.jsonl"
    paragraphs = [text for text in corpus.read_text().split("\n\n") if text.strip()]
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in paragraphs))
    folder = tmp_path_factory.mktemp("packed") / "train"
    pack([lines], folder, ByteTokenizer(), shard_tokens=20_000)
    return folder


@pytest.fixture
def settings(packed: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """`--set` arguments of a toy run in `tmp_path/<name>`; keywords `section__key=value` override."""

    def make(name: str = "run", **overrides: object) -> list[str]:
        values: dict[str, object] = {
            "run__dir": str(tmp_path / name),
            "run__steps": 20,
            "model__preset": "tiny",
            "model__dropout": 0.1,
            "data__train": str(packed),
            "data__seq_len": 32,
            "batch__rows": 8,
            "batch__micro_rows": 2,
            "optim__lr": 0.003,
            "speed__dtype": "float32",
            "log__every": 1,
            "checkpoint__every": 1000,
            "preempt__write_mb_per_second": 1000,
            **overrides,
        }
        return [part for key, v in values.items() for part in ("--set", f"{key.replace('__', '.')}={v}")]

    return make


@dataclass
class Launched:
    """A launcher process with its output and termination message."""

    process: subprocess.Popen[str]
    message: Path

    def end(self, timeout: float = 90) -> tuple[int, str]:
        """Exit code and everything that was printed."""
        try:
            output, _ = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            output, _ = self.process.communicate()
            pytest.fail(f"the launcher did not end within {timeout} s:\n{output[-3000:]}")
        return self.process.returncode, output

    def told(self) -> dict[str, object]:
        """The termination message."""
        found: dict[str, object] = json.loads(self.message.read_text())
        return found


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Launched]]:
    """Start `python -m trainer launch` with arguments and extra environment."""
    started: list[Launched] = []

    def start(*arguments: str, **env: str) -> Launched:
        message = tmp_path / f"termination-{len(started)}"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PET_", "TRAINSHED_"))}
        full = {
            **clean,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
            "TRAINSHED_TERMINATION_LOG": str(message),
            **env,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "trainer", "launch", *arguments],
            env=full,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(Launched(process, message))
        return started[-1]

    yield start
    for run in started:
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)
            run.process.communicate()


@pytest.fixture
def script() -> str:
    """The ranks' script, as the image has it."""
    return str(ROOT / "trainer" / "ddp.py")


@pytest.fixture
def wait_for() -> Callable[[Callable[[], bool]], None]:
    """Wait until a condition holds; fail after a minute."""

    def wait(condition: Callable[[], bool], timeout: float = 60) -> None:
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, "the condition never came true"
            time.sleep(0.01)

    return wait


@pytest.fixture
def events(tmp_path: Path) -> Callable[..., list[dict[str, object]]]:
    """Events of a run's journal, optionally of one kind; an unfinished last line is left out."""

    def read(name: str = "run", kind: str | None = None) -> list[dict[str, object]]:
        file = tmp_path / name / "metrics.jsonl"
        if not file.exists():
            return []
        lines = [json.loads(line) for line in file.read_text().split("\n")[:-1]]
        return [line for line in lines if kind is None or line["event"] == kind]

    return read


@pytest.fixture
def state_hash(tmp_path: Path) -> Callable[..., str]:
    """SHA-256 of all weights and optimizer state in a run's checkpoint of a step."""

    def compute(name: str, step: int) -> str:
        import hashlib

        from trainer.checkpoint import dcp, layout

        checkpoint = tmp_path / name / "checkpoints" / layout.name_of(step)
        layout.verify(checkpoint)
        tensors = dcp.read_tensors(checkpoint / layout.STATE, list(dcp.stored_tensors(checkpoint / layout.STATE)))
        found = hashlib.sha256()
        for key in sorted(tensors):
            found.update(key.encode() + tensors[key].numpy().tobytes())
        return found.hexdigest()

    return compute
