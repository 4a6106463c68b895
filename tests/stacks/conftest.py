"""The reference stacks, rendered once in a process of their own, as `cdk8s synth` runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracle.documents import documents
from tests.stacks.objects import Object


@pytest.fixture(scope="session")
def rendered(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the stacks render now."""
    folder = tmp_path_factory.mktemp("stacks") / "dist"
    env = {**os.environ, "CDK8S_OUTDIR": str(folder)}
    ran = subprocess.run([sys.executable, "-m", "stacks"], cwd=root, env=env, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    return folder


@pytest.fixture(scope="session")
def objects(rendered: Path) -> list[Object]:
    """Every object, sorted by its file."""
    found = []
    for path in sorted(rendered.rglob("*.yaml")):
        (manifest,) = documents(path.read_text(encoding="utf-8"))
        found.append(Object(path.relative_to(rendered).as_posix(), manifest))
    return found
