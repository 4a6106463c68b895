"""Any bytes in, documents and findings out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet.taken import CONFIG, JOB, codes, only, take
from trainshed.fleet.compose import Limits
from trainshed.fleet.reading import read


def test_documents_come_in_order_with_their_names() -> None:
    reading = take(JOB.format(name="a") + "---\n" + JOB.format(name="b") + "--- # last\n---\n# nothing\n---\n" + CONFIG)
    assert [str(document.ref) for document in reading.documents] == ["Job/aurora/a", "Job/aurora/b", "ConfigMap/a"]
    assert reading.findings == []
    assert reading.counts.objects == 3
    assert reading.documents[0].identity == ("batch", "Job", "aurora", "a")
    assert reading.documents[2].identity == ("", "ConfigMap", "", "a")
    assert reading.documents[0].manifest["spec"] == {"parallelism": 2}


def test_scalars_are_read_as_kubernetes_reads_them() -> None:
    reading = take(
        CONFIG + "data: {a: on, b: 0777, c: 12:30, d: 2026-01-31, e: 'on', f: 1e3, g: ~, h: !!str 5, i: \"1\"}\n"
    )
    assert reading.documents[0].manifest["data"] == {
        "a": True, "b": 511, "c": "12:30", "d": "2026-01-31", "e": "on", "f": 1000, "g": None, "h": "5", "i": "1",
    }  # fmt: skip
    assert reading.findings == []


def test_a_name_that_is_only_generated() -> None:
    (document,) = take("apiVersion: v1\nkind: Pod\nmetadata: {generateName: run-}\n").documents
    assert (document.name, document.generated) == ("run-", True)


@pytest.mark.parametrize("metadata", ["[]", "5", "~", "{name: [a]}", "{name: 5, namespace: 7}"])
def test_odd_metadata_is_no_obstacle(metadata: str) -> None:
    (document,) = take(f"apiVersion: v1\nkind: Pod\nmetadata: {metadata}\n").documents
    assert isinstance(document.name, str)


def test_a_broken_document_leaves_its_neighbours_readable() -> None:
    reading = take(CONFIG + "---\na: [1\n---\n" + JOB.format(name="b"))
    assert [document.name for document in reading.documents] == ["a", "b"]
    assert only(reading, "yaml-syntax")[0] in (5, 6)


def test_duplicate_keys_name_both_places() -> None:
    reading = take(CONFIG + "data:\n  x: '1'\n  y1: '2'\n  x: '3'\n")
    assert only(reading, "yaml-duplicate-key")[:2] == (7, 3)
    assert reading.findings[0].related[0][1].line == 5
    assert reading.documents[0].manifest["data"]["x"] == "3"
    assert 'key "x"' in reading.findings[0].message
    assert reading.findings[0].object == reading.documents[0].ref


def test_objects_without_a_separator_are_told_once_and_read_one_by_one() -> None:
    text = "".join(CONFIG.replace("name: a", f"name: {name}") + "data: {x: '1'}\n" for name in "abc")
    reading = take("# all of dist/\n" + text)
    assert [document.name for document in reading.documents] == ["a", "b", "c"]
    line, column, message = only(reading, "yaml-duplicate-key")
    assert len(reading.findings) == 1
    assert (line, column) == (1 + text[: text.index("name: b")].count("\n") - 1, 1)
    assert "3 times in one document" in message
    assert reading.findings[0].object == reading.documents[1].ref
    assert reading.documents[2].place(("data", "x")).line == 1 + text.count("\n")


def test_objects_without_a_separator_may_begin_with_any_key() -> None:
    text = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n" * 2
    assert len(take(text).documents) == 2
    assert "twice in one document" in only(take(text), "yaml-duplicate-key")[2]


def test_faults_inside_objects_without_a_separator_are_told_too() -> None:
    reading = take((CONFIG + "data: {x: '1', x: '2'}\n") * 2)
    assert [one.code for one in reading.findings] == ["yaml-duplicate-key"] * 3
    assert sorted(one.place.line for one in reading.findings if one.place and "key" in one.message[:8]) == [4, 8]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: ConfigMap\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\napiVersion: v1\n",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, apiVersion: v1, kind: ConfigMap}\n",
        "apiVersion: v1\nkind: A\nmetadata: &m {name: a}\napiVersion: v1\nkind: A\nmetadata: *m\n",
    ],
)
def test_an_object_with_repeated_keys_stays_one_object(text: str) -> None:
    reading = take(text)
    assert len(reading.documents) == 1
    assert all(one.message.startswith("the key") for one in reading.findings)
    assert reading.findings


def test_many_objects_without_a_separator_keep_to_the_limits() -> None:
    reading = take("apiVersion: v1\nkind: A\nmetadata: {a: 1, a: 2}\n" * 2000)
    assert len([one for one in reading.findings if one.code == "yaml-too-large"]) == 1
    assert len(reading.findings) < 600


def test_what_is_odd_in_a_list_of_several_objects_names_none_of_them() -> None:
    items = "".join(f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, a: 1, a: 2}}\n" for name in "ab")
    reading = take(f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert [finding.object for finding in reading.findings if finding.code == "yaml-duplicate-key"] == [None, None]


def test_tabs_are_named() -> None:
    line, column, message = only(take("apiVersion: v1\nkind: Pod\nspec:\n\ta: 1\n"), "yaml-tab")
    assert (line, column) == (4, 1)
    assert "tab" in message


@pytest.mark.parametrize(
    ("text", "line"), [("a: b: c\n", 1), ("a: 'x\n", 2), ("a: *missing\n", 1), ("a: 1\n b: 2\n", 2), ("a: @x\n", 1)]
)
def test_syntax_errors_say_how_to_mend_them(text: str, line: int) -> None:
    reading = take(text)
    assert only(reading, "yaml-syntax")[0] == line
    assert reading.findings[0].fix


def test_a_merge_conflict_is_named() -> None:
    reading = take("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n")
    assert "conflict" in only(reading, "yaml-syntax")[2]


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_line_ends_do_not_matter(end: str) -> None:
    text = (CONFIG + "data:\n  a: x\n---\n" + JOB.format(name="b")).replace("\n", end)
    reading = take("\ufeff" + text)
    assert reading.findings == []
    assert reading.documents[0].manifest["data"] == {"a": "x"}
    place = reading.documents[1].place(("spec", "parallelism"))
    assert (place.line, place.column) == (13, 3)
    assert reading.line(place) == "  parallelism: 2"


def test_directives_and_end_markers() -> None:
    reading = take("%YAML 1.1\n%TAG ! !\n---\n" + CONFIG + "...\n---\n" + JOB.format(name="b") + "...\n")
    assert codes(reading) == []
    assert len(reading.documents) == 2
    reading = take(CONFIG + "...\n" + JOB.format(name="lost"))
    assert only(reading, "yaml-document-end")[0] == 5
    assert len(reading.documents) == 1


def test_aliases_are_copies() -> None:
    reading = take(CONFIG + "data: &d\n  a: x\nother: *d\n")
    manifest = reading.documents[0].manifest
    assert manifest["data"] == manifest["other"]
    assert manifest["data"] is not manifest["other"]
    assert reading.findings == []


def test_merge_keys() -> None:
    reading = take(CONFIG + "base: &b {x: 1, z: 1}\nother: &o {x: 2}\ndata:\n  <<: [*b, *o]\n  z: 3\n")
    assert reading.documents[0].manifest["data"] == {"x": 1, "z": 3}
    assert reading.findings == []
    reading = take(CONFIG + "base: &b {x: 1}\ndata:\n  x: 2\n  <<: *b\n")
    assert reading.documents[0].manifest["data"] == {"x": 1}
    assert only(reading, "yaml-merge-key")[0] == 7
    assert only(take(CONFIG + "data:\n  <<: 5\n"), "yaml-merge-key")[0] == 5
    assert take(CONFIG + "data:\n  '<<': x\n").documents[0].manifest["data"] == {"<<": "x"}


def test_keys_that_are_not_strings() -> None:
    reading = take(CONFIG + "data: {8080: a, 'on': b}\n")
    assert reading.documents[0].manifest["data"] == {"8080": "a", "on": "b"}
    assert reading.findings == []
    reading = take(CONFIG + "data:\n  'y': quoted\ngrid:\n  y: 1\n")
    assert reading.documents[0].manifest["grid"] == {"true": 1}
    assert only(reading, "yaml-non-string-key")[:2] == (7, 3)
    assert take(CONFIG + "data: {~: 1}\n").findings[0].severity == "error"
    assert codes(take(CONFIG + "data:\n  ? [a, b]\n  : 1\n")) == ["yaml-complex-key"]


@pytest.mark.parametrize("value", [".inf", ".nan", "9" * 400])
def test_numbers_that_json_cannot_carry(value: str) -> None:
    reading = take(CONFIG + f"data: {{a: {value}}}\n")
    assert only(reading, "yaml-not-json")[0] == 4
    assert reading.documents[0].manifest["data"]["a"] == value


def test_an_anchor_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40)]
    reading = take("\n".join(lines) + "\n---\n" + CONFIG)
    assert codes(reading) == ["yaml-anchor-bomb"]
    assert len(reading.documents) == 1


def test_many_small_bombs_are_refused_together() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: [*a, *a, *a, *a, *a]\n---\n"
    reading = take(bomb * 50, limits=Limits(copies=1000))
    assert set(codes(reading)) == {"yaml-anchor-bomb"}
    assert 0 < len(reading.findings) < 50


def test_an_anchor_in_itself_is_refused() -> None:
    assert codes(take("a: &a [*a]\n")) == ["yaml-recursive-alias"]
    assert codes(take("a: &a\n  <<: *a\n")) == ["yaml-recursive-alias"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000, "{a: " * 50_000, "- " * 100_000 + "a", "\n".join(" " * n + "a:" for n in range(1500)),
        "[" * 300 + "]" * 300, '{"a":' * 300 + "1" + "}" * 300, '{"a":' * 100_000, "a: " + "[" * 300 + "]" * 300,
        "? " * 50_000, "\n".join("  " * n + "a:" for n in range(300)),
    ],
)  # fmt: skip
def test_deep_nesting_is_refused(text: str) -> None:
    assert codes(take(text)) == ["yaml-too-deep"]


def test_large_inputs_are_refused_unread(tmp_path: Path) -> None:
    big = tmp_path / "big.yaml"
    with big.open("wb") as file:
        file.truncate(100 << 20)
    assert codes(read([str(big)])) == ["yaml-too-large"]
    assert codes(take(b"a" * 2000, max_bytes=1000)) == ["yaml-too-large"]


def test_too_many_values_are_refused() -> None:
    text = "a: [" + "a," * 600_000 + "]\n"
    assert codes(take(text, limits=Limits(nodes=100_000))) == ["yaml-too-large"]


def test_a_file_with_countless_faults_or_documents_is_given_up() -> None:
    for text in ("---\n[\n", "---\na\n", "---\n{a: b: c}\n"):
        reading = take(text * 5000, limits=Limits(findings=50))
        assert 50 <= len(reading.findings) < 100
        assert "yaml-too-large" in codes(reading)
    reading = take(f"---\n{CONFIG}" * 20, limits=Limits(documents=10))
    assert only(reading, "yaml-too-large")[0] == 41
    assert len(reading.documents) == 10
    assert len(take("a: 1\n" * 5000).findings) == 500


@pytest.mark.parametrize(
    ("data", "code", "documents"),
    [
        (CONFIG.encode("utf-16"), "yaml-encoding", 1),
        (CONFIG.encode("utf-32"), "yaml-encoding", 1),
        (CONFIG.encode("utf-16-le"), "yaml-encoding", 0),
        (CONFIG.encode() + b"data: {a: \xff}\n", "yaml-encoding", 1),
        (CONFIG.encode() + b"data: {a: \x00}\n", "yaml-encoding", 0),
        (CONFIG.encode() + b"data: {a: \x07}\n", "yaml-encoding", 0),
    ],
)
def test_encodings(data: bytes, code: str, documents: int) -> None:
    reading = take(data)
    assert codes(reading) == [code]
    assert len(reading.documents) == documents


def test_the_place_of_a_bad_byte() -> None:
    assert only(take("a: ü\nb: €\n".encode() + b"c: \xe9\n"), "yaml-encoding")[:2] == (3, 4)
    assert only(take("a: ü€\nb: €\x07\n"), "yaml-encoding")[:2] == (2, 5)


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n---\n"])
def test_an_empty_file_is_noted(text: str) -> None:
    reading = take(text)
    assert codes(reading) == ["yaml-empty-document"]
    assert reading.findings[0].severity == "info"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("kind: Job\nmetadata: {name: a}\n", "missing-api-version"),
        ("apiVersion: batch/v1\nspec: {}\n", "missing-kind"),
        ("apiversion: batch/v1\nkind: Job\nmetadata: {name: a}\n", "missing-api-version"),
        ("apiVersion: 1\nkind: Job\nmetadata: {name: a}\n", "missing-api-version"),
        ("apiVersion: v1\nkind:\nmetadata: {name: a}\n", "missing-kind"),
        ("- a\n- b\n", "not-an-object"),
        ("just text\n", "not-an-object"),
        ('["a"]', "not-an-object"),
    ],
)
def test_documents_that_are_almost_objects(text: str, code: str) -> None:
    reading = take(text)
    assert codes(reading) == [code]
    assert reading.documents == []


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v2\nname: chart\nversion: 1.0.0\n", "on: push\njobs: {}\n", "replicas: 3\nimage: {tag: x}\n",
        "kind: pipeline\ntype: docker\n", "app: python main.py\nlanguage: python\n",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
    ],
)  # fmt: skip
def test_other_yaml_is_counted_and_left_alone(text: str) -> None:
    reading = take(text)
    assert [finding for finding in reading.findings if finding.code != "yaml-non-string-key"] == []
    assert reading.documents == []
    assert reading.counts.not_kubernetes == 1
