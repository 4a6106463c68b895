"""What can be said about a transformers folder without transformers: files, kind, hashes. Nothing is downloaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer import exits
from trainer.comm import Comm
from trainer.config import digest_of
from trainer.data.manifest import TokenizerRecord, sha256_of
from trainer.exits import Stop

CONFIG = "config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
TOKENIZER = "tokenizer.json"
VOLATILE = ("transformers_version", "dtype", "torch_dtype", "_name_or_path", "use_cache", "auto_map")
"""Keys of config.json that decide nothing about the trained model. Dropout is among them by its name, as in our own."""

Facts = dict[str, bool | int | float | str]


@dataclass(frozen=True)
class Folder:
    """A folder that holds a model: the content of its config.json and the files of its weights."""

    path: Path
    config: dict[str, Any]
    weights: list[Path]


def refuse(folder: Path | str, text: str) -> Stop:
    """78, about `model.hf`."""
    return Stop(exits.CONFIG, f"model.hf {folder}: {text}")


def open_folder(name: str) -> Folder:
    """The folder after the checks that need no package. Raises `Stop` 78 for what is not there or not supported."""
    path = Path(name)
    if not path.is_dir():
        raise refuse(name, "no such folder, and nothing is downloaded; fetch the model beforehand and name its folder")
    if not (path / CONFIG).is_file():
        adapter = (path / "adapter_config.json").exists()
        raise refuse(name, f"no {CONFIG}{'; this is an adapter: merge it into its base model first' * adapter}")
    try:
        config = json.loads((path / CONFIG).read_text())
    except (OSError, ValueError) as error:
        raise refuse(name, f"cannot read {CONFIG}: {error}") from None
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise refuse(name, f"{CONFIG} names no model_type")
    if config.get("quantization_config"):
        raise refuse(name, "the weights are quantised; train the model that they were made from")
    if config.get("is_encoder_decoder"):
        raise refuse(name, f"{config['model_type']} has an encoder; only decoders (causal language models) are trained")
    return Folder(path, config, _weights(path))


def _weights(path: Path) -> list[Path]:
    if (path / WEIGHTS).is_file():
        return [path / WEIGHTS]
    if not (path / INDEX).is_file():
        raise refuse(path, f"neither {WEIGHTS} nor {INDEX}; other formats are not read: write it by save_pretrained")
    try:
        names = sorted(set(json.loads((path / INDEX).read_text())["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError):
        raise refuse(path, f"{INDEX} has no weight_map") from None
    for name in names:
        if Path(name).name != name or not (path / name).is_file():
            raise refuse(path, f"{name}, which {INDEX} names, is missing")
    return [path / name for name in names]


def weights_digest(folder: Folder, comm: Comm) -> str:
    """SHA-256 over the weights' names and hashes; the ranks share the hashing. Collective."""
    rank, size = comm.world.rank, comm.world.size

    def mine() -> dict[str, str]:
        try:
            return {file.name: sha256_of(file) for number, file in enumerate(folder.weights) if number % size == rank}
        except OSError as error:
            raise Stop(exits.UNHEALTHY, f"{folder.path}: cannot read the weights: {error.strerror}") from None

    parts = comm.everyone(comm.together(mine))
    return digest_of({name: digest for part in parts for name, digest in part.items()})


def facts(folder: Folder, weights: str) -> Facts:
    """What tells this model from others: every setting of config.json but the volatile ones, and the weights."""
    found: Facts = {}
    for key, value in sorted(folder.config.items()):
        if key in VOLATILE or value is None or "drop" in key:
            continue
        found[key] = value if isinstance(value, bool | int | float | str) else json.dumps(value, sort_keys=True)
    return {**found, "weights": weights}


def check_tokenizer(folder: Folder, packed: TokenizerRecord, asked: str | None) -> str | None:
    """A notice when the folder cannot tell, None when all is well.

    Raises `Stop` 65 when the data were packed with another tokenizer than the folder's, unless `data.tokenizer_sha256`
    (`asked`) names that one.
    """
    file = folder.path / TOKENIZER
    if asked is not None:
        return None
    if not file.is_file():
        return f"{folder.path} has no {TOKENIZER}; nobody knows whether the data fit the model"
    own = sha256_of(file)
    if own != packed.sha256:
        raise Stop(
            exits.DATA,
            f"the data were packed with tokenizer {packed.name} {packed.sha256[:12]}, but {file} is {own[:12]}; "
            f"pack with --tokenizer {file}, or set data.tokenizer_sha256 to the data's",
        )
    return None
