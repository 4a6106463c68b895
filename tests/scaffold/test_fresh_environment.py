"""A stranger's way: install the wheel, `trainshed init`, `trainshed synth`; nothing of this checkout is in reach."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.oracle.dist import object_errors
from tests.oracle.documents import documents


class Environment(NamedTuple):
    """A virtual environment with the wheel in it, and the dependencies of the test environment beside it."""

    folder: Path

    def run(self, *command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "JSII", "CDK8S"))}
        clean |= {"PATH": f"{self.folder / 'bin'}:{clean['PATH']}"} | variables
        return subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=root, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """No network and no second download: the dependencies are those of the test environment, by a .pth line. A .pth
    in there is not followed, so the editable install of this checkout stays out."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return Environment(folder)


@pytest.fixture(scope="module")
def repository(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository as `trainshed init` writes it, rendered once."""
    folder = tmp_path_factory.mktemp("clusters")
    made = environment.run("trainshed", "init", ".", "--cluster", "eu-west", cwd=folder)
    assert (made.returncode, made.stderr) == (0, "")
    rendered = environment.run("trainshed", "synth", cwd=folder)
    assert (rendered.returncode, rendered.stderr) == (0, "")
    return folder


def test_the_wheel_leaves_the_package_constructs_alone(wheel: Path) -> None:
    """A `constructs/__init__.py` in it would overwrite the file of the package that cdk8s imports."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert "trainshed/py.typed" in names
    assert "trainshed/scaffold/templates/cluster.py.tmpl" in names
    assert {name.split("/")[0] for name in names} == {
        "trainshed",
        next(n for n in names if "dist-info" in n).split("/")[0],
    }


def test_the_wheel_is_what_runs(environment: Environment, tmp_path: Path) -> None:
    where = environment.run("python", "-c", "import trainshed; print(trainshed.__file__)", cwd=tmp_path)

    assert Path(where.stdout.strip()).is_relative_to(environment.folder)


def test_it_synths_at_once_and_verifies(environment: Environment, repository: Path) -> None:
    verified = environment.run("trainshed", "synth", "--verify", cwd=repository)

    assert (verified.returncode, verified.stderr) == (0, "")
    assert {path.name for path in (repository / "dist" / "eu-west").iterdir()} == {"argocd", "platform", "research"}


@pytest.mark.usefixtures("shared")
def test_every_object_is_valid(repository: Path) -> None:
    paths = sorted((repository / "dist").rglob("*.yaml"))
    errors = {
        path.name: found
        for path in paths
        for manifest in documents(path.read_text(encoding="utf-8"))
        if (found := object_errors(manifest))
    }

    assert len(paths) > 20
    assert errors == {}


@contextmanager
def edited(repository: Path, old: str, new: str) -> Iterator[None]:
    """The tenant file with `new` in place of `old`, for a while."""
    tenant = repository / "stacks" / "eu_west" / "tenants" / "products.yaml"
    before = tenant.read_text(encoding="utf-8")
    assert before.count(old) == 1
    tenant.write_text(before.replace(old, new), encoding="utf-8")
    try:
        yield
    finally:
        tenant.write_text(before, encoding="utf-8")


def test_a_change_that_is_not_rendered_fails_the_check(environment: Environment, repository: Path) -> None:
    """It names the file, exits 1 and writes nothing; once rendered, it passes."""
    queue = repository / "dist" / "eu-west" / "platform" / "ClusterQueue.products.yaml"
    before = queue.read_bytes()

    with edited(repository, "{nodes: 2}", "{nodes: 1}"):
        stale = environment.run("trainshed", "synth", "--verify", cwd=repository)
        untouched = queue.read_bytes() == before
        rendered = environment.run("trainshed", "synth", cwd=repository)
        verified = environment.run("trainshed", "synth", "--verify", cwd=repository)
    again = environment.run("trainshed", "synth", cwd=repository)

    assert stale.returncode == 1
    assert stale.stdout.splitlines()[0].endswith("  dist/eu-west/platform/ClusterQueue.products.yaml")
    assert stale.stderr == "error: dist/ is stale; run `trainshed synth` and commit what it writes\n"
    assert untouched
    assert [rendered.returncode, verified.returncode, again.returncode] == [0, 0, 0]
    assert queue.read_bytes() == before


def test_the_workflow_judges_a_pull_request_against_its_base(environment: Environment, repository: Path) -> None:
    """Its steps, run as a runner would with the base branch of the pull request fetched."""
    workflow = yaml.safe_load((repository / ".github/workflows/ci.yaml").read_text(encoding="utf-8"))
    checkout, *_, verify, judge = workflow["jobs"]["verify"]["steps"]
    assert checkout["with"] == {"fetch-depth": 0}, "a shallow clone does not have the base"
    assert judge["if"] == "github.event_name == 'pull_request'"
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    subprocess.run(["git", "update-ref", "refs/remotes/origin/main", "HEAD"], cwd=repository, check=True)
    job = next((repository / "dist").rglob("TrainJob.*.yaml"))
    before = job.read_bytes()

    def steps(*, base: str = "main") -> list[subprocess.CompletedProcess[str]]:
        return [
            environment.run("bash", "-e", "-c", step["run"], cwd=repository, GITHUB_BASE_REF=base)
            for step in (verify, judge)
        ]

    assert [(ran.returncode, ran.stderr) for ran in steps()] == [(0, "")] * 2
    assert [ran.returncode for ran in steps(base="absent")] == [0, 2]
    job.write_bytes(before.replace(b"numNodes: 2", b"numNodes: 4"))
    verified, judged = steps()
    job.write_bytes(before)
    assert verified.returncode == 1
    assert judged.returncode == 1
    assert "::error title=change-immutable-field,file=dist/eu-west/research/TrainJob." in judged.stdout


def test_a_mistake_in_the_tenant_file_is_told_with_its_line(environment: Environment, repository: Path) -> None:
    with edited(repository, "h100: {nodes", "h10: {nodes"):
        refused = environment.run("trainshed", "synth", "--verify", cwd=repository)

    assert refused.returncode == 1
    assert refused.stderr == (
        'error: stacks/eu_west/tenants/products.yaml:7:3: Tenant "products", guarantee.h10: '
        'cluster "eu-west" has no node pool "h10"; did you mean "h100"?\n'
        "1 error; dist/ is as it was\n"
    )


def test_the_app_runs_as_the_cdk8s_cli_starts_it(environment: Environment, repository: Path) -> None:
    """`python -m stacks` with the output folder in the environment: the same dist/, and the scratch folder complete."""
    before = {path: path.read_bytes() for path in (repository / "dist").rglob("*.yaml")}
    scratch = repository / ".cdk8s" / "dist"

    command = [str(environment.folder / "bin" / "python"), "-m", "stacks"]
    subprocess.run(command, cwd=repository, env={**os.environ, "CDK8S_OUTDIR": ".cdk8s/dist"}, check=True)

    assert {path: path.read_bytes() for path in (repository / "dist").rglob("*.yaml")} == before
    assert len(list(scratch.rglob("*.yaml"))) == len(before)
