"""No bytes make the reader raise (bench/fuzz_reader.py runs more of them)."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def _load() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "bench" / "fuzz_reader.py"
    spec = importlib.util.spec_from_file_location("fuzz_reader", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_reader"] = module
    spec.loader.exec_module(module)
    return module


fuzz = _load()


@given(st.binary(max_size=300))
@settings(max_examples=300)
def test_any_bytes(data: bytes) -> None:
    fuzz.exercise(data)


@given(st.text(max_size=200))
@settings(max_examples=300)
def test_any_text(text: str) -> None:
    fuzz.exercise(text.encode("utf-8", "surrogatepass"))


@given(st.lists(st.sampled_from(fuzz.TOKENS), max_size=30), st.sampled_from(fuzz.SEEDS))
@settings(max_examples=300)
def test_any_row_of_tokens(tokens: list[str], seed: str) -> None:
    fuzz.exercise((seed + "".join(tokens)).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("seed", range(3))
def test_mutated_manifests(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        fuzz.exercise(fuzz.mutated(rng))
