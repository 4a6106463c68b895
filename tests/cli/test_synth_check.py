"""`trainshed synth` judges what it has rendered, as `trainshed check` does, and only then writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.repository import Repository, stack

TENANT = 'a = Tenant(self, "a", namespaces=["a"], guarantee={pool: nodes(1)})'
#: Two nodes, of which the tenant has one.
RUN = 'JobSet(self, "run", Training(**JOB), queue=a.queue("a"))'
NEVER = {"stacks/lab.py": stack(TENANT, RUN)}


@pytest.fixture(scope="module")
def never(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with a run that can never start, and a dist/ from before it came."""
    repository = Repository(tmp_path_factory.mktemp("never"), {"stacks/lab.py": stack(TENANT)})
    assert repository.trainshed("synth").returncode == 0
    repository.write(NEVER)
    return repository


def test_what_can_never_run_replaces_nothing(never: Repository) -> None:
    before = never.state()
    ran = never.trainshed("synth")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "error[kueue-never-admitted]" in ran.stderr
    assert ran.stderr.endswith("dist/ is as it was\n")
    assert never.state() == before


def test_a_finding_stands_where_its_object_was_made(never: Repository) -> None:
    lines = never.trainshed("synth").stderr.splitlines()
    at = next(number for number, line in enumerate(lines) if "-->" in line)
    assert lines[at].split()[1] == "stacks/lab.py:21:9"
    assert lines[at + 2].endswith(RUN)
    assert any(":::" in line and "dist/lab/a/JobSet.a.run-" in line and "as rendered" in line for line in lines)


def test_a_finding_on_a_tenant_stands_in_its_file(tmp_path: Path) -> None:
    repository = Repository(
        tmp_path,
        {
            "stacks/lab.py": stack('load_tenants(self, Path(__file__).parent / "tenants")'),
            "stacks/tenants/low.yaml": "# low\nname: low\nnamespaces: [a]\nguarantee:\n  h100: {nodes: 1}\n",
            "trainshed.toml": '[check]\ntarget = {kueue = "0.10.0"}\n',
        },
    )
    ran = repository.trainshed("synth")
    assert ran.returncode == 1
    assert "--> stacks/tenants/low.yaml:2:1" in ran.stderr
    assert not (tmp_path / "dist").exists()


def test_verify_checks_as_well(never: Repository) -> None:
    ran = never.trainshed("synth", "--verify")
    assert ran.returncode == 1
    assert "missing  dist/lab/a/JobSet.a.run-" in ran.stdout
    assert "error[kueue-never-admitted]" in ran.stderr


def test_the_cdk8s_cli_gets_the_same_answer(never: Repository) -> None:
    """It runs `python -m stacks` with the scratch folder as output."""
    import sys

    before = never.state()
    ran = never.run(sys.executable, "-m", "stacks", env={"CDK8S_OUTDIR": ".cdk8s/dist"})
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: stacks/lab.py:21:9: JobSet/a/run-")
    assert "[kueue-never-admitted]" in ran.stderr
    assert ran.stderr.endswith("1 error; dist/ is as it was\n")
    assert never.state() == before
    assert not (never.folder / ".cdk8s").exists()


def test_the_check_can_be_left_out(tmp_path: Path) -> None:
    ran = Repository(tmp_path, NEVER).trainshed("synth", "--no-check")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert list((tmp_path / "dist").rglob("JobSet.*.yaml"))


def test_settings_of_the_repository_count(tmp_path: Path) -> None:
    repository = Repository(tmp_path, NEVER)
    repository.write({"trainshed.toml": '[check]\nignore = ["kueue-never-admitted"]\n'})
    assert repository.trainshed("synth").returncode == 0
    before = repository.state()
    repository.write({"trainshed.toml": '[check]\nignor = ["kueue-never-admitted"]\n', "stacks/lab.py": stack(TENANT)})
    ran = repository.trainshed("synth")
    assert ran.returncode == 2
    assert 'did you mean "ignore"?' in ran.stderr
    assert repository.state() == before
