"""Checkpoints on one process: what is chosen, what is refused, what a failed save leaves behind."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import cli, exits, train  # noqa: E402
from trainer.checkpoint import layout, load, manage  # noqa: E402
from trainer.checkpoint.layout import BadCheckpoint  # noqa: E402
from trainer.exits import Stop  # noqa: E402


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    """Checkpoints of steps 4, 8 and 10."""
    assert train.main(settings(run__steps=10, checkpoint__every=4, checkpoint__keep=5)) == exits.FINISHED
    return tmp_path / "run/checkpoints"


def damage(checkpoint: Path, how: str) -> None:
    shard = next((checkpoint / layout.STATE).glob("__0_*"))
    if how == "flipped bit":
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
    elif how == "truncated":
        shard.write_bytes(shard.read_bytes()[:-1])
    elif how == "missing file":
        (checkpoint / "rng-00000.pt").unlink()
    elif how == "missing manifest":
        (checkpoint / layout.MANIFEST).unlink()
    else:
        (checkpoint / layout.MANIFEST).write_text("{")


def test_latest_names_the_newest_and_the_rest_is_pruned(settings: Any, tmp_path: Path) -> None:
    assert train.main(settings(run__steps=10, checkpoint__every=2, checkpoint__keep=2)) == exits.FINISHED
    names = sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir())
    assert names == ["latest", "step-00000008", "step-00000010"]
    assert (tmp_path / "run/checkpoints/latest").read_text() == "step-00000010\n"


@pytest.mark.parametrize("how", ["flipped bit", "truncated", "missing file", "missing manifest", "broken manifest"])
def test_a_bad_checkpoint_is_skipped_named_and_moved_aside(how: str, folder: Path, settings: Any, events: Any) -> None:
    damage(folder / "step-00000010", how)
    assert train.main(settings(run__steps=12, checkpoint__every=4, checkpoint__keep=5)) == exits.FINISHED
    assert events(kind="resume")[0]["step"] == 8
    assert "step-00000010" in events(kind="skipped")[0]["text"]
    assert (folder / "step-00000010.corrupt").is_dir()
    layout.verify(folder / "step-00000012")


def test_with_no_valid_checkpoint_the_run_does_not_start_from_nothing(folder: Path, settings: Any, capsys: Any) -> None:
    for _, path in layout.committed(folder):
        damage(path, "truncated")
    assert train.main(settings(run__steps=12)) == exits.UNHEALTHY
    assert "no valid checkpoint" in capsys.readouterr().err
    assert len(layout.committed(folder)) == 3, "nothing is moved or removed"
    assert train.main(settings(run__steps=12, checkpoint__resume="never")) == exits.FINISHED
    assert len(list(folder.glob("*.set-aside"))) == 3


def test_a_run_that_must_resume_refuses_to_start_without(settings: Any, capsys: Any) -> None:
    assert train.main(settings(checkpoint__resume="must")) == exits.CONFIG
    assert "has no checkpoint" in capsys.readouterr().err


def test_a_finished_run_started_again_ends_at_once(folder: Path, settings: Any, events: Any) -> None:
    before = len(events(kind="step"))
    assert train.main(settings(run__steps=10)) == exits.FINISHED
    assert len(events(kind="step")) == before


def test_another_model_is_refused_unless_told(folder: Path, settings: Any, capsys: Any) -> None:
    other = {"run__steps": 12, "model__hidden": 192}
    assert train.main(settings(**other)) == exits.CONFIG
    error = capsys.readouterr().err
    assert "hidden 128 -> 192" in error
    assert 'checkpoint.allow_changed = [\\"model\\"]' in error
    assert train.main(settings(**other, checkpoint__allow_changed='["model"]')) == exits.FINISHED


def test_other_data_is_refused_unless_told(
    folder: Path, settings: Any, capsys: Any, corpus: Path, tmp_path: Path
) -> None:
    from trainer.data.pack import pack
    from trainer.data.tokenizer import ByteTokenizer

    pack([corpus], tmp_path / "other", ByteTokenizer())
    other = {"run__steps": 12, "data__train": tmp_path / "other"}
    assert train.main(settings(**other)) == exits.CONFIG
    assert "the data differs from the checkpoint's" in capsys.readouterr().err
    assert train.main(settings(**other, checkpoint__allow_changed='["data"]')) == exits.FINISHED


def test_a_changed_learning_rate_is_only_noted(folder: Path, settings: Any, events: Any) -> None:
    assert train.main(settings(run__steps=12, optim__lr=0.5e-3)) == exits.FINISHED
    assert any("optim.lr: 0.003 -> 0.0005" in event["text"] for event in events(kind="notice"))


def test_a_diverged_run_keeps_its_last_good_checkpoint(folder: Path, settings: Any, capsys: Any) -> None:
    assert train.main(settings(run__steps=40, optim__lr=1e30, checkpoint__every=1)) == exits.DIVERGED
    assert "the last good checkpoint is step" in capsys.readouterr().err
    for _, path in layout.committed(folder):
        layout.verify(path)
        weights = manage.diff(path, path)
        assert weights == []


def test_a_full_disk_during_a_save_leaves_the_old_checkpoint(folder: Path, settings: Any, tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes real writes fail in the middle of the state file."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    arguments = settings(run__steps=30, checkpoint__every=5, checkpoint__keep=1)
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "train", *arguments],
        preexec_fn=limit,
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == exits.UNHEALTHY, done.stderr
    assert "the save failed" in done.stderr
    assert "MB free on the volume" in done.stderr
    assert layout.committed(folder)[0][0] == 10
    layout.verify(folder / "step-00000010")
    assert not list(folder.glob("*.tmp"))


def test_a_volume_that_cannot_be_written_is_69(settings: Any, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "run").write_text("a file where the folder should be")
    assert train.main(settings()) == exits.UNHEALTHY
    assert "cannot write the journal" in capsys.readouterr().err


def test_ls_verify_prune_and_diff(folder: Path, capsys: Any) -> None:
    assert cli.main(["ckpt", "ls", str(folder)]) == 0
    assert [row["step"] for row in json.loads(capsys.readouterr().out)] == [10, 8, 4]
    assert cli.main(["ckpt", "diff", str(folder / "step-00000004"), str(folder / "step-00000008")]) == 0
    printed = capsys.readouterr().out
    assert "step: 4 -> 8" in printed
    assert "model.embed_tokens.weight: differs by at most" in printed
    damage(folder / "step-00000010", "flipped bit")
    assert cli.main(["ckpt", "verify", str(folder)]) == exits.DATA
    assert "SHA-256 differs" in capsys.readouterr().out
    assert cli.main(["ckpt", "prune", str(folder), "--keep", "1"]) == 0
    assert [step for step, _ in layout.committed(folder)] == [8], "the newest valid one stays"


def test_the_folder_of_the_run_means_its_checkpoints(folder: Path, tmp_path: Path, capsys: Any) -> None:
    run = folder.parent
    assert folder.name == layout.FOLDER
    assert cli.main(["ckpt", "ls", str(run)]) == 0
    assert [row["step"] for row in json.loads(capsys.readouterr().out)] == [10, 8, 4]
    assert cli.main(["ckpt", "verify", str(run)]) == 0
    assert cli.main(["export", str(run), str(tmp_path / "out")]) == exits.USAGE
    assert f"has 3 checkpoints; name one of them, such as {folder / 'step-00000010'}" in capsys.readouterr().err


def test_prune_never_removes_the_last_hope(folder: Path) -> None:
    for _, path in layout.committed(folder):
        damage(path, "truncated")
    with pytest.raises(Stop, match="nothing was removed"):
        manage.prune(folder, 1)
    assert len(layout.committed(folder)) == 3


def test_a_renamed_checkpoint_is_not_another_step(folder: Path) -> None:
    shutil.copytree(folder / "step-00000004", folder / "step-00000099")
    with pytest.raises(BadCheckpoint, match="belongs to step 4"):
        layout.verify(folder / "step-00000099")


def test_unfinished_saves_are_swept_at_the_next_start(folder: Path) -> None:
    (folder / "step-00000012.tmp").mkdir()
    load.choose(folder)
    assert (folder / "step-00000012.tmp").exists(), "only the rank that tidies may remove anything"
    load.choose(folder, tidy=True)
    assert not (folder / "step-00000012.tmp").exists()


def test_exported_weights_are_the_trained_ones(folder: Path, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    from trainer.export import read_weights

    assert cli.main(["export", str(folder / "step-00000010"), str(tmp_path / "out")]) == 0
    exported = safetensors.load_file(tmp_path / "out/model.safetensors")
    trained = read_weights(folder / "step-00000010")
    assert {f"model.{name}" for name in trained} == set(exported)
    assert all(torch.equal(exported[f"model.{name}"], tensor) for name, tensor in trained.items())
    assert cli.main(["export", str(folder / "step-00000010"), str(tmp_path / "out")]) == exits.USAGE


def test_transformers_computes_the_same_logits(folder: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from trainer.export import export, read_weights
    from trainer.model import GPT, Spec

    export(folder / "step-00000010", tmp_path / "out")
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "out").eval()
    meta = layout.read_manifest(folder / "step-00000010").meta
    spec: Any = {**meta.model, "dropout": 0.0}
    ours = GPT(Spec(**spec), meta.seq_len).eval()
    ours.load_state_dict(read_weights(folder / "step-00000010"))
    tokens = torch.randint(0, 259, (2, 32))
    with torch.no_grad():
        assert torch.allclose(ours.logits(tokens), theirs(tokens).logits, atol=1e-4)


def test_staged_state_does_not_follow_the_weights(settings: Callable[..., list[str]], tmp_path: Path) -> None:
    """An asynchronous save holds the step it was begun at although training went on (pytorch#144657)."""
    for name, mode in (("sync", "false"), ("async", "true")):
        arguments = settings(name, checkpoint__every=1, checkpoint__keep=30, checkpoint__asynchronous=mode)
        assert train.main(arguments) == exits.FINISHED
    for step in (1, 7, 19):
        paths = [tmp_path / name / "checkpoints" / layout.name_of(step) for name in ("sync", "async")]
        lines = manage.diff(*paths)
        assert all(line.startswith(("config", "config_digest")) for line in lines), lines
    assert os.environ.get("RANK") is None
