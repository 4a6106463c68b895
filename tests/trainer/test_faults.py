"""The fault table: each bad input with its exit code and what the message must say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import cli, exits, train  # noqa: E402


def truncate(folder: Path) -> None:
    file = folder / "shard-00000.bin"
    file.write_bytes(file.read_bytes()[:100])


def corrupt(folder: Path) -> None:
    file = folder / "shard-00000.bin"
    file.write_bytes(b"\1" + file.read_bytes()[1:])


def remove(folder: Path) -> None:
    (folder / "shard-00000.idx").unlink()


def unpack(folder: Path) -> None:
    (folder / "manifest.json").unlink()


@pytest.mark.parametrize(
    ("break_it", "fragment"),
    [(truncate, "truncated"), (corrupt, "corrupt"), (remove, "missing"), (unpack, "make the dataset with")],
)
def test_bad_data(
    break_it: Callable[[Path], None], fragment: str, packed: Path, settings: Any, tmp_path: Path, capsys: Any
) -> None:
    copy = Path(shutil.copytree(packed, tmp_path / "copy"))
    break_it(copy)
    assert train.main(settings(data__train=copy)) == exits.DATA
    assert fragment in capsys.readouterr().err


FAULTS: list[tuple[dict[str, object], int, str]] = [
    ({"run__stepz": 3}, exits.CONFIG, "did you mean run.steps?"),
    ({"batch__rows": 7}, exits.CONFIG, "not divisible"),
    ({"world__nodes": 2}, exits.CONFIG, "world.nodes is 2"),
    ({"run__device": "cuda"}, exits.CONFIG, "no GPU is visible"),
    ({"data__tokenizer_sha256": "abc"}, exits.DATA, "packed with tokenizer byte"),
    ({"data__digest": "abc"}, exits.DATA, "data.digest wants abc"),
    ({"data__seq_len": 1_000_000}, exits.DATA, "not enough for one row"),
    ({"model__vocab": 100}, exits.DATA, "smaller than the data's 259"),
    ({"data__eval": "/nowhere"}, exits.DATA, "make the dataset with"),
    ({"optim__lr": 1e30}, exits.DIVERGED, "not finite"),
]


@pytest.mark.parametrize(("overrides", "code", "fragment"), FAULTS)
def test_bad_settings(overrides: dict[str, object], code: int, fragment: str, settings: Any, capsys: Any) -> None:
    if fragment == "no GPU is visible" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert train.main(settings(**overrides)) == code
    assert fragment in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--confg", "x"], ["--set"], ["extra"]])
def test_bad_command_lines(arguments: list[str], capsys: Any) -> None:
    assert train.main(arguments) == exits.USAGE
    assert cli.main(["no-such-command"]) == exits.USAGE
    assert "invalid choice" in capsys.readouterr().err


def test_a_bug_is_70_with_its_traceback(settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("trainer.optim.learning_rate", lambda *_: 1 / 0)
    assert train.main(settings()) == exits.BUG
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_every_end_is_in_the_journal(settings: Any, events: Any) -> None:
    assert train.main(settings(run__steps=3)) == exits.FINISHED
    assert events(kind="exit")[-1]["code"] == 0
    assert train.main(settings(run__steps=9, optim__lr=1e30)) == exits.DIVERGED
    assert events(kind="exit")[-1]["name"] == "diverged"


def test_an_unmasked_batch_without_targets_is_no_division_by_zero(settings: Any, tmp_path: Path) -> None:
    """Chat rows whose answers were cut away have nothing to learn; such a step changes nothing and does not fail."""
    from trainer.data.pack import pack
    from trainer.data.tokenizer import ByteTokenizer

    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps({"prompt": "x" * 100, "completion": "y"}) + "\n")
    pack([file], tmp_path / "chat", ByteTokenizer(), kind="chat")
    assert train.main(settings(data__train=tmp_path / "chat", run__steps=2)) == exits.FINISHED
