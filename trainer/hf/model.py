"""A model of transformers behind the interface of our own: tokens, targets, segments in, the summed loss out."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, cast

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from trainer import exits
from trainer.exits import Stop
from trainer.hf.folder import Facts, Folder, refuse
from trainer.model import IGNORE, document_positions

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
MAJOR = "5"
INSTALL = "pip install transformers==5.24.0"


def package() -> Any:
    """The module transformers, offline and quiet. Raises `Stop` 78 when it is missing or of another generation."""
    os.environ.update(OFFLINE)
    try:
        found: Any = import_module("transformers")
    except ImportError:
        raise Stop(
            exits.CONFIG, f"model.hf needs the package transformers, which is not installed: {INSTALL}"
        ) from None
    if found.__version__.partition(".")[0] != MAJOR:
        raise Stop(exits.CONFIG, f"model.hf needs transformers {MAJOR}, not {found.__version__}: {INSTALL}")
    found.utils.logging.set_verbosity_error()
    found.utils.logging.disable_progress_bar()
    return found


class Figures:
    """Sizes that the loop and the checks ask for."""

    def __init__(self, model: Any, config: Any) -> None:
        text = config.get_text_config()
        self.vocab = int(model.get_input_embeddings().weight.shape[0])
        self.positions: int | None = getattr(text, "max_position_embeddings", None)
        self.layers, self.width = int(text.num_hidden_layers), int(text.hidden_size)
        tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
        head = model.get_output_embeddings()
        self.weights: int = sum(p.numel() for p in model.parameters() if p.dim() >= 2 and id(p) not in tables)
        if head is not None and id(head.weight) in tables:
            self.weights += head.weight.numel()

    def flops_per_token(self, length: int) -> int:
        """6 N + 12 L width T as for our own model; N counts every expert of a mixture, also those that are asleep."""
        return 6 * self.weights + 12 * self.layers * self.width * length


class Transformer(nn.Module):
    """`forward` returns the sum of the cross-entropy over targets that are already shifted by one."""

    def __init__(self, inner: nn.Module, config: Any, facts: Facts) -> None:
        super().__init__()
        self.hf = inner
        self.facts = facts
        self.config: dict[str, object] = config.to_dict()
        self.spec = Figures(inner, config)

    @property
    def layers(self) -> list[nn.Module]:
        """The repeated blocks, for `speed.compile = "blocks"`."""
        names = set(getattr(self.hf, "_no_split_modules", None) or ())
        return [module for module in self.hf.modules() if type(module).__name__ in names]

    def logits(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        """Logits of every position. Positions that start anew tell transformers where a document begins."""
        more = {} if segments is None else {"position_ids": document_positions(segments)}
        return cast("Tensor", self.hf(input_ids=tokens, use_cache=False, **more).logits)

    def forward(self, tokens: Tensor, targets: Tensor, segments: Tensor | None = None) -> Tensor:
        scores = self.logits(tokens, segments)
        return F.cross_entropy(
            scores.view(-1, scores.shape[-1]).float(), targets.reshape(-1), ignore_index=IGNORE, reduction="sum"
        )


def load(folder: Folder, facts: Facts, *, activation_checkpointing: bool = False) -> tuple[Transformer, list[str]]:
    """The model with the folder's weights in float32, and notices. Raises `Stop` 78, and 65 for corrupt weights."""
    transformers = package()
    name = str(folder.path)
    options = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(name, **options)
        inner, told = transformers.AutoModelForCausalLM.from_pretrained(
            name, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **options
        )
    except Exception as error:
        raise _explain(folder, transformers, error) from None
    if told["missing_keys"]:
        raise refuse(name, f"the weights lack {_few(told['missing_keys'])}; they would be random")
    if persistent := [key for key in inner.state_dict() if key not in _parameter_names(inner)]:
        raise refuse(name, f"{type(inner).__name__} keeps state besides its parameters: {_few(persistent)}")
    if getattr(config.get_text_config(), "layerdrop", 0):
        raise refuse(name, "layerdrop leaves parameters without a gradient, which DDP cannot do; set it to 0")
    if activation_checkpointing:
        _checkpoint_activations(folder, inner)
    unused = [f"the folder's weights hold what the model lacks: {_few(told['unexpected_keys'])}"]
    return Transformer(inner, config, facts).train(), unused if told["unexpected_keys"] else []


def _parameter_names(model: nn.Module) -> set[str]:
    return {name for name, _ in model.named_parameters(remove_duplicate=False)}


def _few(names: Any) -> str:
    listed = sorted(map(str, names))
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _checkpoint_activations(folder: Folder, inner: Any) -> None:
    if not getattr(inner, "supports_gradient_checkpointing", False):
        raise refuse(folder.path, f"{type(inner).__name__} knows no activation checkpointing; leave it off")
    enable = getattr(inner, "activation_checkpointing_enable", None) or inner.gradient_checkpointing_enable
    enable({"use_reentrant": False})


def _explain(folder: Folder, transformers: Any, error: Exception) -> Exception:
    """The `Stop` for an error of transformers while loading; the error itself when it is none of the known ones."""
    kind, first = folder.config["model_type"], (str(error).strip().splitlines() or [""])[0]
    if type(error).__name__ == "SafetensorError":
        return Stop(exits.DATA, f"{folder.path}: the weights are corrupt: {first}")
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return error
    known = kind in transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES
    if not known and folder.config.get("auto_map"):
        return refuse(folder.path, f"model_type {kind!r} is code in the folder, which is never run")
    if not known:
        return refuse(folder.path, f"transformers {transformers.__version__} knows no model_type {kind!r}")
    if "Unrecognized configuration class" in first:
        return refuse(folder.path, f"transformers has no causal language model of model_type {kind!r}")
    return refuse(folder.path, f"transformers cannot load it: {type(error).__name__}: {first}")
