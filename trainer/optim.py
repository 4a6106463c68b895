"""AdamW, the learning rate's course, and clipping. State is named by parameter, so any world can load it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from trainer.config import Optim

STATE_KEYS = ("step", "exp_avg", "exp_avg_sq")
CLIP_EPSILON = 1e-6
"""torch multiplies by limit / (norm + this), at most 1."""


def learning_rate(config: Optim, step: int, steps: int) -> float:
    """Rate of step `step` (from 0) of `steps`: linear warm-up, then cosine, constant, or constant with a linear end."""
    low = config.lr * config.min_lr_ratio
    if step < config.warmup_steps:
        return config.lr * (step + 1) / config.warmup_steps
    if config.schedule == "constant":
        return config.lr
    if config.schedule == "wsd":
        begin = max(config.warmup_steps, steps - max(1, round(steps * config.decay_fraction)))
        if step < begin:
            return config.lr
        done = (step - begin + 1) / max(1, steps - begin)
        return config.lr + (low - config.lr) * min(1.0, done)
    done = (step - config.warmup_steps) / max(1, steps - 1 - config.warmup_steps)
    return low + 0.5 * (config.lr - low) * (1 + math.cos(math.pi * min(1.0, done)))


class Optimizer:
    """AdamW over named parameters: matrices decay, vectors do not.

    With ZeRO-1 `named` is the share that this rank updates; `zero.broadcast` hands the new values on.
    """

    def __init__(self, config: Optim, named: Iterable[tuple[str, nn.Parameter]], *, fused: bool) -> None:
        self.config = config
        self.parameters = dict(named)
        self.fused = fused
        decayed = [p for p in self.parameters.values() if p.dim() >= 2]
        plain = [p for p in self.parameters.values() if p.dim() < 2]
        groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        self.inner: torch.optim.AdamW | None = None
        if self.parameters:
            self.inner = torch.optim.AdamW(
                [group for group in groups if group["params"]],
                lr=config.lr,
                betas=(config.beta1, config.beta2),
                eps=config.eps,
                fused=fused,
            )
            self._create_state()

    def _create_state(self) -> None:
        """Make the state before the first step, as AdamW would, so that a checkpoint has somewhere to load to."""
        assert self.inner is not None
        for parameter in self.parameters.values():
            device = parameter.device if self.fused else torch.device("cpu")
            self.inner.state[parameter] = {
                "step": torch.zeros((), dtype=torch.float32, device=device),
                "exp_avg": torch.zeros_like(parameter, memory_format=torch.preserve_format),
                "exp_avg_sq": torch.zeros_like(parameter, memory_format=torch.preserve_format),
            }

    def step(self, rate: float) -> None:
        """One update with learning rate `rate`."""
        if self.inner is None:
            return
        for group in self.inner.param_groups:
            group["lr"] = rate
        self.inner.step()

    def state(self) -> dict[str, Tensor]:
        """The live state tensors by `<parameter>.<key>`; writing into them changes the optimizer."""
        if self.inner is None:
            return {}
        return {
            f"{name}.{key}": self.inner.state[parameter][key]
            for name, parameter in self.parameters.items()
            for key in STATE_KEYS
        }


def clip_gradients(parameters: list[nn.Parameter], limit: float) -> Tensor:
    """Norm of all gradients before clipping, on their device (no synchronisation); `limit` 0 only measures.

    On a CPU, where looking at the norm costs nothing, gradients within the limit are not multiplied by 1.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients, foreach=None)
    if limit > 0 and not (norm.device.type == "cpu" and float(norm) + CLIP_EPSILON <= limit):
        torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm)
    return norm
