"""The image, built twice from scratch, and the means to run it. Needs root and Debian's container tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.image.podman import Podman

REVISION = "0" * 40
TOOLS = ("buildah", "podman", "runc", "mmdebstrap")


@dataclass(frozen=True)
class Built:
    """Two builds of the same sources: tags, digests, and the folder with what the first left beside the image."""

    tag: str
    digests: tuple[str, str]
    out: Path


def missing() -> str:
    """Why images cannot be built here; empty if they can."""
    if os.geteuid() != 0:
        return "building and running images needs root"
    absent = [tool for tool in TOOLS if not shutil.which(tool)]
    return f"not installed: {', '.join(absent)} (make image-tools)" if absent else ""


@pytest.fixture(scope="session")
def built(root: Path) -> Built:
    """Both builds run at once, from one base; nothing is cached between them.

    TRAINSHED_IMAGE_REUSE takes those of the last time, for work on the tests themselves.
    """
    if reason := missing():
        pytest.skip(reason)
    out = root / "build/image"
    again = root / "build/image-again"
    again.mkdir(parents=True, exist_ok=True)
    script = str(root / "trainer/image/build.sh")
    subprocess.run([script, "base"], check=True, capture_output=True, text=True)
    tags = ["localhost/trainshed/trainer:test", "localhost/trainshed/trainer:test-again"]
    started = [] if os.environ.get("TRAINSHED_IMAGE_REUSE") else zip(tags, (out, again), strict=True)
    running = [
        subprocess.Popen(
            [script, "cpu"],
            env={**os.environ, "TAG": tag, "OUT": str(folder), "REVISION": REVISION},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for tag, folder in started
    ]
    told = [process.communicate()[0] for process in running]
    assert not any(process.returncode for process in running), "\n".join(text[-3000:] for text in told)
    first, second = ((folder / "digest-cpu.txt").read_text().strip() for folder in (out, again))
    return Built(tags[0], (first, second), out)


@pytest.fixture(scope="module")
def podman(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    """podman, which takes back what it made."""
    made = Podman(tmp_path_factory.mktemp("podman"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def prefix() -> str:
    """Part of the names of volumes, so that two checkouts do not meet."""
    return f"trainshed-{uuid.uuid4().hex[:8]}"
