"""Model shapes by name. Parameter counts in the names hold for a vocabulary of 50,304."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Layers, width, query heads, key/value heads, and the hidden width of the gated feed-forward."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int


PRESETS: dict[str, Shape] = {
    "tiny": Shape(2, 64, 4, 2, 128),
    "3m": Shape(4, 256, 4, 4, 704),
    "20m": Shape(6, 512, 8, 8, 1408),
    "124m": Shape(12, 768, 12, 12, 2048),
    "350m": Shape(24, 1024, 16, 16, 2752),
    "774m": Shape(36, 1280, 20, 20, 3456),
    "1.5b": Shape(48, 1600, 25, 25, 4288),
}
