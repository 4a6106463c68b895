"""Which row comes when, as a pure function of seed and position: nothing to save, nothing to lose.

A keyed Feistel network permutes the rows of an epoch, so the n-th row of the run takes constant time and memory.
The order does not know the world: each rank takes its slice of the same global batch.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

ROUNDS = 6
Rows = NDArray[np.int64]


def positions_to_rows(seed: int, rows: int, start: int, count: int) -> Rows:
    """Rows at positions `start` ... `start + count - 1` of the endless order over `rows` rows.

    Each epoch (`rows` positions) visits every row once, in an order of its own.
    """
    if rows < 1:
        raise ValueError("an order needs at least one row")
    positions = np.arange(start, start + count, dtype=np.int64)
    chosen = np.empty(count, dtype=np.int64)
    epochs = positions // rows
    for epoch in np.unique(epochs):
        here = epochs == epoch
        chosen[here] = permute(seed, int(epoch), rows, positions[here] % rows)
    return chosen


def permute(seed: int, epoch: int, size: int, values: Rows) -> Rows:
    """Images of `values` under the permutation of 0 ... size-1 that belongs to seed and epoch."""
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    keys = _keys(seed, epoch)
    out = _network(values.astype(np.uint64), half, keys)
    outside = out >= size  # walk the cycle until the value is back inside: still a permutation
    while outside.any():
        out[outside] = _network(out[outside], half, keys)
        outside = out >= size
    return out.astype(np.int64)


def _keys(seed: int, epoch: int) -> NDArray[np.uint64]:
    material = hashlib.sha512(f"trainer-order:{seed}:{epoch}".encode()).digest()
    return np.frombuffer(material, dtype="<u8")[:ROUNDS].astype(np.uint64)


def _network(values: NDArray[np.uint64], half: int, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mask = np.uint64((1 << half) - 1)
    left, right = values >> np.uint64(half), values & mask
    for key in keys:
        left, right = right, left ^ (_mix(right ^ key) & mask)
    return (left << np.uint64(half)) | right


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64; overflow wraps, as it should."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
