"""What README.md shows is what happens: its stack is rendered, its mistakes are made, its output is compared."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Page
from trainshed.inputs.schema import schema_text
from trainshed.target import TARGET


@pytest.fixture(scope="module")
def readme(root: Path) -> Page:
    """The page."""
    return Page.read(root / "README.md")


def synth(folder: Path) -> subprocess.CompletedProcess[str]:
    """`trainshed synth` in `folder`."""
    return trainshed(folder, "synth")


def trainshed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in `folder`."""
    command = [sys.executable, "-m", "trainshed.cli", *arguments]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def stack(readme: Page, tmp_path: Path) -> Path:
    """A repository with the page's stack and nothing else; the path of its stack.py."""
    lines = re.findall(r"`(app: [^`]+|output: [^`]+)`", readme.prose)
    (tmp_path / "cdk8s.yaml").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "stack.py").write_text(readme.blocks("python")[0])
    return tmp_path / "stack.py"


def test_five_minutes(readme: Page) -> None:
    assert len(readme.text.splitlines()) <= 200


def test_the_stack_gives_the_yaml_that_stands_below_it(readme: Page, stack: Path) -> None:
    result = synth(stack.parent)

    assert result.returncode == 0, result.stderr
    files = sorted((stack.parent / "dist").rglob("*.yaml"))
    assert f"These lines give {len(files)} files" in readme.prose
    (shown,) = (block for block in readme.blocks("yaml") if block.startswith("# Generated"))
    assert shown == (stack.parent / "dist/lab/platform/ClusterQueue.high.yaml").read_text(encoding="utf-8")


def test_the_tenant_file_is_the_one_in_the_lab(readme: Page, root: Path) -> None:
    (shown,) = (block for block in readme.blocks("yaml") if block.startswith("# yaml-language-server"))

    assert shown == (root / "stacks/lab/tenants/low.yaml").read_text(encoding="utf-8")


def test_the_schema_that_tenant_files_name_is_current(root: Path) -> None:
    assert (root / "schemas/tenant.json").read_text(encoding="utf-8") == schema_text("tenant") + "\n"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("guarantee={pool: nodes(3)}", "guarentee={pool: nodes(3)}"),
        ("guarantee={pool: nodes(3)}", "guarantee={pool: nodes(4)}"),
    ],
)
def test_a_mistake_in_the_stack_is_told_as_shown(readme: Page, stack: Path, right: str, wrong: str) -> None:
    text = stack.read_text()
    assert text.count(right) == 1
    stack.write_text(text.replace(right, wrong))

    result = synth(stack.parent)

    assert result.returncode == 1
    assert not (stack.parent / "dist").exists()
    assert f"$ trainshed synth\n{result.stderr}" in shown(readme)


def test_a_mistake_in_a_tenant_file_is_told_as_shown(readme: Page, root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "stacks", tmp_path / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "cdk8s.yaml", tmp_path)
    tenant = tmp_path / "stacks/lab/tenants/low.yaml"
    tenant.write_text(tenant.read_text().replace("h100: {nodes: 5}", "h10: {nodes: 5}"))

    result = synth(tmp_path)

    assert result.returncode == 1
    assert f"$ trainshed synth\n{result.stderr}" in shown(readme)


def test_a_run_that_was_made_too_large_by_hand_is_judged_as_shown(readme: Page, stack: Path) -> None:
    assert synth(stack.parent).returncode == 0
    (run,) = (stack.parent / "dist/lab/high").glob("TrainJob.*.yaml")
    run.write_text(run.read_text().replace("numNodes: 2", "numNodes: 6"))

    result = trainshed(stack.parent, "check", "dist")

    assert result.returncode == 1
    assert f"$ trainshed check dist\n{result.stdout}" in readme.blocks("console")


def shown(readme: Page) -> str:
    """The mistakes of the page, with all that the command says."""
    (block,) = (block for block in readme.blocks("console") if "error: " in block)
    assert block.count("error: ") == 3
    return block if block.endswith("\n") else f"{block}\n"


def test_the_commands_of_make_synth_are_those_shown(readme: Page, root: Path) -> None:
    """As in a fresh clone: what make says, and that nothing changes."""
    (shown,) = (block for block in readme.blocks("console") if block.startswith("$ make synth"))
    *recipe, result = shown.splitlines()[1:]
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    files = sum(1 for _ in (root / "dist").rglob("*.yaml"))

    plain = makefile.replace("$(BIN)", ".venv/bin").replace("$(VENV)", ".venv").replace("$(PYTHON)", "python3")
    assert [line for line in recipe if f"\t{line}" not in plain] == []
    assert result == f"dist/: 0 added, 0 changed, 0 removed, {files} unchanged"


def test_the_end_of_make_test_has_the_form_shown(readme: Page) -> None:
    """Numbers of tests and seconds differ from run to run."""
    (shown,) = (block for block in readme.blocks("console") if block.startswith("$ make test"))

    assert re.search(r"^All checks passed!$", shown, re.M)
    assert re.search(r"^Success: no issues found in \d+ source files$", shown, re.M)
    assert re.search(r"^=+ .*\d+ passed.* in .*=+$", shown, re.M)


def test_the_versions_are_those_of_the_target(readme: Page) -> None:
    told = f"Kubernetes {TARGET.kubernetes}, Kueue {TARGET.kueue}, JobSet {TARGET.jobset}, Trainer {TARGET.trainer}"

    assert f"Output is for {told}, Volcano {TARGET.volcano} and Argo CD {TARGET.argocd}." in readme.text


@pytest.mark.parametrize("name", ["lab", "platform", "high", "low"])
def test_the_folders_that_argo_cd_is_said_to_sync_are_those_in_its_objects(root: Path, name: str) -> None:
    bootstrap = (root / "dist/lab/argocd/Application.argocd.lab-argocd.yaml").read_text(encoding="utf-8")
    applications = (root / "dist/lab/argocd/ApplicationSet.argocd.lab.yaml").read_text(encoding="utf-8")

    if name == "lab":
        assert "path: dist/lab/argocd\n" in bootstrap
    else:
        assert f"- path: dist/lab/{name}\n" in applications
        assert f"project: lab-{name}\n" in applications
