"""Weights of a checkpoint as a folder of transformers: our own model in the Llama layout, another as it came."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from trainer import exits
from trainer.checkpoint import dcp, layout
from trainer.checkpoint.layout import BadCheckpoint
from trainer.exits import Stop


def read_weights(checkpoint: Path) -> dict[str, Tensor]:
    """All weights of a verified checkpoint by parameter name. Raises `Stop`: 65 for a bad one, 64 for several."""
    if found := layout.committed(layout.checkpoints_of(checkpoint)):
        raise Stop(exits.USAGE, f"{checkpoint}: has {len(found)} checkpoints; name one of them, such as {found[0][1]}")
    try:
        layout.verify(checkpoint)
    except BadCheckpoint as error:
        raise Stop(exits.DATA, f"{checkpoint}: {error}") from None
    names = [name for name in dcp.stored_tensors(checkpoint / layout.STATE) if name.startswith("model.")]
    tensors = dcp.read_tensors(checkpoint / layout.STATE, names)
    return {name.removeprefix("model."): tensor for name, tensor in tensors.items()}


def export(checkpoint: Path, output: Path, dtype: str = "float32") -> dict[str, object]:
    """Write `model.safetensors` and `config.json` into the new folder `output`; returns a summary.

    The vocabulary keeps its padding, so the table has the trained shape. A model that came from a folder
    (`model.hf`) goes back into one, for which transformers is needed (78). Raises `Stop` 64 when `output` exists.
    """
    try:
        from safetensors.torch import save_file
    except ImportError:
        raise Stop(exits.USAGE, "install safetensors to export") from None
    if output.exists():
        raise Stop(exits.USAGE, f"{output}: exists already; choose another folder")
    weights = read_weights(checkpoint)
    chosen = {"float32": torch.float32, "bfloat16": torch.bfloat16}[dtype]
    meta = layout.read_manifest(checkpoint).meta
    summary: dict[str, object] = {
        "output": str(output),
        "tensors": len(weights),
        "parameters": sum(tensor.numel() for tensor in weights.values()),
    }
    if meta.transformers is not None:
        from trainer.hf.export import write

        return {**summary, "copied": write(meta, weights, output, chosen)}
    output.mkdir(parents=True)
    tensors = {f"model.{name}": tensor.to(chosen).contiguous() for name, tensor in weights.items()}
    save_file(tensors, output / "model.safetensors", metadata={"format": "pt"})
    (output / "config.json").write_text(json.dumps(llama_config(meta, dtype), indent=2) + "\n")
    return summary


def llama_config(meta: layout.Meta, dtype: str) -> dict[str, object]:
    """The `config.json` that transformers reads."""
    model = meta.model
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": model["width"],
        "intermediate_size": model["hidden"],
        "num_hidden_layers": model["layers"],
        "num_attention_heads": model["heads"],
        "num_key_value_heads": model["kv_heads"],
        "head_dim": int(model["width"]) // int(model["heads"]),
        "vocab_size": model["padded_vocab"],
        "max_position_embeddings": meta.seq_len,
        "rms_norm_eps": model["norm_eps"],
        "rope_theta": model["rope_base"],
        "tie_word_embeddings": True,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "torch_dtype": dtype,
        "bos_token_id": None,
        "eos_token_id": None,
    }
