"""The other sides of `bench.trainer`: what a person writes without it, each a script of its own process.

`loop` trains the trainer's model, `nano` nanoGPT's published architecture (learned positions, LayerNorm, GELU, one
matrix for query, key and value; no biases and no dropout, as its train.py has it), `save` times torch.save of the
trainer's model with its AdamW state, `ddp` is a short DDP script for torchrun. All but it print one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from bench.trainer_pace import VARIABLE, Pace
from trainer.build import keep_freed_memory
from trainer.config import Model as ModelConfig
from trainer.model import GPT, Spec


class NanoBlock(nn.Module):
    """Pre-norm attention and a GELU feed-forward of four widths."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.c_attn = nn.Linear(width, 3 * width, bias=False)
        self.c_proj = nn.Linear(width, width, bias=False)
        self.c_fc = nn.Linear(width, 4 * width, bias=False)
        self.c_out = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        rows, length, width = x.shape
        parts = self.c_attn(self.ln_1(x)).split(width, dim=2)
        q, k, v = (part.view(rows, length, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(rows, length, width))
        grown: Tensor = x + self.c_out(F.gelu(self.c_fc(self.ln_2(x))))
        return grown


class Nano(nn.Module):
    """Token and position tables, blocks, a head tied to the token table. `forward` gives the mean loss."""

    def __init__(self, layers: int, width: int, heads: int, vocab: int, length: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(NanoBlock(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                small = name.endswith(("c_proj.weight", "c_out.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if small else 0.02)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        scores = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(scores.view(-1, scores.shape[-1]), targets.reshape(-1))


def ours(preset: str, vocab: int, length: int) -> GPT:
    """The trainer's model."""
    return GPT(Spec.of(ModelConfig(preset=preset), vocab), length)


def adamw(model: nn.Module, rate: float) -> torch.optim.AdamW:
    """Fused AdamW in which matrices decay and vectors do not."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=True)


def train(options: argparse.Namespace, model: nn.Module, loss_of: Callable[[Tensor, Tensor], Tensor]) -> None:
    """The loop that everybody writes first; prints the seconds and the loss of each step."""
    tokens = np.memmap(options.data / "shard-00000.bin", dtype=np.uint16, mode="r")
    optimizer = adamw(model, options.rate)
    choose = torch.Generator().manual_seed(1337)
    seconds, losses = [], []
    pace = Pace(os.environ.get(VARIABLE))
    for step in range(options.steps):
        pace.turn()
        begin = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate_at(options, step)
        starts = torch.randint(len(tokens) - options.length - 1, (options.rows,), generator=choose).tolist()
        rows = np.stack([tokens[at : at + options.length + 1].astype(np.int64) for at in starts])
        batch = torch.from_numpy(rows)
        loss = loss_of(batch[:, :-1], batch[:, 1:])
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds, "losses": losses, "parameters": sum(p.numel() for p in model.parameters())}))


def rate_at(options: argparse.Namespace, step: int) -> float:
    """Linear warm-up and a cosine to a tenth, as in trainer.optim."""
    rate, warmup = float(options.rate), int(options.warmup)
    if step < warmup:
        return rate * (step + 1) / warmup
    done = (step - warmup) / max(1, options.steps - 1 - warmup)
    return rate * (0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, done))))


def save(options: argparse.Namespace) -> None:
    """Seconds of torch.save of weights and AdamW state; nothing is synced to the disk."""
    model = ours(options.preset, 259, options.length)
    optimizer = adamw(model, 1e-3)
    batch = torch.randint(0, 259, (1, options.length + 1))
    model(batch[:, :-1], batch[:, 1:]).backward()
    optimizer.step()
    optimizer.zero_grad()
    seconds = []
    for number in range(options.steps):
        file = options.data / f"plain-{number}.pt"
        begin = time.perf_counter()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
        seconds.append(time.perf_counter() - begin)
        file.unlink()
    print(json.dumps({"seconds": seconds}))


def ddp(options: argparse.Namespace) -> None:
    """Five steps of DDP and a torch.save, as a torchrun tutorial has it: what a cold start costs without us."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = ours(options.preset, 259, options.length)
    wrapped = DistributedDataParallel(model)
    optimizer = adamw(model, 1e-3)
    for _ in range(options.steps):
        batch = torch.randint(0, 259, (options.rows, options.length + 1))
        (wrapped(batch[:, :-1], batch[:, 1:]) / batch.numel()).backward()
        optimizer.step()
        optimizer.zero_grad()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), options.data / "ddp.pt")
    dist.destroy_process_group()
    os._exit(0)  # the end of DDP's reducer joins gloo's threads with the interpreter locked, and now and then for ever


def main() -> None:
    """One side."""
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=("loop", "nano", "save", "ddp"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--preset", default="3m")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=0)
    parser.add_argument("--kept", action="store_true", help="keep freed memory as the trainer does")
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    torch.manual_seed(1337)
    if options.kept:
        keep_freed_memory()
    if options.side == "loop":
        model = ours(options.preset, 259, options.length)
        train(options, model, lambda x, y: model(x, y) / y.numel())
    elif options.side == "nano":
        shape = ModelConfig(preset=options.preset).shape()
        padded = Spec.of(ModelConfig(preset=options.preset), 259).padded_vocab
        nano = Nano(shape.layers, shape.width, shape.heads, padded, options.length)
        train(options, nano, nano)
    elif options.side == "save":
        save(options)
    else:
        ddp(options)


if __name__ == "__main__":
    main()
