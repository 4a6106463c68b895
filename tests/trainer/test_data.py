"""Packing, hashes, order, and rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="the trainer's packages are not installed (see docs/trainer.md)")
pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import exits  # noqa: E402
from trainer.data import manifest, order, rows  # noqa: E402
from trainer.data.pack import pack  # noqa: E402
from trainer.data.reader import Batches, Dataset  # noqa: E402
from trainer.data.tokenizer import ByteTokenizer, open_tokenizer  # noqa: E402
from trainer.exits import Stop  # noqa: E402


def data_refusal(action: object, code: int = exits.DATA) -> str:
    assert callable(action)
    with pytest.raises(Stop) as caught:
        action()
    assert caught.value.code == code
    return caught.value.reason


def jsonl(tmp_path: Path, *records: object) -> Path:
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def test_packing_twice_gives_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    made = [pack([corpus], tmp_path / name, ByteTokenizer(), shard_tokens=7_000) for name in ("a", "b")]
    assert made[0] == made[1]
    assert (tmp_path / "a/shard-00000.bin").read_bytes() == (tmp_path / "b/shard-00000.bin").read_bytes()


def test_the_tokens_are_the_text(packed: Path, corpus: Path) -> None:
    found = manifest.read(packed)
    assert len(found.shards) > 1
    tokens = np.concatenate([np.fromfile(packed / s.data.name, dtype="<u2") for s in found.shards])
    assert len(tokens) == found.tokens
    text = ByteTokenizer().decode([token for token in tokens.tolist() if token != 256])
    assert text == "".join(part for part in corpus.read_text().split("\n\n") if part.strip())
    assert (tokens == 256).sum() == found.documents


def test_an_existing_folder_is_never_overwritten(corpus: Path, packed: Path) -> None:
    assert "exists already" in data_refusal(lambda: pack([corpus], packed, ByteTokenizer()), exits.USAGE)


@pytest.mark.parametrize(
    ("line", "fragment"),
    [
        ('{"text": "a"', "in.jsonl:1: not JSON"),
        ("[1]", "in.jsonl:1: not a JSON object"),
        ('{"body": "a"}', "no text in field 'text'; it has body"),
        ("", "the dataset would be empty"),
    ],
)
def test_bad_input_is_named_with_its_line(line: str, fragment: str, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(line + "\n")
    assert fragment in data_refusal(lambda: pack([file], tmp_path / "out", ByteTokenizer()))
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.tmp").exists()


def test_unknown_kinds_of_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.exe").write_text("x")
    assert "unknown kind of file" in data_refusal(lambda: pack([tmp_path / "a.exe"], tmp_path / "out", ByteTokenizer()))


def copy_of(packed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(packed, tmp_path / "copy"))


def test_a_changed_byte_is_found(packed: Path, tmp_path: Path) -> None:
    copy = copy_of(packed, tmp_path)
    file = copy / "shard-00001.bin"
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)
    found = manifest.read(copy)
    manifest.verify(copy, found, "size")
    assert "shard-00001.bin: SHA-256 differs" in data_refusal(lambda: manifest.verify(copy, found, "hash"))


def test_a_truncated_shard_is_found_without_hashing(packed: Path, tmp_path: Path) -> None:
    copy = copy_of(packed, tmp_path)
    file = copy / "shard-00000.bin"
    file.write_bytes(file.read_bytes()[:-2])
    assert "truncated" in data_refusal(lambda: manifest.verify(copy, manifest.read(copy), "size"))


def test_the_ranks_share_the_hashing(packed: Path, tmp_path: Path) -> None:
    copy = copy_of(packed, tmp_path)
    file = copy / "shard-00001.bin"
    file.write_bytes(b"\0" * file.stat().st_size)
    found = manifest.read(copy)
    manifest.verify(copy, found, "hash", part=0, parts=2)
    assert "corrupt" in data_refusal(lambda: manifest.verify(copy, found, "hash", part=1, parts=2))


def test_a_manifest_edited_by_hand_is_refused(packed: Path, tmp_path: Path) -> None:
    copy = copy_of(packed, tmp_path)
    file = copy / manifest.FILE
    file.write_text(file.read_text().replace('"documents": ', '"documents": 1', 1))
    assert "changed by hand" in data_refusal(lambda: manifest.read(copy))


def test_a_folder_that_was_not_packed(tmp_path: Path) -> None:
    assert "make the dataset with" in data_refusal(lambda: manifest.read(tmp_path))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100, 1000, 4097])
def test_an_epoch_visits_every_row_once(size: int) -> None:
    for epoch in (0, 1):
        assert sorted(order.permute(5, epoch, size, np.arange(size)).tolist()) == list(range(size))


def test_the_order_is_a_function_of_seed_and_position() -> None:
    whole = order.positions_to_rows(3, 50, 0, 120)
    assert (order.positions_to_rows(3, 50, 37, 40) == whole[37:77]).all()
    assert (order.positions_to_rows(4, 50, 0, 120) != whole).any()
    assert (whole[:50] != whole[50:100]).any(), "each epoch has its own order"


def test_the_order_looks_shuffled() -> None:
    seen = order.positions_to_rows(0, 10_000, 0, 10_000)
    assert abs(np.corrcoef(seen, np.arange(10_000))[0, 1]) < 0.05
    assert (np.diff(seen) == 1).mean() < 0.01


def test_the_global_batch_is_the_same_at_any_world_size(packed: Path) -> None:
    data = Dataset(packed, manifest.read(packed), 32)

    def batch(world: int) -> list[list[int]]:
        parts: list[list[int]] = []
        for rank in range(world):
            made = Batches(data, seed=1, rows=8, micro_rows=2, rank=rank, world=world, pinned=False)
            parts += made.at(24).tokens.reshape(-1, 32).tolist()
            made.close()
        return parts

    assert batch(1) == batch(2) == batch(4)


def test_rows_run_over_the_borders_of_shards(packed: Path) -> None:
    found = manifest.read(packed)
    data = Dataset(packed, found, 32)
    tokens = np.concatenate([np.fromfile(packed / s.data.name, dtype="<u2") for s in found.shards]).astype(np.int64)
    border = found.shards[0].tokens // 32
    for number in (0, border, data.rows - 1):
        inputs, targets, segments = data.row(number)
        assert (inputs == tokens[number * 32 : number * 32 + 32]).all()
        assert (targets == tokens[number * 32 + 1 : number * 32 + 33]).all()
        assert segments is None


CHAT = [
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
    {"prompt": "2+2?", "completion": "4"},
    {"prompt": "a" * 60, "completion": "b" * 60},
]


def chat_data(tmp_path: Path, length: int) -> Dataset:
    found = pack([jsonl(tmp_path, *CHAT)], tmp_path / "chat", ByteTokenizer(), kind="chat")
    return Dataset(tmp_path / "chat", found, length)


def test_only_the_assistants_words_are_learned(tmp_path: Path) -> None:
    data = chat_data(tmp_path, 200)
    learned: list[str] = []
    for number in range(data.rows):
        _, targets, segments = data.row(number)
        assert segments is not None
        for segment in sorted(set(segments.tolist())):
            picked = targets[(segments == segment) & (targets != -100)].tolist()
            learned.append("".join("|" if token == 258 else chr(token) for token in picked))
    assert sorted(filter(None, learned)) == ["4|", "Hello|", "b" * 60 + "|"]


def test_padding_and_other_documents_are_segments_of_their_own(tmp_path: Path) -> None:
    data = chat_data(tmp_path, 200)
    for number in range(data.rows):
        inputs, targets, segments = data.row(number)
        assert segments is not None
        assert (np.diff(segments) >= 0).all()
        padding = segments == segments.max()
        if (inputs[padding] == 256).all():
            assert (targets[padding] == -100).all()


def test_a_document_longer_than_a_row_is_cut_and_counted(tmp_path: Path) -> None:
    data = chat_data(tmp_path, 40)
    assert data.plan is not None
    assert data.plan.cut == 1


def test_best_fit_fills_rows_and_loses_no_document() -> None:
    lengths = np.asarray([5, 3, 3, 2, 7, 1, 8, 9], dtype=np.int64)
    found = rows.plan(lengths, 8)
    assert sorted(found.documents.tolist()) == list(range(8))
    for row in range(len(found)):
        inside = lengths[found.documents[found.starts[row] : found.starts[row + 1]]]
        assert np.minimum(inside, 8).sum() <= 8
    assert len(found) == 5, "37 tokens, one of them cut away, fit in five rows of eight"
    assert found.cut == 1


@pytest.mark.parametrize(
    ("record", "fragment"),
    [
        ({"text": "x"}, "neither messages nor prompt"),
        ({"messages": [{"role": "user", "content": "x"}]}, "nothing to learn"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "a message needs a role"),
        ({"messages": ["x"]}, "a message needs a role"),
    ],
)
def test_bad_conversations(record: object, fragment: str, tmp_path: Path) -> None:
    file = jsonl(tmp_path, record)
    assert fragment in data_refusal(lambda: pack([file], tmp_path / "out", ByteTokenizer(), kind="chat"))


def test_special_tokens_in_the_text_stay_text() -> None:
    assert max(ByteTokenizer().encode("<|im_end|>")) < 256


def test_a_tokenizer_file(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="the extra `tokenizers` is not installed")
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {"<|endoftext|>": 0, "hello": 1, "world": 2, "[UNK]": 3}
    made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    found = pack(
        [jsonl(tmp_path, {"text": "hello world"})], tmp_path / "out", open_tokenizer(f"{tmp_path}/tokenizer.json")
    )
    assert np.fromfile(tmp_path / "out/shard-00000.bin", dtype="<u2").tolist() == [1, 2, 0]
    assert found.tokenizer.vocab == 4
    (tmp_path / "broken.json").write_text("{")
    assert "not a tokenizer file" in data_refusal(lambda: open_tokenizer(f"{tmp_path}/broken.json"))


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")

    parquet.write_table(pyarrow.table({"text": ["ab", "c"]}), tmp_path / "in.parquet")
    pack([tmp_path / "in.parquet"], tmp_path / "out", ByteTokenizer())
    assert np.fromfile(tmp_path / "out/shard-00000.bin", dtype="<u2").tolist() == [97, 98, 256, 99, 256]
    (tmp_path / "bad.parquet").write_text("no")
    assert "not parquet" in data_refusal(lambda: pack([tmp_path / "bad.parquet"], tmp_path / "o", ByteTokenizer()))


def test_diff_names_what_changed(tmp_path: Path, capsys: Any) -> None:
    from trainer import cli

    for name, text in (("a", "one"), ("b", "two"), ("c", "three")):
        (tmp_path / f"{name}.txt").write_text(text)
    old, new = tmp_path / "old", tmp_path / "new"
    assert cli.main(["data", "pack", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "--output", str(old)]) == 0
    (tmp_path / "b.txt").write_text("twice")
    assert cli.main(["data", "pack", str(tmp_path / "b.txt"), str(tmp_path / "c.txt"), "--output", str(new)]) == 0
    capsys.readouterr()
    assert cli.main(["data", "diff", str(old), str(new)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sources"] == {"added": ["c.txt"], "removed": ["a.txt"], "changed": ["b.txt"]}
    assert (found["same"], found["tokens"], found["documents"]) == (False, 4, 0)
    assert cli.main(["data", "diff", str(old), str(old)]) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True
