"""Random state of one rank: python, numpy, torch on CPU and on the GPU."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np
import torch

RngState = dict[str, Any]


def seed_all(seed: int, rank: int, step: int = 0) -> None:
    """Seed every generator with a value that belongs to seed, rank and step."""
    material = hashlib.sha256(f"trainer-rng:{seed}:{rank}:{step}".encode()).digest()
    number = int.from_bytes(material[:8], "little")
    random.seed(number)
    np.random.seed(number % (1 << 32))
    torch.manual_seed(number % (1 << 63))


def capture(device: torch.device) -> RngState:
    """The state of every generator, as tensors and numbers."""
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {
        "python": torch.tensor(words, dtype=torch.int64),
        "python_version": version,
        "python_gauss": gauss,
        "numpy": torch.from_numpy(np.asarray(keys).astype(np.int64)),
        "numpy_name": str(name),
        "numpy_rest": [int(position), int(has_gauss), float(cached)],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
    }


def restore(state: RngState, device: torch.device) -> None:
    """Put a captured state back."""
    random.setstate((state["python_version"], tuple(state["python"].tolist()), state["python_gauss"]))
    position, has_gauss, cached = state["numpy_rest"]
    keys = state["numpy"].numpy().astype(np.uint32)
    np.random.set_state((state["numpy_name"], keys, int(position), int(has_gauss), float(cached)))
    torch.set_rng_state(state["torch"])
    if device.type == "cuda" and state["cuda"] is not None:
        torch.cuda.set_rng_state(state["cuda"], device)
