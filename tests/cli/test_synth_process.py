"""The app is a program of its own: it must say that it has finished, and it is this folder's, from its source."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.repository import MAIN, Repository, stack

COHORT = 'Cohort(self, "a-cohort")'


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository after its first synth."""
    made = Repository(tmp_path_factory.mktemp("process"), {"stacks/lab.py": stack(COHORT)})
    assert made.trainshed("synth").returncode == 0
    return made


@pytest.mark.parametrize(
    ("main", "told"),
    [
        ("import os\nos._exit(0)\n", "ended with exit code 0 before it had finished"),
        (f"{MAIN}\nimport os\nos._exit(0)\n", "ended with exit code 0 before it had finished"),
        ("import os\nos.execv('/bin/true', ['true'])\n", "ended with exit code 0 before it had finished"),
        ("import os\nos.kill(os.getpid(), 9)\n", "was ended by signal SIGKILL before it had finished"),
        (f"{MAIN}\nimport atexit, os\natexit.register(os._exit, 4)\n", "ended with exit code 4 before it had finished"),
    ],
)
@pytest.mark.parametrize("arguments", [[], ["--verify"]])
def test_an_app_that_has_not_said_that_it_finished(
    repository: Repository, main: str, told: str, arguments: list[str]
) -> None:
    before = repository.state()
    repository.write({"stacks/__main__.py": main})
    ran = repository.trainshed("synth", *arguments)
    repository.write({"stacks/__main__.py": MAIN})
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f'error: cdk8s.yaml: app "stacks": {told}; ')
    assert ran.stderr.endswith("\n1 error; dist/ is as it was\n")
    assert repository.state() == before


def test_the_cdk8s_cli_hears_of_an_early_end(repository: Repository) -> None:
    repository.write({"stacks/lab.py": stack("import sys", "sys.exit(0)")})
    ran = repository.run(sys.executable, "-m", "stacks", env={"CDK8S_OUTDIR": ".cdk8s/dist"})
    repository.write({"stacks/lab.py": stack(COHORT)})
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: stacks/lab.py:21:9: sys.exit() ended the app before app.synth(); ")


def test_what_a_stack_prints_is_no_output_of_the_command(repository: Repository) -> None:
    repository.write({"stacks/lab.py": stack(COHORT, 'print("dist/: hello")')})
    ran = repository.trainshed("synth", "--verify")
    repository.write({"stacks/lab.py": stack(COHORT)})
    assert ran.returncode == 0
    assert "hello" not in ran.stdout
    assert ran.stderr == "dist/: hello\n"


def test_bytecode_does_not_hide_a_change(repository: Repository) -> None:
    """Of the same size, in the same second: Python's caches hold, so they are neither read nor written."""
    file = repository.folder / "stacks/lab.py"
    python = "import py_compile; py_compile.compile('stacks/lab.py')"
    assert repository.run(sys.executable, "-c", python).returncode == 0
    cache = next((repository.folder / "stacks/__pycache__").glob("lab.*"))
    before, caches = file.stat(), {path: path.read_bytes() for path in cache.parent.iterdir()}
    file.write_text(stack(COHORT.replace("a-cohort", "b-cohort")))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    ran = repository.trainshed("synth", "--verify")
    repository.write({"stacks/lab.py": stack(COHORT)})
    assert ran.returncode == 1
    assert "dist/lab/platform/Cohort.b-cohort.yaml" in ran.stdout
    assert {path: path.read_bytes() for path in cache.parent.iterdir()} == caches
    cache.unlink()


def test_only_the_stacks_of_this_folder_are_rendered(repository: Repository, tmp_path: Path) -> None:
    """An installed package of that name is another repository's, even where this one's is no regular package."""
    empty = Repository(tmp_path)
    (tmp_path / "stacks/__main__.py").unlink()
    (tmp_path / "stacks/__init__.py").unlink()
    (tmp_path / "stacks").rmdir()
    elsewhere = {"PYTHONPATH": str(repository.folder)}
    command = (sys.executable, "-m", "trainshed.cli", "synth")
    ran = empty.run(*command, env=elsewhere)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == 'error: cdk8s.yaml: there is no module "stacks" in this folder\n'
    assert not (tmp_path / "dist").exists()

    empty.write({"stacks/__main__.py": MAIN, "stacks/lab.py": stack('Cohort(self, "mine")')})
    ran = empty.run(*command, env=elsewhere)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "dist/lab/platform/Cohort.mine.yaml").exists()
    assert not (tmp_path / "dist/lab/platform/Cohort.a-cohort.yaml").exists()
