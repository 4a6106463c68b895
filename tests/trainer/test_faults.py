"""The fault table: each bad input with its exit code and what the message must say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import cli, exits, train  # noqa: E402


def test_every_fault_has_the_code_and_the_message_of_the_page(root: Path) -> None:
    """Each is made for real. After a change: `python -m tests.trainer.fault_table docs/trainer.md`."""
    from tests.trainer import fault_table

    assert fault_table.shown((root / "docs/trainer.md").read_text()) == fault_table.table(fault_table.rows())


@pytest.mark.parametrize(
    ("overrides", "code", "fragment"),
    [
        ({"run__device": "cuda"}, exits.CONFIG, "no GPU is visible"),
        ({"data__digest": "abc"}, exits.DATA, "data.digest wants abc"),
        ({"data__eval": "/nowhere"}, exits.DATA, "make the dataset with"),
    ],
)
def test_other_bad_settings(overrides: dict[str, object], code: int, fragment: str, settings: Any, capsys: Any) -> None:
    if fragment == "no GPU is visible" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert train.main(settings(**overrides)) == code
    assert fragment in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--confg", "x"], ["--set"], ["extra"]])
def test_bad_command_lines(arguments: list[str], capsys: Any) -> None:
    assert train.main(arguments) == exits.USAGE
    assert cli.main(["no-such-command"]) == exits.USAGE
    assert "invalid choice" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "near"), [(["lunch"], "launch"), (["data", "pakc"], "pack"), (["ckpt", "list"], "")])
def test_the_nearest_command_is_named(words: list[str], near: str, capsys: Any) -> None:
    assert cli.main(words) == exits.USAGE
    told = capsys.readouterr().err
    assert (f"did you mean {near}?" in told) == bool(near)
    assert "choose from" in told


def test_a_valid_config_is_said_to_be(capsys: Any) -> None:
    assert cli.main(["config", "check", "--set", "run.steps=3"]) == exits.FINISHED
    assert "the defaults: valid, digest " in capsys.readouterr().out


def test_a_bug_is_70_with_its_traceback(settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("trainer.optim.learning_rate", lambda *_: 1 / 0)
    assert train.main(settings()) == exits.BUG
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_loss_that_jumps_ends_the_run(settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from trainer import optim

    rate = optim.learning_rate
    monkeypatch.setattr(
        "trainer.optim.learning_rate", lambda config, step, _: 3.0 if step == 15 else rate(config, step, 30)
    )
    asked = settings(run__steps=30, checkpoint__every=10, optim__spike_factor=1.5)
    assert train.main(asked) == exits.DIVERGED
    told = capsys.readouterr().err
    assert "the loss jumped to" in told
    assert "the last good checkpoint is step 10" in told
    assert train.main(settings("calm", run__steps=30, optim__spike_factor=50)) == exits.FINISHED


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
