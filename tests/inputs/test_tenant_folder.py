"""A tenant whose file is not read would be pruned: what may hold one is told, and what plainly does is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synthesis import h100, new_cluster
from trainshed.faults import Faults
from trainshed.gitops import App, Cluster
from trainshed.inputs import load_tenants

TENANT = "name: low\nnamespaces: [n]\nguarantee:\n  h100: {nodes: 1}\n"


@pytest.fixture
def cluster() -> Cluster:
    cluster = new_cluster()
    h100(cluster)
    return cluster


def told(cluster: Cluster, folder: Path) -> tuple[list[str], list[str]]:
    """Errors and warnings, without the folder."""
    load_tenants(cluster, folder)
    return tuple(
        [str(fault).replace(f"{folder}/", "") for fault in kind] for kind in (cluster.faults, cluster.warnings)
    )  # type: ignore[return-value]  # of two


@pytest.mark.parametrize("name", ["low.yml", "low.YAML", "low.Yml", "low.json", "low.JSON", ".yaml", ".YAML"])
def test_what_plainly_is_a_tenant_is_an_error(cluster: Cluster, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TENANT)
    errors, warnings = told(cluster, tmp_path)
    call = "<tenant>" if name.startswith(".") else "low"
    assert errors == [f"{name}: is not read: tenant files end in .yaml; call it {call}.yaml"]
    assert warnings == []


@pytest.mark.parametrize(
    "name",
    [
        "low.yaml.bak",
        "low.yaml~",
        "low.bak",
        "low.yaml.txt",
        "low.yaml.md",
        "low.yml.orig",
        "low.yamll",
        "low",
        "l.toml",
    ],
)
def test_what_may_be_a_tenant_is_a_warning(cluster: Cluster, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TENANT)
    errors, warnings = told(cluster, tmp_path)
    assert errors == []
    fix = "call it so if it holds a tenant, or move it out of this folder"
    assert warnings == [f"{name}: is not read: tenant files end in .yaml; {fix}"]


@pytest.mark.parametrize(
    "name", ["README.md", "README", "OWNERS", "__init__.py", ".gitkeep", ".low.yaml.swp", ".#low.yaml", ".DS_Store"]
)
def test_what_stands_beside_tenants_is_no_mistake(cluster: Cluster, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    assert told(cluster, tmp_path) == ([], [])


def test_folders_are_told_when_tenants_are_in_them(cluster: Cluster, tmp_path: Path) -> None:
    for file in ("old/deep/low.YAML", "__pycache__/a.json", "tools/make.py", ".git/a.yaml", "schemas/tenant.json"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(TENANT)
    sentence = "is a folder, and the tenant files in it are not read; move them one level up, or out of this folder"
    assert told(cluster, tmp_path) == ([f"old: {sentence}"], [f"schemas: {sentence}"])


def test_a_stack_that_goes_on_with_a_tenant_of_a_subfolder_adds_nothing(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/low.yaml").write_text(TENANT)
    tenants = load_tenants(cluster, tmp_path)
    with pytest.raises(Faults) as raised:
        tenants["low"]
    assert list(raised.value.faults) == cluster.faults


@pytest.mark.parametrize("broken", [False, True])
def test_warnings_are_told_with_and_without_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    monkeypatch.setenv("CDK8S_OUTDIR", str(tmp_path / "dist"))
    folder = tmp_path / "tenants"
    folder.mkdir()
    (folder / "low.bak").write_text(TENANT)

    def lab(app: App) -> Cluster:
        cluster = Cluster(app, "lab")
        h100(cluster)
        load_tenants(cluster, folder)
        if broken:
            raise ValueError("half a cluster")
        return cluster

    app = App()
    app.build(lab)
    if broken:
        with pytest.raises(Faults):
            app.synth()
    else:
        app.synth()
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("warning: ")] == lines
    assert len(lines) == 1
    assert "low.bak: is not read" in lines[0]
