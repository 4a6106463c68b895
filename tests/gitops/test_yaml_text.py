"""The YAML text: every reader reads back what was written, and one content has one text."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from trainshed.gitops.yaml_text import to_yaml

WORDS = """
y Y n N yes Yes YES no No NO on On ON off Off OFF true True TRUE false False FALSE null Null NULL ~ nan NaN inf
0123 0o14 0x1F 0b1010 1e3 1E3 1e+3 1.5e-3 1_000 12:30:45 190:20:30.15 1:2 2020-01-01 2020-01-01T00:00:00Z
= << .inf -.inf +.INF .nan .NaN +1 -1 1 0 -0 1. .5 -.5 1.5 +.5 0. 00 08 1__0 0_ 0x 0o 1e 1e+ _1 1_ 1,000
- ? : --- ... -- -a --a -1a a: a:b :a :: # #x a#b %x @ @x ` `x & &a * *a ! !a !!str | > ' " { } [ ] {} [] , a,b
500m 64Gi 400G 1E 1Ei 30s 1h 0k $(RANK) $HOME /a/b ./a ../a . .. / $ http://a/b a:1 ä 漢字 🚀
"""
PHRASES = [
    *[
        "",
        " ",
        "  ",
        " a",
        "a ",
        "a b",
        "a  b",
        "a: b",
        "a #b",
        "- a",
        "? a",
        "--- a",
        "x: ",
        "a - b",
        "a, b",
        "yes no",
    ],
    *["\t", "a\tb", "\ta", "a\t", "\x00", "\x07", "\x1b", "\x7f", "\x80", "\xa0", "\u200b", "\ufffe", "\uffff"],
    *["\n", "\n\n", "a\n", "a\n\n", "\na", " a\nb", "a\n b", "a \nb", "a\nb ", "a\n\nb", "a\nb\n", "a\n \nb", "\ta\nb"],
    *[
        "a\n---\nb",
        "---\n",
        "...\n",
        "a\n...\n",
        "# a\n# b\n",
        "#!/bin/sh\nset -e\n",
        "- a\n- b",
        "a: |\n  b\n",
        "a\n\tb",
    ],
    *["a\r\nb", "a\rb", "\x85", "a\x85b", "\u2028", "a\u2029b", "\ufeff", "\ufeffa", "a\n\ufeffb", "🚀\nb", "ä\nb"],
    *["a" * 500, "a " * 300, "a: " * 300, "a b\n" * 100, "\U0010ffff"],
]
LOOKALIKES = WORDS.split() + PHRASES

STRINGS = st.one_of(
    st.sampled_from(LOOKALIKES),
    st.text(max_size=20),
    st.text(alphabet=" \n\t:#-?'\"|>%@`&*!{}[],~=<.+_019eExoabyn\r\x85\u2028\ufeff", max_size=12),
    st.builds("".join, st.lists(st.sampled_from(LOOKALIKES), min_size=1, max_size=3)),
)
SCALARS = (
    STRINGS | st.booleans() | st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False).map(float)
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4), max_leaves=12
)
MANIFESTS = st.dictionaries(STRINGS | st.sampled_from(["kind", "metadata", "spec", "status"]), TREES, max_size=4)


def ruamel(**options: Any) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        reader = YAML(typ="safe", pure=True)
        for name, value in options.items():
            setattr(reader, name, value)
        return reader.load(text)

    return read


def ruamel_safe(text: str) -> Any:
    reader = YAML(typ="safe")
    reader.version = (1, 1)
    return reader.load(text)


READERS: dict[str, Callable[[str], Any]] = {
    "PyYAML": lambda text: yaml.load(text, yaml.SafeLoader),
    "PyYAML's C loader": lambda text: yaml.load(text, yaml.CSafeLoader),
    "ruamel 1.2": ruamel(),
    "ruamel 1.1": ruamel(version=(1, 1)),
    "ruamel safe 1.1": ruamel_safe,
}


def same(one: Any, other: Any) -> bool:
    """Equal with types: 1, 1.0 and True are three values, and so are 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and (not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other))


@pytest.mark.parametrize("reader", READERS)
@settings(deadline=None)
@given(MANIFESTS)
def test_every_reader_reads_back_what_was_written(reader: str, manifest: dict[str, Any]) -> None:
    assert same(READERS[reader](to_yaml(manifest)), manifest)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", LOOKALIKES, ids=ascii)
def test_every_lookalike_stays_a_string(reader: str, text: str) -> None:
    manifest = {"spec": {text: text, "list": [text, {text: [text]}]}}
    assert same(READERS[reader](to_yaml(manifest)), manifest)


def shuffled(value: Any, source: random.Random) -> Any:
    if isinstance(value, dict):
        items = list(value.items())
        source.shuffle(items)
        return {key: shuffled(item, source) for key, item in items}
    return [shuffled(item, source) for item in value] if isinstance(value, list) else value


@given(MANIFESTS, st.randoms(use_true_random=False))
def test_the_text_does_not_depend_on_the_order_of_keys(manifest: dict[str, Any], source: random.Random) -> None:
    assert to_yaml(manifest) == to_yaml(shuffled(manifest, source))


@given(MANIFESTS)
def test_writing_what_was_read_changes_nothing(manifest: dict[str, Any]) -> None:
    text = to_yaml(manifest, ["a header"])
    assert to_yaml(yaml.load(text, yaml.CSafeLoader), ["a header"]) == text


@given(MANIFESTS)
def test_the_text_is_lf_only_and_ends_in_one(manifest: dict[str, Any]) -> None:
    text = to_yaml(manifest)
    assert "\r" not in text
    assert text.endswith("\n")
    text.encode()


def test_a_header_changes_nothing_but_the_comments() -> None:
    manifest = {"kind": "Job"}
    assert to_yaml(manifest, ["Generated: from a #b", "", "- x"]) == "# Generated: from a #b\n#\n# - x\nkind: Job\n"


@pytest.mark.parametrize("line", ["a\nkind: Evil", "a\rb", "a\x85b", "a\u2028b", "\x00"])
def test_a_header_cannot_break_out_of_its_comment(line: str) -> None:
    with pytest.raises(ValueError, match="header line"):
        to_yaml({}, [line])


def test_the_canonical_text() -> None:
    manifest = json.loads("""
    {"status": {}, "data": {"run.sh": "#!/bin/sh\\nexec torchrun\\n", "on": "on", "n": "12:30:45"}, "kind": "X",
     "spec": {"containers": [
                {"image": "ghcr.io/a/b:v1@sha256:0f", "args": ["--config", "-c", "1", "a: b"], "name": "node"}],
              "empty": {}, "none": [], "gpus": 8, "share": 0.5, "big": 1e22, "tls": false, "nested": [["a"], []],
              "metadata": {"z": "1Gi", "annotations": {"b": "yes", "a": "2020-01-01"}, "labels": {"app": "x"},
                           "name": "n"}, "null": null},
     "apiVersion": "v1", "metadata": {"namespace": "ns", "annotations": {"w": "-10"}, "name": "0123", "labels": {}}}
    """)
    assert to_yaml(manifest, ["Generated by trainshed"]) == CANONICAL


CANONICAL = """\
# Generated by trainshed
apiVersion: v1
kind: X
metadata:
  name: "0123"
  namespace: ns
  labels: {}
  annotations:
    w: "-10"
spec:
  metadata:
    name: "n"
    labels:
      app: x
    annotations:
      a: "2020-01-01"
      b: "yes"
    z: 1Gi
  big: 1.0e+22
  containers:
  - name: node
    args:
    - --config
    - -c
    - "1"
    - "a: b"
    image: ghcr.io/a/b:v1@sha256:0f
  empty: {}
  gpus: 8
  nested:
  - - a
  - []
  none: []
  "null": null
  share: 0.5
  tls: false
data:
  "n": "12:30:45"
  "on": "on"
  run.sh: |
    #!/bin/sh
    exec torchrun
status: {}
"""


def test_equal_objects_are_written_twice_and_not_as_aliases() -> None:
    shared = {"a": ["x"]}
    assert to_yaml({"one": shared, "two": shared}) == "one:\n  a:\n  - x\ntwo:\n  a:\n  - x\n"


def test_long_lines_are_not_folded() -> None:
    words = "word " * 500 + "end"
    assert to_yaml({"a": words}) == f"a: {words}\n"
    assert to_yaml({"a": f"{words}: x"}) == f'a: "{words}: x"\n'


def test_strings_of_other_classes_are_strings() -> None:
    class Name(str):
        __slots__ = ()

    assert to_yaml({"a": [Name("yes"), Name("x")], Name("b"): Name("y")}) == 'a:\n- "yes"\n- x\nb: "y"\n'
    assert to_yaml({"a": ("x",)}) == "a:\n- x\n"


@pytest.mark.parametrize("value", [object(), b"x", {1, 2}, 1j])
def test_what_is_not_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="is not plain data"):
        to_yaml({"a": [{"b": value}]})


@pytest.mark.parametrize("key", [1, None, True, ("a",)])
def test_keys_are_strings(key: Any) -> None:
    with pytest.raises(TypeError, match="is not a string"):
        to_yaml({"a": {key: "x"}})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "\ud800"])
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"no place|surrogate"):
        to_yaml({"a": value})


def test_a_failure_leaves_the_next_text_as_it_is() -> None:
    with pytest.raises(TypeError):
        to_yaml({"a": {1: "x"}, "b": object()})
    assert to_yaml({"a": {"1": "x"}}) == 'a:\n  "1": x\n'
