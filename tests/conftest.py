"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
