"""`trainshed synth` judges what it has rendered, as `trainshed check dist` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.repository import Repository, stack

TENANT = 'a = Tenant(self, "a", namespaces=["a"], guarantee={pool: nodes(1)})'
#: Two nodes, of which the tenant has one.
RUN = 'JobSet(self, "run", Training(**JOB), queue=a.queue("a"))'


@pytest.fixture(scope="module")
def never(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with a run that can never start."""
    return Repository(tmp_path_factory.mktemp("never"), {"stacks/lab.py": stack(TENANT, RUN)})


def test_errors_are_told_after_writing(never: Repository) -> None:
    ran = never.trainshed("synth")
    assert ran.returncode == 1
    assert " added, 0 changed" in ran.stdout
    assert "error[kueue-never-admitted]" in ran.stderr
    assert "--> dist/lab/" in ran.stderr
    assert list((never.folder / "dist").rglob("JobSet.*.yaml"))


def test_verify_checks_as_well(never: Repository) -> None:
    never.trainshed("synth")
    ran = never.trainshed("synth", "--verify")
    assert ran.returncode == 1
    assert "error[kueue-never-admitted]" in ran.stderr


def test_the_check_can_be_left_out(never: Repository) -> None:
    ran = never.trainshed("synth", "--no-check")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_settings_of_the_repository_count(never: Repository, tmp_path: Path) -> None:
    repository = Repository(tmp_path, {"stacks/lab.py": stack(TENANT, RUN)})
    repository.write({"trainshed.toml": '[check]\nignore = ["kueue-never-admitted"]\n'})
    assert repository.trainshed("synth").returncode == 0
    repository.write({"trainshed.toml": '[check]\nignor = ["kueue-never-admitted"]\n'})
    ran = repository.trainshed("synth")
    assert ran.returncode == 2
    assert 'did you mean "ignore"?' in ran.stderr
