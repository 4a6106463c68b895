"""Custom resources against the user's CRDs, of `--crds` and of the input: structural schema and CEL rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checks.engine.checked import checked, of_code, told
from tests.oracle.crd import crd_errors, crds
from trainshed.checks.baseline import read_baseline
from trainshed.checks.engine import check
from trainshed.checks.options import CannotCheck, Options
from trainshed.checks.schema_crds import CustomKind, CustomKinds
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
    file = folder / "crd" / "thing.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(crd(spec))
    return Options(crds=(str(file.parent),))


def crd(spec: Any, group: str = "example.com", kind: str = "Thing", plural: str = "things", version: str = "v1") -> str:
    """A CustomResourceDefinition as YAML."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }
    return yaml.safe_dump(definition) + "---\n"


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


THING = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n"


def test_a_definition_in_the_input_judges_its_kind(tmp_path: Path) -> None:
    report = checked(tmp_path, crd(SPEC) + THING + "spec: {size: 2, sise: 1}\n")
    assert told(report) == ['schema-unknown-field spec.sise: sise is not a field of spec; did you mean "size"?']
    assert report.counts.unknown == 0
    assert told(checked(tmp_path, THING + "spec: {size: 2, mode: Safe}\n---\n" + crd(SPEC))) == []


def test_rules_of_a_definition_in_the_input_are_evaluated(tmp_path: Path) -> None:
    report = checked(tmp_path, crd(SPEC) + THING + "spec: {size: 1, mode: Fast}\n")
    assert told(report) == ["schema-rule spec: spec: Fast needs size 2"]


def test_a_given_definition_goes_before_one_of_the_input(tmp_path: Path, thing: Options) -> None:
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    text = crd(loose) + THING + "spec: {size: 9}\n"
    assert told(checked(tmp_path, text)) == []
    assert told(checked(tmp_path, text, thing)) == ["schema-bounds spec.size: size 9 is more than 8"]


def test_a_kind_with_a_model_is_not_judged_by_a_definition_in_the_input(tmp_path: Path) -> None:
    definition = crd(SPEC, "kueue.x-k8s.io", "ResourceFlavor", "resourceflavors", "v1beta2")
    flavor = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: a}\nspec: {sise: 1}\n"
    assert [one.code for one in checked(tmp_path, definition + flavor).findings] == ["schema-unknown-field"]
    assert told(checked(tmp_path, definition + flavor.replace("sise: 1", ""))) == []


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"type": "strin"}, "schema-crd-unusable"),
        ({"type": "object", "properties": {"size": {"type": "integer", "maxLength": -1}}}, "schema-crd-unusable"),
        ({"type": "object", "required": 5}, "schema-type"),
        ({"type": "object", "properties": {"size": {"format": "int32", "minimum": "a"}}}, "schema-type"),
        ({"type": "object", "x-kubernetes-validations": 5}, "schema-type"),
        ({"type": "object", "properties": []}, "schema-type"),
        ("text", "schema-type"),
    ],
)
def test_a_broken_definition_in_the_input_is_one_finding_on_it(tmp_path: Path, spec: Any, code: str) -> None:
    report = checked(tmp_path, crd(spec) + THING + "spec: {size: 1}\n")
    (finding,) = report.findings
    assert (finding.code, finding.object and finding.object.kind) == (code, "CustomResourceDefinition")
    assert report.counts.unknown == 1


@pytest.mark.parametrize("spec", [{"type": "strin"}, {"type": "object", "required": 5}])
def test_a_given_definition_that_is_broken_is_told(tmp_path: Path, spec: Any) -> None:
    report = checked(tmp_path, THING + "spec: {size: 1}\n", with_crd(tmp_path, spec))
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("schema-crd-unusable", "warning")
    assert finding.place
    assert finding.place.file.endswith("thing.yaml")


def test_a_version_that_the_definition_does_not_serve_is_told(tmp_path: Path, thing: Options) -> None:
    other = "apiVersion: example.com/v2\nkind: Thing\nmetadata: {name: a}\nspec: {size: 1}\n"
    expected = [
        "schema-version apiVersion: apiVersion: the CustomResourceDefinition of Thing serves v1, not v2; "
        "write apiVersion: example.com/v1"
    ]
    assert told(checked(tmp_path, crd(SPEC) + other)) == expected
    assert told(checked(tmp_path, other, thing)) == expected
    assert told(checked(tmp_path, other)) == []
    withdrawn = crd(SPEC).replace("served: true", "served: false")
    assert told(checked(tmp_path, withdrawn + other.replace("/v2", "/v1"))) == [], "nothing is said to be served"


def test_required_fields_may_be_named_twice(tmp_path: Path) -> None:
    report = checked(tmp_path, crd({"type": "object", "required": ["a", "a"]}) + THING + "spec: {}\n")
    assert [one.path for one in report.findings] == ["spec.a"]


def test_each_cluster_is_judged_by_its_own_definition(tmp_path: Path) -> None:
    for cluster, most in (("east", 3), ("west", 8)):
        size = {"type": "integer", "maximum": most}
        folder = tmp_path / cluster / "app"
        folder.mkdir(parents=True)
        spec = {"type": "object", "properties": {"size": size}}
        (folder / "all.yaml").write_text(crd(spec) + THING + "spec: {size: 5}\n")
    report = check([str(tmp_path)], Options())
    (finding,) = report.findings
    assert finding.place
    assert "east" in finding.place.file


def test_a_definition_in_the_input_costs_nothing_until_an_object_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CustomKind, "_compiled", property(lambda self: pytest.fail("compiled")))
    checked(tmp_path, crd(SPEC) + "apiVersion: example.com/v2\nkind: Thing\nmetadata: {name: a}\n")


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
    assert [kind.key for kind in custom.all if kind.unevaluated or kind.broken] == []


def test_a_baseline_has_to_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CannotCheck, match="neither a file or folder nor a revision"):
        read_baseline("absent", ["."])
