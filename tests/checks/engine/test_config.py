"""Settings of a repository, targets and codes: what is wrong is named with the nearest right word."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.docs.pages import Page
from trainshed.checks.config import Config, known_codes, parse_target, read_config
from trainshed.checks.options import CannotCheck, Options
from trainshed.cli import main
from trainshed.target import KNOWN, TARGET, Target, is_known

SETTINGS = """\
paths = ["dist"]
select = ["kueue", "schema"]
ignore = ["kueue-deprecated-version"]
severity = "warning"
crds = ["crds"]
target = {kueue = "0.18", kubernetes = "1.35.2"}
"""
EXPECTED = Config(
    ("dist",),
    Options(
        select=("kueue", "schema"),
        ignore=("kueue-deprecated-version",),
        severity="warning",
        crds=("crds",),
        target=Target(kueue="0.18", kubernetes="1.35"),
    ),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository as working directory."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "table"), [("trainshed.toml", "[check]"), ("pyproject.toml", "[tool.trainshed.check]")]
)
def test_both_files_hold_the_same_keys(file: str, table: str) -> None:
    Path(file).write_text(f"{table}\n{SETTINGS}")
    assert read_config(None) == EXPECTED
    assert read_config(file) == EXPECTED


def test_the_example_of_the_documentation_can_be_copied(root: Path) -> None:
    (example,) = Page.read(root / "docs" / "check.md").blocks("toml")
    Path("trainshed.toml").write_text(example)
    assert read_config(None).paths == ("dist",)
    Path("dist").mkdir()
    Path("dist/a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n")
    assert CliRunner().invoke(main, ["check"]).exit_code == 0


def test_the_nearest_file_up_to_the_repository_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "trainshed.toml").write_text('[check]\npaths = ["dist"]\n')
    (folder / "a").mkdir()
    (folder / "a" / "pyproject.toml").write_text("[tool.other]\n")
    monkeypatch.chdir(folder / "a")
    assert read_config(None).paths == ("../dist",)
    (folder / "a" / ".git").write_text("gitdir: elsewhere")
    assert read_config(None) == Config()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[check]\nselekt = []\n", 'trainshed.toml: "selekt" is not known; did you mean "select"?'),
        ("[check]\nselect = ['kueu-x']\n", 'trainshed.toml: select: "kueu-x" is no code'),
        ("[check]\nselect = 'kueue'\n", "trainshed.toml: select is not a list of strings"),
        ("[check]\nseverity = 'bad'\n", "severity is 'bad'; write one of error, warning, info"),
        ("[check]\ntarget = 'kueue'\n", "target is not a table"),
        ("[check]\ntarget = {kueu = '1'}\n", 'target "kueu" is not known; did you mean "kueue"?'),
        ("[check]\ntarget = {kueue = 'new'}\n", 'target "kueue=new" names no release'),
        ("[check\n", "trainshed.toml is not TOML"),
        ("check = 1\n", "check is not a table"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    Path("trainshed.toml").write_text(text)
    with pytest.raises(CannotCheck) as caught:
        read_config(None)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[chek]\nignore = ['kueue']\n", "trainshed.toml: [chek] is not known; did you mean [check]?"),
        ("[check]\n[targets]\nkueue = '0.18'\n", "trainshed.toml: [targets] is not known; did you mean [check]?"),
        (
            "ignore = ['kueue']\n",
            'trainshed.toml: "ignore" counts for nothing there; write ignore in the table [check]',
        ),
        (
            "[check]\n[target]\nkueue = '0.18'\n",
            "trainshed.toml: [target] counts for nothing there; write target in the table [check]",
        ),
        ("[tool.trainshed.check]\n", "trainshed.toml: [tool.trainshed.check] is not known; did you mean [check]?"),
    ],
)
def test_settings_beside_the_table_are_refused(text: str, message: str) -> None:
    Path("trainshed.toml").write_text(text)
    with pytest.raises(CannotCheck) as caught:
        read_config(None)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[trainshed.check]\n", "[trainshed] is not known; did you mean [tool.trainshed.check]?"),
        ("[tool.trainshed.chek]\n", "[tool.trainshed.chek] is not known; did you mean [tool.trainshed.check]?"),
        (
            "[tool.trainshed]\nignore = ['kueue']\n",
            '"tool.trainshed.ignore" counts for nothing there; write ignore in the table [tool.trainshed.check]',
        ),
    ],
)
def test_settings_beside_the_table_of_a_pyproject_are_refused(text: str, message: str) -> None:
    Path("pyproject.toml").write_text(text)
    with pytest.raises(CannotCheck) as caught:
        read_config(None)
    assert str(caught.value) == f"pyproject.toml: {message}"


def test_tables_of_other_tools_are_theirs() -> None:
    Path("pyproject.toml").write_text("[check]\na = 1\n[tool.check]\nb = 1\n[tool.trainshed]\n")
    assert read_config(None) == Config()
    Path("trainshed.toml").write_text("")
    assert read_config(None) == Config()


def test_a_file_that_is_named_has_to_be_there_and_to_have_the_table() -> None:
    with pytest.raises(CannotCheck, match=r"absent\.toml cannot be read"):
        read_config("absent.toml")
    Path("other.toml").write_text("")
    with pytest.raises(CannotCheck, match=r"other\.toml has no table \[check\]"):
        read_config("other.toml")


def test_targets_and_codes_come_with_commas_or_one_by_one() -> None:
    assert parse_target(["kueue=0.18,trainer=v2.2", "kubernetes=1.35.1"]) == Target(
        kueue="0.18", trainer="2.2", kubernetes="1.35"
    )
    assert parse_target([]) == TARGET
    assert known_codes(["kueue, schema-enum", "yaml"], "--select") == ("kueue", "schema-enum", "yaml")


@pytest.mark.parametrize(
    ("target", "known"),
    [
        ("kueue=9", "known are 0.3 to 0.19"),
        ("kueue=0.20", "known are 0.3 to 0.19"),
        ("argocd=2.15.0", "known are 2.0 to 2.14 and 3.0 to 3.5"),
        ("trainer=1.9", "known are 2.0 to 2.3"),
    ],
)
def test_a_release_that_the_rules_do_not_know_is_refused(target: str, known: str) -> None:
    with pytest.raises(CannotCheck) as caught:
        parse_target([target])
    assert str(caught.value) == f'target "{target}" is no known release; {known}'


def test_what_we_render_for_is_the_newest_known_release() -> None:
    for system, ranges in KNOWN.items():
        assert getattr(TARGET, system).split(".")[:2] == [str(ranges[-1][0]), str(ranges[-1][2])]
        assert is_known(system, getattr(TARGET, system))
