"""The configuration: typos are named, values checked, the schema published. Needs no torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainer import config, config_load, exits
from trainer.exits import Stop


def refused(text: str, tmp_path: Path, *overrides: str) -> str:
    file = tmp_path / "run.toml"
    file.write_text(text)
    with pytest.raises(Stop) as caught:
        config_load.load(file, overrides)
    assert caught.value.code == exits.CONFIG
    return caught.value.reason


def test_a_misspelt_key_names_the_nearest_one(tmp_path: Path) -> None:
    assert "run.step: no such key; did you mean run.steps?" in refused("[run]\nstep = 3\n", tmp_path)


def test_a_misspelt_section_names_the_nearest_one(tmp_path: Path) -> None:
    assert "optm: no such key; did you mean optim?" in refused("[optm]\nlr = 1\n", tmp_path)


def test_a_key_of_another_section_is_shown_where_it_belongs(tmp_path: Path) -> None:
    assert "did you mean data.seq_len?" in refused("[model]\nseq_len = 3\n", tmp_path)


def test_an_unlike_key_lists_what_there_is(tmp_path: Path) -> None:
    assert "world has nodes, processes_per_node" in refused("[world]\nxyzzy = 3\n", tmp_path)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = refused("[run]\nstep = 3\n[batch]\nrows = 0\n", tmp_path)
    assert "run.steps" in text
    assert "batch.rows" in text


def test_overrides_are_toml_and_win(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[run]\nsteps = 3\n")
    loaded = config_load.load(file, ["run.steps=7", "run.name=abc", "optim.zero1=true"])
    assert (loaded.run.steps, loaded.run.name, loaded.optim.zero1) == (7, "abc", True)


@pytest.mark.parametrize(
    ("override", "fragment"),
    [
        ("run.steps", "write section.key=value"),
        ("run.stepz=3", "did you mean run.steps?"),
        ("run.steps=many", "run.steps"),
        ("model.preset=9b", "write one of tiny, 3m"),
        ("model.heads=7", "model.width"),
        ("model.kv_heads=5", "must divide model.heads"),
    ],
)
def test_bad_overrides(override: str, fragment: str, tmp_path: Path) -> None:
    assert fragment in refused("", tmp_path, override)


def test_broken_files(tmp_path: Path) -> None:
    assert "not TOML" in refused("[run\n", tmp_path)
    with pytest.raises(Stop, match="cannot read the config"):
        config_load.load(tmp_path / "absent.toml")


def test_the_digest_sees_every_value_and_not_how_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[run]\nsteps = 1000\n")
    assert config_load.load(file).digest() == config.Config().digest()
    assert config_load.load(None, ["run.seed=1"]).digest() != config.Config().digest()


def test_the_published_schema_is_the_current_one(root: Path) -> None:
    published = json.loads((root / "trainer/schemas/config.schema.json").read_text())
    assert published == json.loads(json.dumps(config.json_schema()))


def test_the_example_configs_are_valid(root: Path) -> None:
    files = sorted((root / "trainer/configs").glob("*.toml"))
    assert files
    for file in files:
        config_load.load(file)


def test_the_jobs_environment_fills_only_what_is_not_written(tmp_path: Path) -> None:
    env = {"TRAINSHED_RUN": "llm-r1", "TRAINSHED_CHECKPOINT_DIR": "/ckpt/llm-r1"}
    found = config_load.load(None, [], env).run
    assert (found.name, found.dir) == ("llm-r1", "/ckpt/llm-r1")
    assert config_load.load(None, ["run.dir=here"], env).run.dir == "here"
    assert "run: " in refused("run = 3\n", tmp_path)
