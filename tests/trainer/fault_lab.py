"""The laboratory of the fault table: a folder where bad inputs are made, and what the program said to them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trainer import cli, train

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "trainer" / "ddp.py")
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
VOLATILE = (
    (r"\d+ MB free", "N MB free"),
    (r"\d+\.\d+ s after", "S s after"),
    (r"step \d+ is saved", "step N is saved"),
    (r"PID \d+", "PID N"),
    (r"127\.0\.0\.1:\d+", "master:29500"),
    (r": \[Errno.*", ""),
    (r"RuntimeError: .* \(", "what torch's writer says ("),
)


class Lab:
    """A folder with a packed dataset `data` and a finished run of ten steps in `run`; the process works inside it."""

    def __init__(self) -> None:
        text = "\n".join(f"Line {number} of a small text that is enough to train on." for number in range(400))
        Path("text.txt").write_text(text)
        self.quiet(["data", "pack", "text.txt", "--output", "data"])
        Path("other.txt").write_text(text.upper())
        self.quiet(["data", "pack", "other.txt", "--output", "other"])
        self.train(run__steps=10, checkpoint__every=5)

    @staticmethod
    def quiet(arguments: list[str]) -> tuple[int, str]:
        """Exit code and message of a command."""
        told = io.StringIO()
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
            code = train.main(arguments[1:]) if arguments[0] == "train" else cli.main(arguments)
        return code, said(told.getvalue())

    @staticmethod
    def settings(**overrides: object) -> list[str]:
        """`--set` arguments of a tiny run."""
        values: dict[str, object] = {
            "run__dir": "run",
            "run__steps": 20,
            "run__device": "cpu",
            "model__preset": "tiny",
            "data__train": "data",
            "data__seq_len": 32,
            "batch__rows": 8,
            "batch__micro_rows": 2,
            "speed__dtype": "float32",
            "preempt__write_mb_per_second": 1000,
            **overrides,
        }
        return [word for key, v in values.items() for word in ("--set", f"{key.replace('__', '.')}={v}")]

    def train(self, **overrides: object) -> tuple[int, str]:
        """Exit code and message of a run in this process."""
        return self.quiet(["train", *self.settings(**overrides)])

    @contextlib.contextmanager
    def copy(self, folder: str) -> Iterator[Path]:
        """A copy to break, in the place of the folder, which comes back afterwards."""
        kept = Path(f"{folder}.kept")
        shutil.copytree(folder, kept)
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder)
            kept.rename(folder)

    def launch(
        self,
        *words: str,
        act: Callable[[subprocess.Popen[str]], None] | None = None,
        limit: int = 0,
        env: dict[str, str] | None = None,
    ) -> tuple[int, str]:
        """Exit code and termination message of a launcher; `act` is done to it while it runs."""
        message = Path("message").absolute()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PET_", "TRAINSHED_"))}
        here = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "TRAINSHED_TERMINATION_LOG": str(message)}
        full = {**kept, **here, **(env or {})}

        def before() -> None:
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        run = subprocess.Popen(
            [sys.executable, "-m", "trainer", "launch", *words],
            env=full,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=before,
            text=True,
        )
        try:
            if act is not None:
                act(run)
            code = run.wait(90)
        finally:
            if run.poll() is None:
                run.kill()
                run.wait()
        return code, steady(json.loads(message.read_text())["reason"])


def said(text: str) -> str:
    """The message among the lines of standard error."""
    for line in reversed(text.splitlines()):
        if match := re.match(r"trainer rank 0: (\{.*\})$", line):
            return steady(json.loads(match[1])["reason"])
        if line.startswith("trainer: "):
            return steady(line.removeprefix("trainer: "))
    return steady(text)


def steady(text: str) -> str:
    """The message without what differs from run to run."""
    for pattern, replacement in VOLATILE:
        text = re.sub(pattern, replacement, text)
    return text


def journal(folder: Path) -> list[dict[str, Any]]:
    """The events of a run."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
