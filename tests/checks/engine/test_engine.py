"""The engine: what is asked for is reported, in a stable order, and a failing rule hides nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checks.engine.checked import checked, extra_rule, names_every_config_map, of_code
from trainshed.checks.engine import check
from trainshed.checks.options import CannotCheck, Options
from trainshed.checks.rule import Issue
from trainshed.fleet.fleet import Fleet
from trainshed.target import Target

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: space{more}}}\n"


def config_map(name: str, more: str = "") -> str:
    return MAP.format(name=name, more=more)


def allowing(codes: str) -> str:
    return config_map("a", f', annotations: {{trainshed.dev/allow: "{codes}"}}')


def fails(fleet: Fleet) -> Iterator[Issue]:
    """Fails."""
    raise ZeroDivisionError("one by nothing")
    yield


@pytest.fixture
def every_config_map() -> Iterator[None]:
    with extra_rule("test-config-map", names_every_config_map):
        yield


@pytest.mark.usefixtures("every_config_map")
def test_findings_are_sorted_by_place(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.yaml").write_text(config_map(f"{name}-2") + "---\n" + config_map(f"{name}-1"))
    found = [finding.message for finding in check([str(tmp_path)], Options()).findings]
    assert found == [f"{name} exists" for name in ("a-2", "a-1", "b-2", "b-1", "c-2", "c-1")]


@pytest.mark.usefixtures("every_config_map")
def test_a_failing_rule_is_a_finding_and_the_others_still_judge(tmp_path: Path) -> None:
    with extra_rule("test-fails", fails):
        report = checked(tmp_path, config_map("a"))
    (failure,) = of_code(report, "internal-error")
    assert "test-fails" in failure.message
    assert "one by nothing" in failure.message
    assert failure.severity == "warning"
    assert [finding.message for finding in of_code(report, "test-config-map")] == ["a exists"]
    assert report.counts.internal_errors == 1


def test_the_traceback_is_printed_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with extra_rule("test-fails", fails):
        checked(tmp_path, config_map("a"))
        assert capsys.readouterr().err == ""
        monkeypatch.setenv("TRAINSHED_TRACEBACK", "1")
        checked(tmp_path, config_map("a"))
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.usefixtures("every_config_map")
@pytest.mark.parametrize(
    ("options", "found"),
    [
        (Options(select=("test-config-map",)), True),
        (Options(select=("test",)), True),
        (Options(select=("tes",)), False),
        (Options(ignore=("test",)), False),
        (Options(select=("test",), ignore=("test-config-map",)), False),
        (Options(select=("kueue",)), False),
    ],
)
def test_codes_are_selected_whole_or_by_their_first_words(tmp_path: Path, options: Options, found: bool) -> None:
    assert bool(checked(tmp_path, config_map("a"), options).findings) is found


def test_severity_hides_what_is_lower(tmp_path: Path) -> None:
    with extra_rule("test-config-map", names_every_config_map, severity="warning"):
        assert checked(tmp_path, config_map("a"), Options(severity="error")).findings == []
        assert len(checked(tmp_path, config_map("a"), Options(severity="warning")).findings) == 1


@pytest.mark.usefixtures("every_config_map")
def test_exit_code_says_whether_there_are_errors(tmp_path: Path) -> None:
    assert checked(tmp_path, config_map("a")).exit_code == 1
    assert checked(tmp_path, config_map("a"), Options(ignore=("test",))).exit_code == 0
    assert check([str(tmp_path), str(tmp_path / "absent")], Options(ignore=("test",))).exit_code == 2


@pytest.mark.usefixtures("every_config_map")
def test_an_annotation_allows_a_code_on_its_object_only(tmp_path: Path) -> None:
    report = checked(tmp_path, allowing("test-config-map") + "---\n" + config_map("b"))
    assert [finding.message for finding in report.findings] == ["b exists"]
    assert report.counts.allowed == 1


@pytest.mark.usefixtures("every_config_map")
def test_an_allowance_of_one_object_does_not_reach_its_namesake_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(allowing("test-config-map"))
    (tmp_path / "b.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n")
    assert [f.object.namespace for f in check([str(tmp_path)], Options()).findings if f.object] == ["other"]


def test_an_allowance_that_nothing_needs_is_a_finding(tmp_path: Path) -> None:
    report = checked(tmp_path, allowing("schema-enum, schema-typ"))
    (unused,) = of_code(report, "allow-unused")
    (unknown,) = of_code(report, "allow-unknown-code")
    assert "schema-enum" in unused.message
    assert unused.place is not None
    assert unused.place.line == 3
    assert unknown.fix == 'did you mean "schema-type"?'


def test_an_allowance_of_a_code_that_was_not_looked_for_is_no_finding(tmp_path: Path) -> None:
    report = checked(tmp_path, allowing("schema-enum"), Options(ignore=("schema",)))
    assert report.findings == []


def test_two_clusters_of_a_generated_tree_do_not_clash(tmp_path: Path) -> None:
    """Our header names the cluster, also when the files are given one by one."""
    files = []
    for cluster in ("one", "two"):
        file = tmp_path / f"{cluster}.yaml"
        file.write_text(f"# Generated by trainshed from {cluster}/x. Do not edit.\n" + config_map("a"))
        files.append(str(file))
    assert check(files, Options()).findings == []
    for path in files:
        Path(path).write_text(Path(path).read_text().split("\n", 1)[1])
    assert len(of_code(check(files, Options()), "duplicate-object")) == 1


@pytest.mark.usefixtures("every_config_map")
def test_a_shared_base_is_judged_once(tmp_path: Path) -> None:
    """Two clusters that define the same object, and a folder that belongs to both."""
    for folder, name in (("one/x", "a"), ("two/x", "a"), ("base/x", "shared")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "f.yaml").write_text(config_map(name))
    assert sorted(f.message for f in check([str(tmp_path)], Options()).findings) == [
        "a exists",
        "a exists",
        "shared exists",
    ]


def test_of_two_definitions_rules_judge_the_one_that_stays(tmp_path: Path) -> None:
    seen: list[object] = []

    def look(fleet: Fleet) -> Iterator[Issue]:
        """Looks."""
        seen.extend(document.manifest.get("data") for document in fleet.documents)
        yield from ()

    with extra_rule("test-look", look):
        report = checked(tmp_path, config_map("a") + "data: {k: one}\n---\n" + config_map("a") + "data: {k: two}\n")
    assert seen == [{"k": "two"}]
    assert [finding.code for finding in report.findings] == ["duplicate-object"]


def test_kinds_that_nobody_knows_pass_with_a_count(tmp_path: Path) -> None:
    report = checked(tmp_path, "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: [1, {}]\n")
    assert report.findings == []
    assert (report.counts.unknown, report.counts.unknown_kinds) == (1, {"example.com/v1 Thing": 1})


def test_labels_of_unknown_kinds_are_judged(tmp_path: Path) -> None:
    report = checked(tmp_path, "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, labels: {on: true}}\n")
    assert [f.code for f in report.findings if f.severity == "error"] == ["schema-type"]


def test_a_kubernetes_release_without_schemas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotCheck, match=r"no schemas of Kubernetes 1\.2, only 1\.25"):
        checked(tmp_path, config_map("a"), Options(target=Target(kubernetes="1.2")))
