"""Every field has a place, and every scalar its spelling."""

from __future__ import annotations

import io

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path, parse_path, show_path
from trainshed.fleet.reading import read

TEXT = """\
# é😀
---
apiVersion: v1
kind: Pod
metadata:
  name: a
  labels: {8080: x, on: 'é', "q/r": *x}
spec:
  base: &b
    k: 0777
  containers:
  - name: é😀
    args: [--t, 12:30, "12:30"]
  -   name: second
  merged:
    <<: *b
    own: |
      text
  alias: *b
""".replace("*x}", "z}")


@pytest.fixture(scope="module")
def document() -> Document:
    """The document of TEXT."""
    return read(["-"], io.BytesIO(TEXT.encode())).documents[0]


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ((), (3, 1), (3, 1)),
        (("kind",), (4, 1), (4, 7)),
        (("metadata", "labels", "8080"), (7, 12), (7, 18)),
        (("metadata", "labels", "true"), (7, 21), (7, 25)),
        (("metadata", "labels", "q/r"), (7, 30), (7, 37)),
        (("spec", "containers", 0), (12, 5), (12, 5)),
        (("spec", "containers", 0, "name"), (12, 5), (12, 11)),
        (("spec", "containers", 0, "args", 1), (13, 17), (13, 17)),
        (("spec", "containers", 1, "name"), (14, 7), (14, 13)),
        (("spec", "containers", 1, "image"), (14, 7), (14, 7)),
        (("spec", "containers", 9), (11, 3), (11, 3)),
        (("spec", "missing", "deeper"), (8, 1), (8, 1)),
        (("spec", "merged", "k"), (10, 5), (10, 8)),
        (("spec", "alias", "k"), (10, 5), (10, 8)),
        (("spec", "alias"), (19, 3), (9, 9)),
        (("nothing",), (3, 1), (3, 1)),
    ],
)
def test_places(document: Document, path: Path, key: tuple[int, int], value: tuple[int, int]) -> None:
    place = document.place(path)
    assert (place.file, place.line, place.column) == ("<stdin>", *key)
    place = document.place(path, value=True)
    assert (place.line, place.column) == value


def test_spellings(document: Document) -> None:
    told = {
        ("spec", "containers", 0, "args", 1): ("12:30", "plain"),
        ("spec", "containers", 0, "args", 2): ("12:30", "double-quoted"),
        ("spec", "base", "k"): ("0777", "plain"),
        ("spec", "merged", "k"): ("0777", "plain"),
        ("spec", "merged", "own"): ("text\n", "literal"),
        ("metadata", "labels", "true"): ("é", "single-quoted"),
    }
    for path, spelled in told.items():
        raw = document.raw(path)
        assert raw is not None
        assert (raw.text, raw.style) == spelled
    assert document.raw(("spec",)) is None
    assert document.raw(("spec", "no")) is None


def test_has(document: Document) -> None:
    assert document.has(("spec", "containers", 0, "name"))
    assert not document.has(("spec", "containers", 5))
    assert not document.has(("kind", "x"))


def test_a_finding_on_a_document_knows_its_place(document: Document) -> None:
    finding = document.finding("x", "error", "is wrong", "mend it", ("spec", "containers", 0, "name"))
    assert finding.to_json() == {
        "code": "x", "severity": "error", "path": "spec.containers[0].name", "message": "is wrong", "fix": "mend it",
        "object": {"apiVersion": "v1", "kind": "Pod", "namespace": None, "name": "a"},
        "file": "<stdin>", "line": 12, "column": 5, "related": [],
    }  # fmt: skip


_words = st.text(alphabet="abcXYZ.-/ é#:'\"0y", min_size=1, max_size=6)
_trees = st.recursive(
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.booleans(), st.none(), _words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_words, inner, max_size=3)),
    max_leaves=12,
)


@given(_trees, st.booleans())
def test_any_quoted_tree_reads_back_and_every_leaf_is_found(tree: object, flow: bool) -> None:
    manifest = {"apiVersion": "v1", "kind": "Thing", "spec": tree}
    text = yaml.safe_dump(manifest, default_flow_style=flow, default_style='"', allow_unicode=True)
    (document,) = read(["-"], io.BytesIO(text.encode())).documents
    assert document.manifest == manifest
    for path, leaf in _leaves(tree, ("spec",)):
        raw = document.raw(path)
        assert raw is not None
        if isinstance(leaf, str):
            assert raw.text == leaf


def _leaves(node: object, path: Path) -> list[tuple[Path, object]]:
    if isinstance(node, dict):
        return [leaf for key, value in node.items() for leaf in _leaves(value, (*path, key))]
    if isinstance(node, list):
        return [leaf for index, value in enumerate(node) for leaf in _leaves(value, (*path, index))]
    return [(path, node)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("spec", "containers", 0, "image"), "spec.containers[0].image"),
        (("metadata", "labels", "a.b/c"), "metadata.labels[a.b/c]"),
        (("items", 3, "spec"), "items[3].spec"),
    ],
)
def test_paths_are_written_and_read(path: Path, text: str) -> None:
    assert show_path(path) == text
    assert parse_path(text) == path
