"""The fault table: every bad input is made for real, and its exit code and message are what docs/trainer.md shows.

`python -m tests.trainer.fault_table docs/trainer.md` writes the table; a test compares. Paths are relative to a folder
of the run's own, and numbers that differ from run to run are replaced, so the same faults give the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.trainer.fault_lab import QUIET, ROOT, SCRIPT, Lab, journal

BEGIN, END = "<!-- faults: made by tests/trainer/fault_table.py -->", "<!-- end of faults -->"


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


def newest_corrupt(lab: Lab) -> tuple[int, str]:
    """The run goes on from the one before, and the journal says why."""
    with lab.copy("run") as folder:
        spoil(next(folder.glob("checkpoints/step-00000010/state/*.distcp")))
        code, message = lab.train()
        told = {event["event"]: event for event in journal(folder)}
        return code, f"skipped {told['skipped']['text']}; resumed from step {told['resume']['step']}; {message}"


def full_disk(lab: Lab) -> tuple[int, str]:
    """Writes fail in the middle of the state file; the checkpoints before it stay whole."""
    with lab.copy("run"):
        ended = lab.launch(SCRIPT, *lab.settings(checkpoint__every=5), limit=200_000)
        verified = lab.quiet(["ckpt", "verify", "run/checkpoints"])[0]
        return ended[0], f"{ended[1]}; the checkpoints before it {'match' if verified == 0 else 'are broken'}"


def killed_while_saving(lab: Lab) -> tuple[int, str]:
    """SIGKILL to the whole run while a save is under way; then it is started again."""
    with lab.copy("run") as folder:
        words = lab.settings(run__steps=10**6, checkpoint__every=1)
        saves = folder / "checkpoints"
        here = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        run = subprocess.Popen([sys.executable, "-m", "trainer", "train", *words], env=here, **QUIET)
        end = time.monotonic() + 60
        while time.monotonic() < end and not list(saves.glob("step-*.tmp/state")):
            pass
        run.kill()
        code, last = 128 - run.wait(), int(max(saves.glob("step-????????")).name[5:])
        half = list(saves.glob("*.tmp"))
        again, _ = lab.train(run__steps=last + 2)
        told = {event["event"]: event for event in journal(folder)}
        assert (again, told["resume"]["step"], list(saves.glob("*.tmp"))) == (0, last, []), told
        assert half, "the kill came too late"
        return code, "nothing; the next start sweeps step-N.tmp and resumes from the checkpoint before"


def two_of_one_rank(lab: Lab) -> tuple[int, str]:
    """Three nodes, two of which claim rank 1; what the refused one says."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    world = {"PET_NNODES": "3", "PET_NPROC_PER_NODE": "1", "PET_MASTER_ADDR": "localhost", "PET_MASTER_PORT": port}
    here = {**os.environ, **world, "PYTHONPATH": str(ROOT), "TRAINSHED_MASTER_TIMEOUT_SECONDS": "40"}
    nodes: dict[str, subprocess.Popen[bytes]] = {}
    for name, rank in (("host-a", "0"), ("host-b", "1"), ("host-c", "1")):
        message = {"TRAINSHED_TERMINATION_LOG": str(Path(name).absolute()), "TRAINSHED_NODE_NAME": name}
        command = [sys.executable, "-m", "trainer", "launch", SCRIPT, *lab.settings(run__dir="new")]
        nodes[name] = subprocess.Popen(command, env={**here, **message, "PET_NODE_RANK": rank}, **QUIET)
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and all(node.poll() is None for node in nodes.values()):
            time.sleep(0.05)
        refused = next(name for name, node in nodes.items() if node.poll() is not None)
        reason = json.loads(Path(refused).read_text())["reason"]
        return nodes[refused].wait(), re.sub("host-. and host-.", "host-b and host-c", reason)
    finally:
        for node in nodes.values():
            node.kill()
            node.wait()


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
    Case("the same after a checkpoint", resumed(optim__lr=1e30)),
    Case("a checkpoint of another model", resumed(model__width=128)),
    Case("a checkpoint of other data", resumed(data__train="other")),
    Case("a name of a model where a folder should be", lambda lab: lab.quiet(
        ["train", "--set", "data.train=data", "--set", "run.dir=new", "--set", "model.hf=org/name"])),
    Case("the newest checkpoint is corrupt", newest_corrupt),
    Case("no checkpoint is valid", all_corrupt),
    Case("a full disk during a save", full_disk),
    Case("a master that nobody reaches", node(PET_MASTER_ADDR="127.0.0.1")),
    Case("a master's name that does not resolve", node(PET_MASTER_ADDR="master.invalid")),
    Case("two nodes with one node rank", two_of_one_rank),
    Case("SIGKILL in the middle of a save", killed_while_saving),
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
