"""Paths of Applications are compared with the folders of the input, where it shows the same repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainshed.checks.engine import check
from trainshed.checks.options import Options

REPOSITORY = "https://git.example.com/platform.git"


def application(name: str, path: str, repository: str = REPOSITORY, revision: str = "main") -> str:
    source = f"{{repoURL: {repository}, path: {path}, targetRevision: {revision}}}"
    return (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n"
        f"spec: {{project: default, source: {source}, destination: {{server: https://kubernetes.default.svc}}}}\n"
    )


def told(folder: Path, *applications: str) -> list[str]:
    for name in ("queues", "research"):
        (folder / "gitops" / name).mkdir(parents=True)
        namespace = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
        (folder / "gitops" / name / "a.yaml").write_text(namespace)
    (folder / "gitops" / "apps").mkdir()
    (folder / "gitops" / "apps" / "a.yaml").write_text("---\n".join(applications))
    report = check([str(folder)], Options(select=("argocd-path-missing",)))
    return [f"{finding.path} {finding.fix}" for finding in report.findings]


@pytest.mark.parametrize("path", ["gitops/reserach", "gitops/reserach/", "gitops/Research"])
def test_a_path_that_is_nearly_a_folder_is_told(tmp_path: Path, path: str) -> None:
    found = told(tmp_path, application("a", "gitops/queues"), application("b", path))
    assert found == ['spec.source.path did you mean "gitops/research"?']


@pytest.mark.parametrize(
    "other",
    [
        application("b", "gitops/research"),
        application("b", "gitops/inference"),
        application("b", "gitops/reserach", "https://git.example.com/other.git"),
        application("b", "gitops/reserach", revision="v1"),
        application("b", '"gitops/{{.path}}"'),
        application("b", "research"),
        application("b", "elsewhere/reserach"),
    ],
)
def test_what_may_be_elsewhere_is_not(tmp_path: Path, other: str) -> None:
    assert told(tmp_path, application("a", "gitops/queues"), other) == []


def test_a_slip_in_the_middle_of_a_path_is_told(tmp_path: Path) -> None:
    (tmp_path / "gitops" / "lab" / "runs").mkdir(parents=True)
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: runs}\n"
    (tmp_path / "gitops" / "lab" / "runs" / "a.yaml").write_text(namespace)
    found = told(tmp_path, application("a", "gitops/queues"), application("b", "gitops/lba/runs"))
    assert found == ['spec.source.path did you mean "gitops/lab/runs"?']


def test_a_directory_of_a_set_is_a_path_too(tmp_path: Path) -> None:
    applications = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all, namespace: argocd}\n"
        f"spec:\n  generators:\n  - git:\n      repoURL: {REPOSITORY}\n      revision: main\n"
        "      directories: [{path: gitops/queues}, {path: gitops/reserach}, {path: gitops/*}]\n"
        "  template:\n    metadata: {name: x}\n    spec: {project: default}\n"
    )
    assert told(tmp_path, applications) == [
        'spec.generators[0].git.directories[1].path did you mean "gitops/research"?'
    ]
