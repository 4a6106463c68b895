"""What manifests come in: lists, JSON, folders, files of other tools."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.fleet.taken import CONFIG, JOB, codes, only, take
from trainshed.fleet.reading import read


def test_lists_are_unrolled() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"
        "- apiVersion: v1\n  kind: PodList\n  items:\n  - metadata: {name: b}\n    spec: {x: 1}\n- 5\n"
    )
    reading = take(text)
    assert [(d.kind, d.name, d.prefix) for d in reading.documents] == [
        ("Pod", "a", ("items", 0)),
        ("Pod", "b", ("items", 1, "items", 0)),
    ]
    assert reading.documents[1].place(("spec", "x")).line == 11
    assert codes(reading) == ["not-an-object"]
    assert reading.findings[0].path == "items[2]"
    assert take("apiVersion: v1\nkind: List\nitems:\n").findings == []


def test_json_and_json_lines() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "ä😀"},
        "spec": {"x": [1, 2.5, True, None]},
    }
    for text in (json.dumps(pod), json.dumps(pod, indent=2), json.dumps(pod, indent="\t"), json.dumps(pod) * 3):
        reading = take(text)
        assert reading.findings == []
        assert all(document.manifest == pod for document in reading.documents)
    reading = take("\n".join([json.dumps(pod)] * 3))
    assert len(reading.documents) == 3
    place = reading.documents[2].place(("spec", "x", 1), value=True)
    assert (place.line, reading.line(place)[place.column - 1 :][:3]) == (3, "2.5")


def test_json_traps() -> None:
    reading = take('{"apiVersion": "v1", "kind": "Pod",\n "kind": "Job"}')
    assert only(reading, "yaml-duplicate-key")[:2] == (2, 2)
    (document,) = take('{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\\ud800"}}').documents
    assert document.name == "\ufffd"
    assert document.place(("metadata", "name")).column > 1
    assert codes(take('{"a": 1,,}\n')) == ["yaml-syntax"]
    assert len(take('{"a": [}\n{"apiVersion": "v1", "kind": "Pod"}\n').documents) == 1
    number = "1" * 30
    (document,) = take(f'{{"apiVersion": "v1", "kind": "Pod", "x": {number}}}').documents
    assert document.manifest["x"] == float(number)


@pytest.mark.parametrize(
    "text",
    [
        CONFIG + "data:\n  image: {{ .Values.image }}\n", "{{- if .Values.x }}\n" + CONFIG + "{{- end }}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: '{{ name }}'}\n", "{% if x %}\n" + CONFIG,
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{image: '{{ image }}'}]}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: '${NAME}'}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {x: '{{ .Values.x }}'}\n",
    ],
)  # fmt: skip
def test_templates_are_named(text: str) -> None:
    reading = take(text)
    assert set(codes(reading)) == {"template-not-rendered"}
    assert all(finding.fix for finding in reading.findings)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec: {x: '{{ .path }}'}\n",
        CONFIG + "data: {t: '{{ .Values.x }} {{ $labels.pod }}'}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {args: ['${MASTER_ADDR}', '{{.State}}']}\n",
    ],
)
def test_templates_for_somebody_else_are_fine(text: str) -> None:
    reading = take(text)
    assert reading.findings == []
    assert reading.documents[0].judged


def test_sops_files_are_present_and_not_judged() -> None:
    reading = take(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: 'ENC[AES256_GCM]'}\nsops: {mac: x, age: []}\n"
    )
    assert codes(reading) == ["sops-encrypted"]
    assert (reading.documents[0].name, reading.documents[0].unjudged) == ("s", "encrypted")


def test_argocd_skips_a_file_with_its_marker() -> None:
    reading = take(CONFIG + "# +argocd:skip-file-rendering\n")
    assert only(reading, "argocd-skipped-file")[0] == 4
    assert (reading.documents, reading.counts.skipped_files) == ([], 1)


def test_folders(tmp_path: Path) -> None:
    def write(name: str, text: str = CONFIG) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    for name in (
        "b/1.yml",
        "b/2.json.bak",
        "a/x.yaml",
        ".git/x.yaml",
        "node_modules/x.yaml",
        "c.txt",
        "b/.hidden.yaml",
    ):
        write(name)
    write("b/0.json", '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}')
    write("chart/Chart.yaml", "apiVersion: v2\nname: x\n")
    write("chart/templates/x.yaml", "{{ broken }}: {{")
    write("chart/crds/x.yaml")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "same.yaml").symlink_to(tmp_path / "a" / "x.yaml")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.yaml")
    seen: list[str] = []
    reading = read([str(tmp_path), str(tmp_path / "a")], on_source=seen.append)
    relative = [os.path.relpath(name, tmp_path) for name in seen]
    assert relative == ["a/same.yaml", "b/0.json", "b/1.yml", "chart/Chart.yaml", "chart/crds/x.yaml"]
    assert codes(reading) == ["template-not-rendered", "unreadable"]
    assert reading.unreadable
    assert reading.counts.chart_templates == 1
    assert len(read([str(tmp_path / "c.txt")]).documents) == 1


@pytest.mark.parametrize("path", ["no/such/file.yaml", "a\0b", ""])
def test_what_cannot_be_opened_is_told(path: str) -> None:
    reading = read([path])
    assert codes(reading) == ["unreadable"]
    assert reading.unreadable


def test_kustomize_patches_are_not_judged(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [job.yaml]\npatches: [{path: patch.yaml}]\n")
    (tmp_path / "job.yaml").write_text(JOB.format(name="a"))
    (tmp_path / "patch.yaml").write_text(JOB.format(name="a"))
    reading = read([str(tmp_path)])
    assert [document.unjudged for document in reading.documents] == ["", "patch"]
    assert reading.duplicates() == []


def test_the_corpus_reads_clean(shared: Path) -> None:
    for folder in ("corpus", "cases"):
        reading = read([str(shared / folder)])
        assert reading.findings == []
        assert len(reading.documents) > 100


def test_files_of_other_tools_are_not_told_how_kubernetes_reads_them(tmp_path: Path) -> None:
    (tmp_path / "ci.yml").write_text("on: push\njobs: {a: {runs-on: x}}\n", encoding="utf-8")
    assert [finding.code for finding in read([str(tmp_path)]).findings] == []
    (tmp_path / "ci.yml").write_text("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {on: a}\n")
    assert [finding.code for finding in read([str(tmp_path)]).findings] == ["yaml-non-string-key"]
