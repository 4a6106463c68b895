"""A checkpoint of a transformers model as a folder that `from_pretrained` reads."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainer import exits
from trainer.checkpoint.layout import Meta
from trainer.exits import Stop
from trainer.hf.model import package

BESIDE = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "generation_config.json",
)
"""What a model's folder holds besides the model; training does not change it, so it is copied, where it still is."""


def write(meta: Meta, weights: dict[str, Tensor], output: Path, dtype: torch.dtype) -> list[str]:
    """Write config.json and safetensors by transformers itself into the new `output`; returns the names copied.

    Raises `Stop` 78 when transformers is missing or another one than wrote the names of the weights.
    """
    transformers = package()
    assert meta.transformers is not None
    kind = str(meta.transformers["model_type"])
    config = transformers.AutoConfig.for_model(**{**meta.transformers, "model_type": kind})
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    _assign(model, {name.removeprefix("hf."): tensor.to(dtype) for name, tensor in weights.items()})
    model.config.dtype = dtype
    output.mkdir(parents=True)
    model.save_pretrained(output)
    source = Path(str(meta.config["model"]["hf"]))  # type: ignore[index]
    copied = [name for name in BESIDE if (source / name).is_file()]
    for name in copied:
        shutil.copyfile(source / name, output / name)
    return copied


def _assign(model: Any, weights: dict[str, Tensor]) -> None:
    """Put the weights in, and what is tied to them; a name or a shape that does not fit is refused."""
    try:
        told = model.load_state_dict(weights, strict=False, assign=True)
    except RuntimeError as error:
        raise Stop(exits.CONFIG, f"the installed transformers makes another model of it: {error}") from None
    model.tie_weights()
    left = [name for name, tensor in model.state_dict().items() if tensor.is_meta]
    if left or told.unexpected_keys:
        names = ", ".join([*left, *told.unexpected_keys][:3])
        raise Stop(exits.CONFIG, f"the installed transformers makes another model of it: {names} do not fit")
