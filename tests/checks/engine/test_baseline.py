"""`--baseline`: a folder, a file, or a Git revision; baseline rules see the fleet before the change."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checks.engine.checked import extra_rule
from trainshed.checks.engine import Report, check
from trainshed.checks.options import CannotCheck, Options
from trainshed.checks.rule import RULES, Issue, Rule
from trainshed.fleet.fleet import Fleet


def gone(fleet: Fleet) -> Iterator[Issue]:
    """Reports, at the first document, what is gone; the related place is where it was."""
    assert fleet.baseline is not None
    here = {document.identity for document in fleet.documents}
    for document in fleet.baseline.documents:
        if document.identity not in here:
            yield Issue(fleet.documents[0], (), f"{document.name} is gone", related=(("was here", document, ()),))


@pytest.fixture(autouse=True)
def rule() -> Iterator[Rule]:
    with extra_rule("test-gone", gone) as added:
        RULES["test-gone"] = Rule(added.code, added.severity, added.family, added.function, baseline=True)
        yield added


def write(path: str, *names: str, header: str = "") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    objects = [f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n" for name in names]
    Path(path).write_text(header + "---\n".join(objects))


def told(report: Report) -> list[str]:
    return [f.message for f in report.findings if f.code == "test-gone"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Git repository whose first commit has two objects in `dist/`, and whose working tree has one."""
    monkeypatch.chdir(tmp_path)
    write("dist/a.yaml", "one", "two")
    write("other/b.yaml", "three")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x"],
        ["tag", "before"],
    ):
        subprocess.run(["git", *command], check=True)
    write("dist/a.yaml", "one")
    return tmp_path


def test_without_a_baseline_the_change_is_not_judged(repository: Path) -> None:
    assert told(check(["dist"], Options())) == []


@pytest.mark.parametrize("revision", ["before", "HEAD", "HEAD~0"])
def test_a_revision_is_read_from_git(repository: Path, revision: str) -> None:
    report = check(["dist"], Options(), baseline=revision)
    assert told(report) == ["two is gone"]
    ((_, place),) = report.findings[0].related
    assert (place.file, place.line) == (f"{revision}:dist/a.yaml", 5)


def test_only_the_paths_that_are_checked_are_read(repository: Path) -> None:
    assert told(check(["other"], Options(), baseline="before")) == []
    assert told(check(["dist", "other"], Options(), baseline="before")) == ["two is gone"]


def test_a_path_that_is_new_has_an_empty_past(repository: Path) -> None:
    write("new/c.yaml", "four")
    assert told(check(["new"], Options(), baseline="before")) == []


def test_objects_that_moved_to_a_new_path_are_judged_with_the_file_they_came_from(repository: Path) -> None:
    Path("dist/a.yaml").rename("renamed.yaml")
    report = check(["renamed.yaml"], Options(), baseline="before")
    assert told(report) == ["two is gone"]
    ((_, place),) = report.findings[0].related
    assert place.file == "before:dist/a.yaml"
    Path("dist").rmdir()
    write("moved/b/a.yaml", "one")
    assert told(check(["moved"], Options(), baseline="before")) == ["two is gone"]


def test_a_copy_of_a_file_that_is_still_there_is_new(repository: Path) -> None:
    write("copy.yaml", "one")
    assert told(check(["copy.yaml"], Options(), baseline="before")) == []


def test_a_folder_that_git_ignores_has_no_past_and_is_refused(repository: Path) -> None:
    Path(".gitignore").write_text("rendered\n")
    write("rendered/a.yaml", "one")
    with pytest.raises(CannotCheck, match="before has no rendered, which Git ignores"):
        check(["rendered"], Options(), baseline="before")


def test_a_folder_below_the_root_of_the_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "dist")
    assert told(check(["."], Options(), baseline="before")) == ["two is gone"]
    assert told(check(["../other"], Options(), baseline="before")) == []
    write("../other/b.yaml", "four")
    assert told(check(["../other"], Options(), baseline="before")) == ["three is gone"]


def test_the_repository_is_that_of_the_path_not_of_the_working_folder(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    for path in (repository, repository / "dist", repository / "dist/a.yaml"):
        report = check([str(path)], Options(), baseline="before")
        assert told(report) == ["two is gone"]
        ((_, place),) = report.findings[0].related
        assert place.file == "before:dist/a.yaml"
    subprocess.run(["git", "init", "-q"], check=True)
    write("c.yaml", "five")
    with pytest.raises(CannotCheck, match="different Git repositories"):
        check(["c.yaml", str(repository)], Options(), baseline="before")


def test_standard_input_has_no_history(repository: Path) -> None:
    with pytest.raises(CannotCheck, match="standard input"):
        check(["-"], Options(), baseline="before")


def test_a_file_or_a_folder_may_be_the_baseline(repository: Path) -> None:
    write("old/a.yaml", "one", "two", "zero")
    assert told(check(["dist"], Options(), baseline="old")) == ["two is gone", "zero is gone"]
    assert told(check(["dist"], Options(), baseline="old/a.yaml")) == ["two is gone", "zero is gone"]


@pytest.mark.parametrize("revision", ["nowhere", "--help", "-x"])
def test_what_is_neither_is_refused(repository: Path, revision: str) -> None:
    with pytest.raises(CannotCheck, match="neither"):
        check(["dist"], Options(), baseline=revision)


def test_a_shallow_clone_and_a_folder_without_git_are_named(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path_factory.mktemp("clone")
    subprocess.run(["git", "clone", "-q", "--depth=1", repository.as_uri(), str(clone)], check=True)
    monkeypatch.chdir(clone)
    with pytest.raises(CannotCheck, match="shallow clone"):
        check(["."], Options(), baseline="HEAD~1")
    monkeypatch.chdir(tmp_path_factory.mktemp("bare"))
    with pytest.raises(CannotCheck, match="lies in no Git repository"):
        check(["."], Options(), baseline="main")


def test_a_baseline_that_is_only_broken_is_refused(repository: Path) -> None:
    Path("broken.yaml").write_text("a: [\n")
    with pytest.raises(CannotCheck, match=r"--baseline broken\.yaml holds no object; broken\.yaml:"):
        check(["dist"], Options(), baseline="broken.yaml")


def test_each_cluster_is_compared_with_its_own_past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for cluster in ("a", "b"):
        write(f"old/{cluster}/x/f.yaml", "same", f"old-{cluster}")
        write(f"new/{cluster}/x/f.yaml", "same")
    assert told(check(["new"], Options(), baseline="old")) == ["old-a is gone", "old-b is gone"]
