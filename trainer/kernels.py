"""RMSNorm and rotation with backward passes of their own on the CPU, where torch 2.13 makes one pass per operation.

Everywhere else, and under torch.compile, the plain operations run; both give the same numbers up to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

aten = torch.ops.aten


def handmade(x: Tensor) -> bool:
    """Whether the passes written here are used for `x`."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and not torch.compiler.is_compiling()


class RMSNorm(nn.RMSNorm):
    """`nn.RMSNorm` over the last dimension."""

    def forward(self, x: Tensor) -> Tensor:
        if not handmade(x):
            return super().forward(x)
        return cast("Tensor", _Norm.apply(x, self.weight, self.eps))  # type: ignore[no-untyped-call]


class _Norm(torch.autograd.Function):
    """y = x w / sqrt(mean(x^2) + eps). The way back is LayerNorm's fused one at mean 0, less the mean it takes off."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        inverse = norm.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
        ctx.save_for_backward(x, weight, inverse)
        return cast("Tensor", (x * inverse).mul_(weight))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight, inverse = ctx.saved_tensors
        width = x.shape[-1]
        gradient = gradients[0].contiguous()
        for_x, for_weight, _ = aten.native_layer_norm_backward(
            gradient, x, [width], torch.zeros_like(inverse), inverse, weight, None, [True, True, False]
        )
        taken = torch.mv(gradient.view(-1, width), weight).view(inverse.shape)
        return for_x.add_(taken.mul_(inverse).div_(width)), for_weight, None


class Angles(NamedTuple):
    """Cosines and sines that broadcast to rows x length x heads x half a head; `turns` holds both for `_Heads`."""

    cos: Tensor
    sin: Tensor
    turns: Tensor | None

    @staticmethod
    def of(cos: Tensor, sin: Tensor) -> Angles:
        """Angles from tables of (rows x) length x half a head."""
        cos, sin = cos.unsqueeze(-2), sin.unsqueeze(-2)
        fast = handmade(cos) and not torch.is_autocast_enabled("cpu")
        return Angles(cos, sin, torch.complex(cos, sin) if fast else None)


def project(x: Tensor, q: Tensor, k: Tensor, v: Tensor, width: int, angles: Angles) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of `x`, rows x length x heads x `width`, the first two turned by their position.

    One product for the three weights. Where `angles.turns` is used, what belongs together in a turn comes out side by
    side, for queries and keys alike, so that the products of the two are the same.
    """
    if angles.turns is not None and handmade(x):
        y = F.linear(x, torch.cat((_paired(q, width), _paired(k, width), v))).view(*x.shape[:2], -1, width)
        return cast(
            "tuple[Tensor, Tensor, Tensor]",
            _Heads.apply(y, angles.turns, len(q) // width, len(k) // width),  # type: ignore[no-untyped-call]
        )
    y = F.linear(x, torch.cat((q, k, v))).view(*x.shape[:2], -1, width)
    queries, keys, values = torch.split(y, [len(q) // width, len(k) // width, len(v) // width], dim=2)
    return turn(queries, angles.cos, angles.sin), turn(keys, angles.cos, angles.sin), values


def _paired(weight: Tensor, width: int) -> Tensor:
    """Rows i and i + width / 2 of each head side by side."""
    return weight.view(-1, 2, width // 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The halves (a, b) of the last dimension as (a cos - b sin, b cos + a sin)."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).type_as(x)


class _Heads(torch.autograd.Function):
    """The heads of one product, turned in place as complex numbers; the way back is the turn by the negative angle.

    The product must belong to nobody else.
    """

    @staticmethod
    def forward(ctx: Any, y: Tensor, turns: Tensor, queries: int, keys: int) -> tuple[Tensor, Tensor, Tensor]:
        ctx.turns, ctx.turned = turns, queries + keys
        _pairs(y, ctx.turned).mul_(turns)
        return y[:, :, :queries], y[:, :, queries : queries + keys], y[:, :, queries + keys :]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        gradient = torch.cat(gradients, dim=2)
        _pairs(gradient, ctx.turned).mul_(ctx.turns.conj())
        return gradient, None, None, None


def _pairs(y: Tensor, heads: int) -> Tensor:
    """The first heads as complex numbers, a view."""
    return torch.view_as_complex(y[:, :, :heads].view(*y.shape[:2], heads, -1, 2))
