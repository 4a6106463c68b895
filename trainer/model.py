"""A decoder-only transformer: rotary positions, RMSNorm, grouped-query attention, SwiGLU, tied head.

Names and conventions of the weights are chosen so that `trainer.export` is a renaming to the Llama layout of
transformers: no biases, rotary over split halves, separate query, key and value matrices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from trainer.config import Model as ModelConfig
from trainer.kernels import Angles, RMSNorm, project

IGNORE = -100
"""Target that takes no part in the loss."""
VOCAB_MULTIPLE = 64


@dataclass(frozen=True)
class Spec:
    """Everything that decides the weights' names and shapes, and how they are used."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocab: int
    padded_vocab: int
    rope_base: float
    norm_eps: float
    dropout: float

    @staticmethod
    def of(config: ModelConfig, vocab: int) -> Spec:
        """The spec of a config for data with `vocab` tokens; the table is padded to a multiple of 64."""
        shape = config.shape()
        size = config.vocab or vocab
        return Spec(
            shape.layers,
            shape.width,
            shape.heads,
            shape.kv_heads,
            shape.hidden,
            size,
            -(-size // VOCAB_MULTIPLE) * VOCAB_MULTIPLE,
            config.rope_base,
            config.norm_eps,
            config.dropout,
        )

    def flops_per_token(self, length: int) -> int:
        """Training FLOPs per token: 6 N + 12 L width T, with the tied table counted once (as in nanoGPT and PaLM)."""
        head = self.width // self.heads
        attention = 2 * self.width * self.width + 2 * self.width * head * self.kv_heads
        weights = self.layers * (attention + 3 * self.width * self.hidden) + self.padded_vocab * self.width
        return 6 * weights + 12 * self.layers * self.width * length


class Attention(nn.Module):
    """Causal self-attention; `mask` limits it to the row's own document."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_width = spec.heads, spec.kv_heads, spec.width // spec.heads
        self.dropout = spec.dropout
        self.q_proj = nn.Linear(spec.width, spec.heads * self.head_width, bias=False)
        self.k_proj = nn.Linear(spec.width, spec.kv_heads * self.head_width, bias=False)
        self.v_proj = nn.Linear(spec.width, spec.kv_heads * self.head_width, bias=False)
        self.o_proj = nn.Linear(spec.width, spec.width, bias=False)

    def forward(self, x: Tensor, angles: Angles, mask: Tensor | None) -> Tensor:
        heads = project(x, self.q_proj.weight, self.k_proj.weight, self.v_proj.weight, self.head_width, angles)
        q, k, v = (part.transpose(1, 2) for part in heads)
        if self.kv_heads != self.heads:
            k = k.repeat_interleave(self.heads // self.kv_heads, dim=1)
            v = v.repeat_interleave(self.heads // self.kv_heads, dim=1)
        drop = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=drop, is_causal=mask is None)
        return cast("Tensor", self.o_proj(y.transpose(1, 2).reshape(x.shape)))


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(spec.width, spec.hidden, bias=False)
        self.up_proj = nn.Linear(spec.width, spec.hidden, bias=False)
        self.down_proj = nn.Linear(spec.hidden, spec.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return cast("Tensor", self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x)))


class Block(nn.Module):
    """Pre-norm attention and feed-forward, each with its residual."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(spec.width, eps=spec.norm_eps)
        self.self_attn = Attention(spec)
        self.post_attention_layernorm = RMSNorm(spec.width, eps=spec.norm_eps)
        self.mlp = FeedForward(spec)
        self.drop = nn.Dropout(spec.dropout)

    def forward(self, x: Tensor, angles: Angles, mask: Tensor | None) -> Tensor:
        x = x + self.drop(self.self_attn(self.input_layernorm(x), angles, mask))
        return cast("Tensor", x + self.drop(self.mlp(self.post_attention_layernorm(x))))


class GPT(nn.Module):
    """The model. `forward` returns the *sum* of the cross-entropy, so that a caller can divide by the global count."""

    cos: Tensor
    sin: Tensor

    def __init__(self, spec: Spec, length: int, *, activation_checkpointing: bool = False) -> None:
        super().__init__()
        self.spec = spec
        self.activation_checkpointing = activation_checkpointing
        self.embed_tokens = nn.Embedding(spec.padded_vocab, spec.width)
        self.drop = nn.Dropout(spec.dropout)
        self.layers = nn.ModuleList(Block(spec) for _ in range(spec.layers))
        self.norm = RMSNorm(spec.width, eps=spec.norm_eps)
        cos, sin = rotary_table(length, spec.width // spec.heads, spec.rope_base)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self._initialise()

    def _initialise(self) -> None:
        residual = 0.02 / math.sqrt(2 * self.spec.layers)
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                continue
            nn.init.normal_(parameter, std=residual if name.endswith(("o_proj.weight", "down_proj.weight")) else 0.02)

    def logits(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        """Logits of every position, rows x length x padded vocabulary."""
        x = self.drop(self.embed_tokens(tokens))
        length = tokens.shape[1]
        mask: Tensor | None = None
        cos, sin = self.cos[:length], self.sin[:length]
        if segments is not None:
            mask = document_mask(segments)
            positions = document_positions(segments)
            cos, sin = cos[positions], sin[positions]
        angles = Angles.of(cos, sin)
        for block in self.layers:
            if self.activation_checkpointing and self.training:
                x = cast("Tensor", checkpoint(block, x, angles, mask, use_reentrant=False))
            else:
                x = block(x, angles, mask)
        return F.linear(self.norm(x), self.embed_tokens.weight)

    def forward(self, tokens: Tensor, targets: Tensor, segments: Tensor | None = None) -> Tensor:
        scores = self.logits(tokens, segments)
        return F.cross_entropy(
            scores.view(-1, scores.shape[-1]).float(), targets.reshape(-1), ignore_index=IGNORE, reduction="sum"
        )


def rotary_table(length: int, head_width: int, base: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines, length x half a head's width (as in transformers' Llama)."""
    rates = base ** (-torch.arange(0, head_width, 2, dtype=torch.float32) / head_width)
    angles = torch.outer(torch.arange(length, dtype=torch.float32), rates)
    return angles.cos(), angles.sin()


def document_mask(segments: Tensor) -> Tensor:
    """True where a position may look: the same document and not later. Rows x 1 x length x length."""
    length = segments.shape[1]
    same = segments.unsqueeze(2) == segments.unsqueeze(1)
    causal = torch.ones(length, length, dtype=torch.bool, device=segments.device).tril()
    return (same & causal).unsqueeze(1)


def document_positions(segments: Tensor) -> Tensor:
    """Positions that count from 0 in each document. Segments of a row must not decrease."""
    index = torch.arange(segments.shape[1], device=segments.device).expand_as(segments)
    starts = torch.ones_like(segments, dtype=torch.bool)
    starts[:, 1:] = segments[:, 1:] != segments[:, :-1]
    first = torch.where(starts, index, torch.zeros_like(index)).cummax(dim=1).values
    return index - first
