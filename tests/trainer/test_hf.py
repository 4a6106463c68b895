"""Training a local folder of transformers: same loss, same promises as our own model, and every folder it refuses."""

from __future__ import annotations

import json
import shutil
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")
transformers = pytest.importorskip("transformers", reason="transformers is not installed (trainer/requirements-hf.txt)")

from trainer import cli, exits, train  # noqa: E402
from trainer.checkpoint import layout  # noqa: E402
from trainer.exits import Stop  # noqa: E402
from trainer.hf import folder as folders  # noqa: E402
from trainer.hf import model as models  # noqa: E402
from trainer.hf.probe import probe  # noqa: E402
from trainer.model import IGNORE  # noqa: E402

SMALL = {
    "vocab_size": 320,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
GPT2 = {"vocab_size": 320, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "resid_pdrop": 0.2}
KINDS: dict[str, dict[str, Any]] = {
    "llama": SMALL,
    "gpt2": GPT2,
    "mistral": {**SMALL, "sliding_window": 8},
    "qwen3": {**SMALL, "head_dim": 8},
    "mixtral": {**SMALL, "num_local_experts": 4},
    "bloom": {**SMALL, "n_layer": 2, "n_head": 4},
    "bert": SMALL,
    "mamba": {**SMALL, "state_size": 4},
}


def make(path: Path, kind: str = "llama", seed: int = 0, **changes: Any) -> Path:
    """A folder of a tiny model with random weights."""
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(kind, **{**KINDS[kind], **changes})
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(path)
    return path


def load(path: Path, **options: bool) -> models.Transformer:
    opened = folders.open_folder(str(path))
    return models.load(opened, folders.facts(opened, "weights"), **options)[0]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A tiny folder of each kind, made once; not to be changed."""
    base = tmp_path_factory.mktemp("folders")

    def find(kind: str) -> Path:
        return base / kind if (base / kind).exists() else make(base / kind, kind)

    return find


@pytest.fixture
def run(settings: Any) -> Callable[..., list[str]]:
    """Settings of a toy run of a folder."""

    def settle(folder: Path | str, name: str = "run", **overrides: object) -> list[str]:
        words = settings(name, **overrides)
        pairs = list(zip(words[::2], words[1::2], strict=True))
        kept = [word for pair in pairs if not pair[1].startswith("model.") for word in pair]
        return [*kept, "--set", f"model.hf={folder}"]

    return settle


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", "qwen3", "mixtral"])
def test_the_loss_is_that_of_transformers(kind: str, made: Any) -> None:
    model = load(made(kind)).eval()
    tokens = torch.randint(0, 320, (3, 33))
    with torch.no_grad():
        ours = model(tokens[:, :-1], tokens[:, 1:]) / (3 * 32)
        theirs = transformers.AutoModelForCausalLM.from_pretrained(made(kind))(input_ids=tokens, labels=tokens).loss
    assert torch.allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", "qwen3", "mixtral"])
def test_documents_of_a_chat_row_are_as_if_alone(kind: str, made: Any) -> None:
    """Also where a sliding window (8) is shorter than a document, and with several rows in a batch."""
    model = load(made(kind)).eval()
    tokens = torch.randint(0, 320, (2, 40))
    segments = torch.tensor([[0] * 15 + [1] * 24 + [2], [0] * 40])
    with torch.no_grad():
        packed = model.logits(tokens, segments)
        assert torch.allclose(packed[:1, 15:39], model.logits(tokens[:1, 15:39]), atol=1e-5)
        assert torch.allclose(packed[1:], model.logits(tokens[1:]), atol=1e-5)
        assert not torch.allclose(packed[:1, 15:39], model.logits(tokens[:1])[:, 15:39], atol=1e-3)
    probe(model, "folder", torch.device("cpu"), documents=True)


@pytest.mark.parametrize(
    ("kind", "documents", "fragment"),
    [
        ("bert", False, "lets a position see later ones"),
        ("bloom", True, "cannot keep the documents of a chat row apart"),
        ("mamba", True, "cannot keep the documents of a chat row apart"),
    ],
)
def test_the_probe_refuses(kind: str, documents: bool, fragment: str, made: Any) -> None:
    model = load(made(kind))
    with pytest.raises(Stop, match=fragment) as caught:
        probe(model, "folder", torch.device("cpu"), documents=documents)
    assert caught.value.code == exits.CONFIG
    assert model.training
    assert all(p.grad is None for p in model.parameters())


def test_an_idle_parameter_is_refused(made: Any) -> None:
    model = load(made("llama"))
    model.hf.register_parameter("idle", torch.nn.Parameter(torch.zeros(2)))
    with pytest.raises(Stop, match="does not use idle for the loss"):
        probe(model, "folder", torch.device("cpu"), documents=False)


def test_activation_checkpointing_changes_no_gradient_even_with_dropout(made: Any) -> None:
    tokens = torch.randint(0, 320, (2, 33))
    gradients = []
    for option in (False, True):
        model = load(made("gpt2"), activation_checkpointing=option)
        torch.manual_seed(7)
        model(tokens[:, :-1], tokens[:, 1:]).backward()
        gradients.append({name: p.grad for name, p in model.named_parameters()})
    assert len(gradients[0]) > 10
    for name in gradients[0]:
        assert torch.equal(gradients[0][name], gradients[1][name]), name


def test_our_own_export_trains_on_as_a_folder(settings: Any, run: Any, tmp_path: Path, events: Any) -> None:
    """The same loss on the same rows and the same count of FLOPs, whichever class holds the weights."""
    from trainer.model import GPT, Spec

    assert train.main(settings("own", run__steps=3, model__dropout=0, data__seq_len=64)) == exits.FINISHED
    own = tmp_path / "own/checkpoints" / layout.name_of(3)
    assert cli.main(["export", str(own), str(tmp_path / "folder")]) == 0
    model = load(tmp_path / "folder").eval()
    shape: Any = {**layout.read_manifest(own).meta.model, "dropout": 0.0}
    spec = Spec(**shape)
    assert model.spec.flops_per_token(64) == spec.flops_per_token(64)
    from trainer.export import read_weights

    ours = GPT(spec, 64).eval()
    ours.load_state_dict(read_weights(own))
    tokens = torch.randint(0, 259, (2, 65))
    with torch.no_grad():
        both = [made(tokens[:, :-1], tokens[:, 1:]) for made in (ours, model)]
    assert torch.allclose(both[0], both[1], rtol=1e-5)
    assert train.main(run(tmp_path / "folder", "more", run__steps=2)) == exits.FINISHED
    assert "nobody knows whether the data fit" in str(events("more", "notice"))


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mixtral"])
def test_a_trained_folder_comes_back_as_one(kind: str, made: Any, run: Any, tmp_path: Path, events: Any) -> None:
    """`from_pretrained` reads it, its loss is the trained one, and the network is never asked for anything."""
    source = tmp_path / "source"
    shutil.copytree(made(kind), source)
    (source / "generation_config.json").write_text("{}")
    assert train.main(run(source, run__steps=30, optim__lr=0.01, speed__dtype="bfloat16")) == exits.FINISHED
    losses = [event["loss"] for event in events(kind="step")]
    assert losses[-1] < losses[0] - 1
    checkpoint = tmp_path / "run/checkpoints" / layout.name_of(30)
    assert cli.main(["export", str(checkpoint), str(tmp_path / "out")]) == 0
    assert json.loads((tmp_path / "out/generation_config.json").read_text()) == {}
    back = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    from trainer.export import read_weights

    trained = load(source).eval()
    trained.load_state_dict(read_weights(checkpoint), strict=False)
    tokens = torch.randint(0, 320, (2, 33))
    with torch.no_grad():
        assert torch.equal(back(tokens).logits, trained.logits(tokens))
    shutil.rmtree(source)
    assert cli.main(["export", str(checkpoint), str(tmp_path / "half"), "--dtype", "bfloat16"]) == 0
    assert transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "half").dtype == torch.bfloat16


def test_nothing_is_asked_of_the_network(
    made: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert train.main(run(made("llama"), run__steps=1)) == exits.FINISHED
    checkpoint = tmp_path / "run/checkpoints" / layout.name_of(1)
    assert cli.main(["export", str(checkpoint), str(tmp_path / "out")]) == 0
    assert train.main(run("meta-llama/Llama-3.2-1B", "remote")) == exits.CONFIG
    assert "no such folder, and nothing is downloaded" in capsys.readouterr().err


def test_two_ranks_stopped_in_between_end_with_the_same_weights(
    made: Any, run: Any, launch: Any, script: str, events: Any, wait_for: Any, state_hash: Any
) -> None:
    """GPT-2 with its dropout on, ZeRO-1, accumulation: SIGTERM, and all state is that of a run nobody stopped."""
    more = {"run__steps": 40, "optim__zero1": "true"}
    code, output = launch("--nproc-per-node", "2", script, *run(made("gpt2"), "whole", **more)).end()
    assert code == exits.FINISHED, output
    first = launch("--nproc-per-node", "2", script, *run(made("gpt2"), "stopped", **more))
    wait_for(lambda: any(event["step"] >= 10 for event in events("stopped", "step")))
    first.process.send_signal(signal.SIGTERM)
    code, output = first.end()
    assert code == exits.PREEMPTED, output
    code, output = launch("--nproc-per-node", "2", script, *run(made("gpt2"), "stopped", **more)).end()
    assert code == exits.FINISHED, output
    assert state_hash("stopped", 40) == state_hash("whole", 40)


def test_a_chat_run_of_a_folder(made: Any, run: Any, tmp_path: Path, capsys: Any) -> None:
    from trainer.data.pack import pack
    from trainer.data.tokenizer import ByteTokenizer

    file = tmp_path / "chat.jsonl"
    file.write_text("".join(json.dumps({"prompt": f"{n}?", "completion": f"{n}!"}) + "\n" for n in range(40)))
    pack([file], tmp_path / "chat", ByteTokenizer(), kind="chat")
    assert train.main(run(made("llama"), data__train=tmp_path / "chat", run__steps=3)) == exits.FINISHED
    assert train.main(run(made("bloom"), "no", data__train=tmp_path / "chat", run__steps=3)) == exits.CONFIG
    assert "only text data can be used" in capsys.readouterr().err


def test_another_base_is_another_model(made: Any, run: Any, tmp_path: Path, capsys: Any) -> None:
    """The checkpoint's digest covers the settings and the weights that the run began with."""
    assert train.main(run(made("llama"), run__steps=2)) == exits.FINISHED
    meta = layout.read_manifest(tmp_path / "run/checkpoints" / layout.name_of(2)).meta
    assert meta.model["hidden_size"] == 32
    assert len(str(meta.model["weights"])) == 64
    assert train.main(run(make(tmp_path / "b", seed=1), run__steps=3)) == exits.CONFIG
    assert "the model differs from the checkpoint's: weights" in capsys.readouterr().err
    assert train.main(run(make(tmp_path / "c", hidden_size=64), run__steps=3)) == exits.CONFIG
    assert "hidden_size 32 -> 64" in capsys.readouterr().err
    (tmp_path / "d").mkdir()
    shutil.copytree(made("llama"), tmp_path / "d/moved")
    assert train.main(run(tmp_path / "d/moved", run__steps=3)) == exits.FINISHED, "the path is no part of the model"


def test_the_tokenizer_of_the_data_must_be_the_folders(made: Any, run: Any, tmp_path: Path, capsys: Any) -> None:
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers.models import WordLevel

    folder = tmp_path / "folder"
    shutil.copytree(made("llama"), folder)
    words = {"<|endoftext|>": 0, "[UNK]": 1, "a": 2, "b": 3}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (tmp_path / "text.txt").write_text("a b " * 200)
    asked = ["--tokenizer", str(folder / "tokenizer.json"), "--output", str(tmp_path / "fits")]
    assert cli.main(["data", "pack", str(tmp_path / "text.txt"), *asked]) == 0
    fits = {"data__train": tmp_path / "fits", "run__steps": 2}
    assert train.main(run(folder, **fits)) == exits.FINISHED
    assert cli.main(["export", str(tmp_path / "run/checkpoints" / layout.name_of(2)), str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    assert train.main(run(folder, "bytes", run__steps=2)) == exits.DATA
    assert "the data were packed with tokenizer byte" in capsys.readouterr().err
    named = json.loads((tmp_path / "fits/manifest.json").read_text())["tokenizer"]["sha256"]
    assert train.main(run(made("llama"), "named", **fits, data__tokenizer_sha256=named)) == exits.FINISHED


def spoil(change: Callable[[Path], object], kind: str = "llama") -> Callable[[Any, Path], Path]:
    """A folder that is broken by `change`."""

    def build(made: Any, tmp_path: Path) -> Path:
        folder = tmp_path / "spoilt"
        shutil.copytree(made(kind), folder)
        change(folder)
        return folder

    return build


def edit(**values: Any) -> Callable[[Any, Path], Path]:
    """A folder with other values in its config.json."""

    def change(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **values}))

    return spoil(change)


def cut(folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])


def lose_a_tensor(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def index_without_shard(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "model-00001.safetensors"}}))


def become_an_adapter(folder: Path) -> None:
    (folder / "config.json").rename(folder / "adapter_config.json")


@pytest.mark.parametrize(
    ("build", "code", "fragment"),
    [
        (spoil(lambda f: (f / "config.json").unlink()), exits.CONFIG, "no config.json"),
        (spoil(become_an_adapter), exits.CONFIG, "merge it into its base model first"),
        (spoil(lambda f: (f / "config.json").write_text("{")), exits.CONFIG, "cannot read config.json"),
        (spoil(lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin")), exits.CONFIG, "neither model.s"),
        (spoil(index_without_shard), exits.CONFIG, "model-00001.safetensors, which"),
        (spoil(cut), exits.DATA, "the weights are corrupt"),
        (spoil(lose_a_tensor), exits.CONFIG, "the weights lack model.layers.1.mlp.up_proj.weight"),
        (edit(model_type="llamma"), exits.CONFIG, "knows no model_type 'llamma'"),
        (edit(model_type="own", auto_map={"AutoConfig": "code.Config"}), exits.CONFIG, "code in the folder, which is"),
        (edit(model_type="vit"), exits.CONFIG, "no causal language model of model_type 'vit'"),
        (edit(is_encoder_decoder=True), exits.CONFIG, "has an encoder"),
        (edit(quantization_config={"quant_method": "awq"}), exits.CONFIG, "the weights are quantised"),
        (edit(hidden_size=48), exits.CONFIG, "transformers cannot load it"),
        (edit(max_position_embeddings=16), exits.CONFIG, "data.seq_len 32 is longer than the model's 16 positions"),
        (lambda made, path: make(path / "few", vocab_size=100), exits.DATA, "vocabulary 100 is smaller than"),
    ],
)  # fmt: skip
def test_a_folder_that_is_refused(
    build: Any, code: int, fragment: str, made: Any, run: Any, tmp_path: Path, capsys: Any
) -> None:
    assert train.main(run(build(made, tmp_path))) == code
    assert fragment in capsys.readouterr().err


def test_the_rest_of_the_section_must_be_left_alone(made: Any, settings: Any, capsys: Any) -> None:
    assert train.main([*settings(), "--set", f"model.hf={made('llama')}"]) == exits.CONFIG
    assert "model.dropout: model.hf is set" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("there", "fragment"), [(None, "is not installed: pip install transformers=="), ("4.57.1", "not 4.57.1")]
)
def test_without_the_package(
    there: str | None, fragment: str, made: Any, run: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def found(name: str) -> Any:
        if there is None:
            raise ModuleNotFoundError(name)
        return type("transformers", (), {"__version__": there})

    arguments = run(made("llama"))
    monkeypatch.setattr(models, "import_module", found)
    assert train.main(arguments) == exits.CONFIG
    assert fragment in capsys.readouterr().err


def test_the_message_names_the_pinned_version(root: Path) -> None:
    pins = (root / "trainer/requirements-hf.txt").read_text().splitlines()
    assert models.INSTALL.removeprefix("pip install ") in pins


def test_weights_ignore_targets_that_are_not_learned(made: Any) -> None:
    model = load(made("llama")).eval()
    tokens, targets = torch.randint(0, 320, (2, 16)), torch.randint(0, 320, (2, 16))
    targets[1] = IGNORE
    assert torch.allclose(model(tokens, targets), model(tokens[:1], targets[:1]), rtol=1e-5)
