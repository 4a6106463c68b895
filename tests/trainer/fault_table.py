"""The fault table: every bad input is made for real, and its exit code and message are what docs/trainer.md shows.

`python -m tests.trainer.fault_table docs/trainer.md` writes the table; a test compares. Paths are relative to a folder
of the run's own, and numbers that differ from run to run are replaced, so the same faults give the same bytes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trainer import cli, train

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "trainer" / "ddp.py")
BEGIN, END = "<!-- faults: made by tests/trainer/fault_table.py -->", "<!-- end of faults -->"
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


def data(break_it: Callable[[Path], object]) -> Callable[[Lab], tuple[int, str]]:
    """A run on data that was broken."""

    def run(lab: Lab) -> tuple[int, str]:
        with lab.copy("data") as folder:
            break_it(folder)
            return lab.train(run__dir="new")

    return run


def given(**overrides: object) -> Callable[[Lab], tuple[int, str]]:
    """A new run with these settings."""
    return lambda lab: lab.train(**{"run__dir": "new", **overrides})


def resumed(**overrides: object) -> Callable[[Lab], tuple[int, str]]:
    """The run in `run` started again with these settings."""

    def run(lab: Lab) -> tuple[int, str]:
        with lab.copy("run"):
            return lab.train(**overrides)

    return run


def all_corrupt(lab: Lab) -> tuple[int, str]:
    """Both checkpoints hold other bytes than their manifests say."""
    with lab.copy("run") as folder:
        for file in folder.glob("checkpoints/step-*/state/*.distcp"):
            spoil(file)
        return lab.train()


def spoil(file: Path) -> None:
    """Change one byte."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut(folder: Path) -> None:
    """Lose the end of a shard."""
    file = folder / "shard-00000.bin"
    file.write_bytes(file.read_bytes()[:100])


def full_disk(lab: Lab) -> tuple[int, str]:
    """Writes fail in the middle of the state file."""
    return lab.launch(SCRIPT, *lab.settings(run__dir="new", checkpoint__every=5), limit=200_000)


def stepped(act: Callable[[subprocess.Popen[str]], None]) -> Callable[[Lab], tuple[int, str]]:
    """A long run to which something is done once it takes steps."""

    def run(lab: Lab) -> tuple[int, str]:
        def later(launcher: subprocess.Popen[str]) -> None:
            journal, end = Path("new/metrics.jsonl"), time.monotonic() + 60
            while time.monotonic() < end and not (journal.exists() and '"event":"step"' in journal.read_text()):
                time.sleep(0.02)
            act(launcher)

        words = lab.settings(run__dir="new", run__steps=10**6, log__every=1)
        return lab.launch(SCRIPT, *words, act=later)

    return run


def twice(launcher: subprocess.Popen[str]) -> None:
    """SIGTERM, and again."""
    for _ in range(2):
        launcher.send_signal(signal.SIGTERM)
        time.sleep(0.05)


def kill_rank(launcher: subprocess.Popen[str]) -> None:
    """What the kernel does when memory runs out."""
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    for pid in children:
        if b"ddp.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(int(pid), signal.SIGKILL)


def node(**env: str) -> Callable[[Lab], tuple[int, str]]:
    """The second of two nodes."""
    first = {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "1", "PET_NODE_RANK": "1", "PET_MASTER_PORT": "1"}
    whole = {**first, "TRAINSHED_MASTER_TIMEOUT_SECONDS": "2", **env}
    return lambda lab: lab.launch(SCRIPT, env=whole)


@dataclass(frozen=True)
class Case:
    """A bad input and how it is made."""

    what: str
    make: Callable[[Lab], tuple[int, str]]


def pack(*words: str, **files: str) -> Callable[[Lab], tuple[int, str]]:
    """`data pack` of files that are written first."""

    def run(lab: Lab) -> tuple[int, str]:
        for name, content in files.items():
            Path(f"{name}.jsonl").write_text(content)
        return lab.quiet(["data", "pack", *words, "--output", "packed"])

    return run


CASES = (
    Case("an option that does not exist", lambda lab: lab.quiet(["train", "--confg", "x"])),
    Case("a misspelt key", given(run__stepz=3)),
    Case("a key in the wrong section", given(run__warmup_steps=3)),
    Case("a value out of bounds", given(optim__lr=-1)),
    Case("rows that do not divide", given(batch__rows=7)),
    Case("another number of nodes than the config expects", given(world__nodes=2)),
    Case("a checkpoint volume too slow for the grace period", lambda lab: lab.launch(
        SCRIPT, *lab.settings(run__dir="new", preempt__write_mb_per_second=0.01))),
    Case("a shutdown timeout longer than the grace period", lambda lab: lab.launch(
        SCRIPT, env={"PET_SHUTDOWN_TIMEOUT": "60", "TRAINSHED_GRACE_PERIOD": "30"})),
    Case("no dataset", given(data__train="nowhere")),
    Case("an empty text", pack("empty.jsonl", empty="")),
    Case("a line that is not JSON", pack("bad.jsonl", bad='{"text": "a"}\n{"text": \n')),
    Case("a shard that was cut short", data(cut)),
    Case("a shard with one bit changed", data(lambda folder: spoil(folder / "shard-00000.bin"))),
    Case("a shard without its index", data(lambda folder: (folder / "shard-00000.idx").unlink())),
    Case("another tokenizer than the config names", given(data__tokenizer_sha256="abc")),
    Case("too little text for one row", given(data__seq_len=1_000_000)),
    Case("a model whose vocabulary is too small", given(model__vocab=100)),
    Case("a loss that is no number", given(optim__lr=1e30)),
    Case("a checkpoint of another model", resumed(model__width=128)),
    Case("a checkpoint of other data", resumed(data__train="other")),
    Case("no checkpoint is valid", all_corrupt),
    Case("a full disk during a save", full_disk),
    Case("a master that nobody reaches", node(PET_MASTER_ADDR="127.0.0.1")),
    Case("a master's name that does not resolve", node(PET_MASTER_ADDR="master.invalid")),
    Case("a rank killed for its memory", stepped(kill_rank)),
    Case("SIGTERM, and again while it saves", stepped(twice)),
)  # fmt: skip


def rows() -> list[tuple[str, int, str]]:
    """Every case, made in a folder that is gone afterwards."""
    before, handlers = Path.cwd(), {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            lab, found = Lab(), []
            for case in CASES:
                code, message = case.make(lab)
                found.append((case.what, code, message))
                for left in ("new", "packed"):
                    shutil.rmtree(left, ignore_errors=True)
        finally:
            os.chdir(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return found


def table(found: list[tuple[str, int, str]]) -> str:
    """The table as Markdown."""
    lines = ["| bad input | exit | what it says |", "| --- | --- | --- |"]
    for what, code, message in found:
        escaped = message.replace("|", "\\|")
        lines.append(f"| {what} | {code} | {escaped} |")
    return "\n".join(lines)


def shown(page: str) -> str:
    """The table that a page has between the two marks."""
    return page.partition(BEGIN)[2].partition(END)[0].strip()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    text = target.read_text()
    head, _, rest = text.partition(BEGIN)
    made = table(rows())
    target.write_text(f"{head}{BEGIN}\n{made}\n{END}{rest.partition(END)[2]}")
