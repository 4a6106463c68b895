"""What cdk8s.yaml may name as output: stale files are removed there, so it lies in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainshed.gitops.app_config import CannotRun, read_config


def written(folder: Path, output: str | None) -> Path:
    """A repository with that output."""
    (folder / "repo").mkdir()
    (folder / "repo/main.py").touch()
    line = "" if output is None else f"output:   {output}\n"
    (folder / "repo/cdk8s.yaml").write_text(f"language: python\napp: python main.py\n{line}")
    return folder / "repo"


@pytest.mark.parametrize(
    "output",
    [
        *[
            "../x",
            "../../x",
            ".",
            "./",
            "/",
            "/tmp/x",
            "a/../..",
            "a/../../x",
            "'~'",
            "~/x",
            "''",
            "5",
            "[a]",
            "{a: b}",
        ],
        *[
            ".cdk8s/..",
            "C:/x",
            "'C:\\x'",
            "..\\x",
            "link",
            "link/below",
            ".cdk8s/link",
            "self",
            "nowhere",
            "inside/link",
        ],
    ],
)
def test_an_output_outside_is_refused_where_it_is_written(tmp_path: Path, output: str) -> None:
    repo = written(tmp_path, output)
    (tmp_path / "outside").mkdir()
    (repo / "inside").mkdir()
    for link, target in (("link", "../outside"), ("self", "self"), ("nowhere", "absent"), ("inside/link", "../..")):
        (repo / link).symlink_to(target)
    with pytest.raises(CannotRun) as refused:
        read_config(repo)
    told = str(refused.value)
    assert told.startswith("cdk8s.yaml:3:11: output: is ")
    assert told.endswith("; name a folder of this repository, for example .cdk8s/dist")
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize(
    ("output", "dist"),
    [
        (None, "dist"),
        ("", "dist"),
        ("dist", "dist"),
        (".cdk8s/dist", "dist"),
        ("a/.cdk8s/dist", "a/dist"),
        ("a/b", "a/b"),
        ("./out/", "out"),
        ("within", "within"),
    ],
)
def test_an_output_inside_is_taken(tmp_path: Path, output: str | None, dist: str) -> None:
    repo = written(tmp_path, output)
    (repo / "real").mkdir()
    (repo / "within").symlink_to("real")
    assert read_config(repo).dist == repo / dist


def test_a_dist_that_leads_out_is_refused_without_an_output(tmp_path: Path) -> None:
    repo = written(tmp_path, None)
    (tmp_path / "outside").mkdir()
    (repo / "dist").symlink_to("../outside")
    with pytest.raises(CannotRun, match="dist leads out of this folder, to "):
        read_config(repo)


@pytest.mark.parametrize(
    "app",
    [
        "python main.py && rm -r dist",
        "python main.py; true",
        "python main.py | tee log",
        "python main.py > log",
        "python main.py $(date)",
        "python -X dev main.py",
        "python -c 'import main'",
    ],
)
def test_an_app_that_needs_a_shell_or_other_options_is_refused(tmp_path: Path, app: str) -> None:
    """What follows would never run, silently."""
    (tmp_path / "main.py").touch()
    (tmp_path / "cdk8s.yaml").write_text(f"app: {app}\n")
    with pytest.raises(CannotRun, match='write "python -m <package>" or "python <file>"'):
        read_config(tmp_path)


def test_arguments_of_the_app_are_kept(tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()
    (tmp_path / "cdk8s.yaml").write_text("app: python main.py --region eu\n")
    assert read_config(tmp_path).arguments == ("--region", "eu")


def test_a_folder_above_that_has_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "cdk8s.yaml").write_text("app: python main.py\n")
    (tmp_path / "a/b").mkdir(parents=True)
    with pytest.raises(CannotRun) as one:
        read_config(tmp_path / "a")
    with pytest.raises(CannotRun) as two:
        read_config(tmp_path / "a/b")
    where = f"cdk8s.yaml: No such file or directory; run this in {tmp_path.resolve()}"
    assert (str(one.value), str(two.value)) == (f"{where}, one level up", f"{where}, 2 levels up")


def test_the_app_does_not_stand_in_its_output(tmp_path: Path) -> None:
    """Or every source would be told as a file that is not generated."""
    (tmp_path / "stacks/lab").mkdir(parents=True)
    (tmp_path / "stacks/__main__.py").touch()
    (tmp_path / "stacks/lab/main.py").touch()
    for app, output, inside in (
        ("-m stacks", "stacks", "stacks"),
        ("-m stacks.lab", "./stacks", "stacks"),
        ("stacks/lab/main.py", ".cdk8s/stacks", "stacks"),
        ("stacks/lab/main.py", "stacks/lab", "stacks/lab"),
    ):
        (tmp_path / "cdk8s.yaml").write_text(f"app: python {app}\noutput: {output}\n")
        with pytest.raises(CannotRun) as refused:
            read_config(tmp_path)
        assert str(refused.value) == (
            f'cdk8s.yaml:2:9: output: is "{output}", and the app itself stands in {inside}/; '
            "name a folder of this repository, for example .cdk8s/dist"
        )
    (tmp_path / "cdk8s.yaml").write_text("app: python -m stacks\noutput: stacks/dist\n")
    assert read_config(tmp_path).dist == tmp_path / "stacks/dist"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"ap: python main.py\n", 'cdk8s.yaml: "ap" is not known; did you mean "app"?'),
        (b"language: python\n", 'cdk8s.yaml: app is missing; write "python -m <package>" or "python <file>"'),
        (b"app: python main.py\noutput: [dist\n", "cdk8s.yaml:3:1: is not YAML: "),
        (
            "app: python main.py\n".encode("utf-16"),
            "cdk8s.yaml:1:1: is not UTF-8: it has the byte 0xff here; save the file as UTF-8",
        ),
        (b"<<<<<<< HEAD\napp: a\n=======\n>>>>>>> b\n", "cdk8s.yaml:1:1: has a merge conflict here; "),
    ],
    ids=["misspelt", "missing", "unclosed", "UTF-16", "conflict"],
)
def test_what_is_wrong_with_the_file_is_told_with_its_place(tmp_path: Path, data: bytes, told: str) -> None:
    (tmp_path / "cdk8s.yaml").write_bytes(data)
    with pytest.raises(CannotRun) as refused:
        read_config(tmp_path)
    assert str(refused.value).startswith(told)
    assert "\n" not in str(refused.value)
