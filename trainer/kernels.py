"""RMSNorm and rotation with backward passes of their own on the CPU, where torch 2.13 makes one pass per operation."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn


class RMSNorm(nn.RMSNorm):
    """`nn.RMSNorm` over the last dimension; the same numbers up to rounding, faster on the CPU in float32."""

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu" or x.dtype != torch.float32 or torch.compiler.is_compiling():
            return super().forward(x)
        return cast("Tensor", _Norm.apply(x, self.weight, self.eps))  # type: ignore[no-untyped-call]


class _Norm(torch.autograd.Function):
    """y = x w / sqrt(mean(x^2) + eps)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        width = x.shape[-1]
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        inverse = norm.square_().div_(width).add_(eps).rsqrt_()
        ctx.save_for_backward(x, weight, inverse)
        return cast("Tensor", (x * inverse).mul_(weight))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight, inverse = ctx.saved_tensors
        width = x.shape[-1]
        gradient = gradients[0]
        plain = x * inverse
        weighted = gradient * plain
        for_weight = weighted.reshape(-1, width).sum(0)
        along = torch.mv(weighted.view(-1, width), weight).view(inverse.shape).div_(-width)
        for_x = (gradient * weight).addcmul_(plain, along).mul_(inverse)
        return for_x, for_weight, None


class _Turn(torch.autograd.Function):
    """Turn the halves of the last dimension; the way back is the turn by the negative angle."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _turned(x, cos, sin, 1.0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _turned(gradients[0], cos, sin, -1.0), None, None


def _turned(x: Tensor, cos: Tensor, sin: Tensor, sign: float) -> Tensor:
    out = torch.empty_like(x)
    first, second = x.chunk(2, dim=-1)
    low, high = out.chunk(2, dim=-1)
    torch.mul(first, cos, out=low).addcmul_(second, sin, value=-sign)
    torch.mul(second, cos, out=high).addcmul_(first, sin, value=sign)
    return out


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The halves (a, b) of the last dimension as (a cos - b sin, b cos + a sin); the tables have half its width."""
    if x.device.type != "cpu" or x.dtype != torch.float32 or torch.compiler.is_compiling():
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).type_as(x)
    return cast("Tensor", _Turn.apply(x, cos, sin))  # type: ignore[no-untyped-call]
