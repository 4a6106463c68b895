"""`--crds`: custom resources against the user's CRDs, structural schema and CEL rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checks.engine.checked import checked, of_code, told
from tests.oracle.crd import crd_errors, crds
from trainshed.checks.baseline import read_baseline
from trainshed.checks.options import CannotCheck, Options
from trainshed.checks.schema_crds import CustomKinds
from trainshed.fleet.reading import read

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 8, "format": "int32"},
        "mode": {"type": "string", "enum": ["Fast", "Safe"], "default": "Safe"},
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "names": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}},
        "maybe": {"type": "string", "nullable": True},
        "namespace": {"type": "string"},
        "queue": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "stays"}]},
        "amount": {"type": "string"},
    },
    "x-kubernetes-validations": [
        {"rule": "self.mode == 'Safe' || self.size > 1", "message": "Fast needs size 2"},
        {"rule": "!has(self.__namespace__) || self.__namespace__ != 'x'", "message": "not x"},
        {"rule": "!has(self.amount) || quantity(self.amount).isLessThan(quantity('10'))", "message": "below 10"},
    ],
}


@pytest.fixture
def thing(tmp_path: Path) -> Options:
    """Options with one CRD: Thing of example.com/v1."""
    return with_crd(tmp_path, SPEC)


def with_crd(folder: Path, spec: dict[str, Any]) -> Options:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }
    file = folder / "crd" / "thing.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(definition))
    return Options(crds=(str(file.parent),))


def things(folder: Path, spec: str, options: Options, **more: Any) -> list[str]:
    text = f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a, labels: {{a: b}}}}\nspec: {spec}\n"
    return told(checked(folder, text, options, **more))


@pytest.mark.parametrize(
    "spec",
    [
        "{size: 1}",
        "{size: 2, mode: Fast, port: 80, names: [a, b], parts: [{name: a}, {name: b}]}",
        "{size: 1, port: http, free: {any: [1]}, labels: {k: v}, maybe: null, namespace: z}",
        "{size: 1, amount: 9}".replace("9", "'9500m'"),
        "{size: 1, mode: null}",
    ],
)
def test_good_resources_pass(tmp_path: Path, thing: Options, spec: str) -> None:
    assert things(tmp_path, spec, thing) == []


@pytest.mark.parametrize(
    ("spec", "finding"),
    [
        ("{}", "schema-missing-field spec.size: size is missing; add it"),
        ("{size: 1, sise: 2}", 'schema-unknown-field spec.sise: sise is not a field of spec; did you mean "size"?'),
        ("{size: 9}", "schema-bounds spec.size: size 9 is more than 8"),
        ("{size: '1'}", 'schema-type spec.size: size is the string "1", must be a whole number; '
         "write it without quotes: 1"),
        ("{size: 1, mode: fast}", 'schema-enum spec.mode: mode is "fast", must be one of Fast, Safe; '
         'did you mean "Fast"?'),
        ("{size: 1, names: [a, a]}", 'schema-duplicate-item spec.names[1]: two items have "a"'),
        ("{size: 1, parts: [{name: a}, {name: a}]}",
         'schema-duplicate-item spec.parts[1]: two items have name "a"'),
        ("{size: 1, labels: {k: toolong}}", "schema-bounds spec.labels.k: k has 7 characters, 5 are allowed"),
        ("{size: 1, mode: Fast}", "schema-rule spec: spec: Fast needs size 2"),
        ("{size: 1, namespace: x}", "schema-rule spec: spec: not x"),
        ("{size: 1, amount: '10'}", "schema-rule spec: spec: below 10"),
    ],
)  # fmt: skip
def test_bad_resources_are_told(tmp_path: Path, thing: Options, spec: str, finding: str) -> None:
    assert things(tmp_path, spec, thing) == [finding]


def test_transition_rules_compare_with_the_baseline(tmp_path: Path, thing: Options) -> None:
    before = tmp_path / "before.yaml"
    before.write_text("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {size: 1, queue: q}\n")
    assert things(tmp_path, "{size: 2, queue: q}", thing, baseline=str(before)) == []
    assert things(tmp_path, "{size: 1, queue: r}", thing, baseline=str(before)) == [
        "schema-rule spec.queue: queue: stays"
    ]
    assert things(tmp_path, "{size: 1, queue: r}", thing) == []


def test_a_rule_that_cannot_be_evaluated_refuses_nothing(tmp_path: Path) -> None:
    rule = {"rule": "self.size.unheardOf()", "message": "no"}
    options = with_crd(tmp_path, {**SPEC, "x-kubernetes-validations": [rule]})
    report = checked(
        tmp_path, "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {size: 1}\n", options
    )
    (finding,) = of_code(report, "schema-rule-unevaluated")
    assert finding.severity == "info"
    assert [one.code for one in report.findings] == ["schema-rule-unevaluated"]


def test_a_pattern_that_the_validator_does_not_know_refuses_nothing(tmp_path: Path) -> None:
    spec = {"type": "object", "properties": {"name": {"type": "string", "pattern": r"^\Q.\E$"}}}
    assert things(tmp_path, "{name: x}", with_crd(tmp_path, spec)) == []


def test_crds_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(CannotCheck, match="--crds"):
        checked(tmp_path, "", Options(crds=(str(tmp_path / "absent"),)))


def test_the_product_agrees_with_the_oracle(shared: Path) -> None:
    """On every upstream sample of a kind with a CRD: both refuse it, or neither does."""
    custom = CustomKinds(read([str(shared / "crds")]).documents)
    compared = 0
    for document in read([str(shared / "corpus")]).documents:
        kind = custom.find(document)
        if kind is None or (document.api_version, document.kind) not in crds():
            continue
        compared += 1
        mistakes = list(kind.mistakes(document.manifest))
        assert bool(mistakes) == bool(crd_errors(document.manifest)), (document, mistakes)
    assert compared > 80
    assert custom.unevaluated == []


def test_a_baseline_has_to_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CannotCheck, match="neither a file or folder nor a revision"):
        read_baseline("absent", ["."])
