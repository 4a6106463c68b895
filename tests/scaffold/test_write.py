"""What `write_scaffold` writes, for which names, and what it refuses without leaving a trace."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from trainshed.cli import main
from trainshed.inputs.schema import schema_text
from trainshed.scaffold import CannotInit, NotEmpty, write_scaffold
from trainshed.scaffold.names import class_name, module_name
from trainshed.scaffold.write import scaffold_files

GIT = "https://git.example.com/ml/clusters.git"


def contents(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("cluster", "module", "cls"),
    [
        ("production", "production", "ProductionCluster"),
        ("eu-west-1", "eu_west_1", "EuWest1Cluster"),
        ("3rd", "cluster_3rd", "Cluster3rdCluster"),
        ("import", "cluster_import", "ClusterImportCluster"),
        ("app", "app", "AppCluster"),
        ("a--b", "a__b", "ABCluster"),
    ],
)
def test_any_dns_label_has_a_module_and_a_class(cluster: str, module: str, cls: str) -> None:
    assert (module_name(cluster), class_name(cluster)) == (module, cls)


@pytest.mark.parametrize("cluster", ["production", "3rd", "class", "app", "cluster", "tenant", "a" * 63])
def test_every_file_parses_whatever_the_cluster_is_called(cluster: str) -> None:
    for path, text in scaffold_files(cluster, 'ssh://git@example.com/a"b\\c').items():
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        if path.endswith(".py"):
            ast.parse(text)
        if path.endswith(".yaml"):
            assert yaml.safe_load(text)


def test_no_placeholder_is_left_but_the_schema_keyword() -> None:
    texts = scaffold_files("production", GIT)
    left = {path for path, text in texts.items() if "$" in text}

    assert left == {
        "stacks/production/tenants/products.yaml",  # $schema
        "schemas/tenant.json",
        ".pre-commit-config.yaml",  # the end of a regular expression
        ".github/workflows/ci.yaml",  # a variable of the shell
    }


def test_the_address_arrives_unharmed() -> None:
    address = 'ssh://git@example.com/a"b\\c'
    tree = ast.parse(scaffold_files("production", address)["stacks/__main__.py"])
    strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]

    assert address in strings


def test_the_schema_is_the_one_that_the_command_prints() -> None:
    assert scaffold_files("production", GIT)["schemas/tenant.json"] == schema_text("tenant") + "\n"


def test_it_returns_what_it_wrote(tmp_path: Path) -> None:
    written = write_scaffold(tmp_path / "a" / "b", cluster="production", repository=GIT)
    found = sorted(path for path in contents(tmp_path / "a" / "b") if (tmp_path / "a" / "b" / path).is_file())

    assert written == found


def test_a_fresh_clone_of_an_empty_repository_is_empty_enough(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()

    assert write_scaffold(tmp_path, cluster="production", repository=GIT)


def test_a_folder_with_anything_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(NotEmpty, match=r"is not empty, it holds notes\.txt"):
        write_scaffold(tmp_path, cluster="production", repository=GIT)
    assert contents(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize(
    ("cluster", "repository", "message"),
    [
        ("Prod", GIT, '--cluster: "Prod" is not a DNS-1123 label'),
        ("", GIT, "--cluster: "),
        ("a" * 64, GIT, "--cluster: "),
        ("../up", GIT, "--cluster: "),
        ("production", "", "--repository: is empty"),
        ("production", "foo", '--repository: "foo" is no address of a Git repository; write for example "https://'),
        ("production", "https://me:secret@git.example.com/a.git", "--repository: holds a password or token"),
        ("production", "https://git.example.com/a b", "--repository: "),
        ("production", "https://git.example.com/\n", "--repository: "),
    ],
)
def test_unusable_names_write_nothing(tmp_path: Path, cluster: str, repository: str, message: str) -> None:
    with pytest.raises(CannotInit) as refused:
        write_scaffold(tmp_path / "new", cluster=cluster, repository=repository)

    assert str(refused.value).startswith(message)
    assert contents(tmp_path) == []


def test_what_was_written_before_the_system_refused_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def refuse(self: Path, data: str, **how: str) -> int:
        if self.name == "ci.yaml":
            raise OSError(28, "No space left on device", str(self))
        return write(self, data, **how)

    monkeypatch.setattr(Path, "write_text", refuse)

    with pytest.raises(CannotInit, match="No space left on device"):
        write_scaffold(tmp_path / "new" / "deep", cluster="production", repository=GIT)
    assert contents(tmp_path) == []


def test_the_command_exits_2_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    result = CliRunner().invoke(main, ["init", str(tmp_path)])

    assert result.exit_code == 2
    assert result.output == f"error: {tmp_path}: is not empty, it holds notes.txt; name a new folder\n"
