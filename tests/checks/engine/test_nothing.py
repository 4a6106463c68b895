"""An input without an object is no clean input: whoever checks the wrong path is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainshed.checks.engine import Report, check
from trainshed.checks.options import Options

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team-1}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("full").mkdir()
    Path("full/a.yaml").write_text(OBJECT)
    return tmp_path


def told(report: Report) -> list[str]:
    return [f"{finding.severity} {finding.message}" for finding in report.findings if finding.code == "nothing-checked"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (None, "0 files read"),
        ("", "1 file read"),
        ("image: {tag: a}\n", "1 file read, 1 document of another kind"),
        ("# +argocd:skip-file-rendering\n" + OBJECT, "1 file read, 1 that Argo CD skips"),
        ("kind: List\napiVersion: v1\nitems: []\n", "1 file read"),
    ],
)
def test_an_input_without_an_object_ends_with_2(text: str | None, rest: str) -> None:
    if text is not None:
        Path("empty/a.yaml").write_text(text)
    for options in (Options(), Options(select=("kueue",), severity="error")):
        report = check(["empty"], options)
        assert told(report) == [f"error nothing was judged: there is no Kubernetes object in empty ({rest})"]
        assert report.exit_code == 2


@pytest.mark.usefixtures("folder")
def test_an_empty_input_may_be_allowed() -> None:
    report = check(["empty"], Options(ignore=("nothing-checked",)))
    assert report.findings == []
    assert report.exit_code == 0


@pytest.mark.usefixtures("folder")
def test_broken_files_are_told_instead() -> None:
    Path("empty/a.yaml").write_text("a: [\n")
    report = check(["empty"], Options())
    assert told(report) == []
    assert report.exit_code == 1


@pytest.mark.usefixtures("folder")
def test_a_binary_file_is_a_file_that_was_read_and_an_error() -> None:
    Path("a.bin").write_bytes(b"\0\1\2" * 9)
    report = check(["a.bin"], Options())
    assert (report.counts.files, report.exit_code) == (1, 1)


@pytest.mark.usefixtures("folder")
def test_an_empty_folder_beside_a_full_one_is_a_warning() -> None:
    report = check(["full", "empty"], Options())
    assert told(report) == ["warning there is no Kubernetes object in empty: nothing of it was judged"]
    assert report.exit_code == 0
    assert told(check([".", "full"], Options())) == []
    assert told(check(["full", "empty/../full/a.yaml"], Options())) == []


@pytest.mark.usefixtures("folder")
def test_a_change_that_removes_everything_was_judged() -> None:
    assert told(check(["empty"], Options(), baseline="full")) == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "code", "severity"),
    [
        ("kind: [a]\n", "missing-kind", "error"),
        ("apiVersion: 1\n", "missing-api-version", "error"),
        ("apiVersion: batch/v1\n", "missing-kind", "error"),
        ("apiVersion: v1\nkind: [a]\n", "missing-kind", "error"),
        ("apiVersion: v1\nkind: Job\nmetadata: []\n", "schema-version", "error"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: []\n", "schema-type", "error"),
        ("just text\n", "not-an-object", "info"),
        ("- a\n", "not-an-object", "info"),
        ("apiVersion: v2\nname: chart\nversion: 1.0.0\n", "", ""),
        ("apiVersion: 1\nproviders: [{name: a}]\n", "", ""),
        ("kind: pipeline\nname: default\nsteps: []\n", "", ""),
        ("apiVersion: kustomize.config.k8s.io/v1beta1\nresources: []\n", "", ""),
    ],
)
def test_what_is_almost_an_object_is_told_in_a_folder_too(text: str, code: str, severity: str) -> None:
    Path("full/b.yaml").write_text(text)
    findings = [one for one in check(["full"], Options()).findings if one.place and one.place.file.endswith("b.yaml")]
    assert {(one.code, one.severity) for one in findings} >= ({(code, severity)} if code else set())
    assert bool(findings) == bool(code)
