"""Fixtures for all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("hypothesis"):  # the trainer's environment has none
    from hypothesis import HealthCheck, settings

    # How fast examples come tells of the machine's load, not of the code.
    settings.register_profile("trainshed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("trainshed")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with upstream's CRDs and samples, which are not part of this repository."""
    folder = Path(os.environ.get("TRAINSHED_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"upstream CRDs and samples are not beside the repository ({folder}); set TRAINSHED_SHARED")
    return folder


@pytest.fixture(autouse=True)
def the_process_stays_as_it_was() -> Iterator[None]:
    """Tests share a process in an order that differs from run to run: what one leaves behind, another falls over."""
    before = _state()
    yield
    assert _state() == before, "this test, or what it called, left the process changed"


def _state() -> dict[str, object]:
    handlers = {sign.name: signal.getsignal(sign) for sign in (signal.SIGINT, signal.SIGTERM)}
    return {"collector": gc.isenabled(), "folder": Path.cwd(), **handlers}
