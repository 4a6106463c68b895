"""Validation errors become faults that a person can act on."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from tests.api.faulted import faulted
from trainshed.api.base import Broken, Model
from trainshed.api.core.pod import PodTemplateSpec
from trainshed.api.explain import faults_of
from trainshed.api.types import Bool, DnsLabel, Int32, IntOrString, LabelKey, Str, keyed_by, unique
from trainshed.faults import Fault, Place
from trainshed.quantity import Quantity


class Flavor(Model):
    """An item of a list."""

    name: DnsLabel
    amount: Quantity | None = None
    host_ip: Annotated[Str | None, Field(alias="hostIP")] = None


class Limits(Model):
    """One branch of a union."""

    hard: Int32


class Sample(Model):
    """One field of every sort."""

    flavors: Annotated[list[Flavor], keyed_by("name"), Field(max_length=2)] | None = None
    count: Annotated[Int32, Field(ge=1, le=9)] | None = None
    port: IntOrString | None = None
    on: Bool | None = None
    text: Annotated[Str, Field(min_length=1, max_length=3, pattern="^a")] | None = None
    mode: Literal["", "Always", "Never"] | None = None
    version: Literal["v1"] | None = None
    names: Annotated[list[Str], Field(min_length=1), unique] | None = None
    labels: dict[LabelKey, Str] | None = None
    either: Limits | Str | None = None
    choice: Literal["Auto"] | Int32 | None = None

    def rules(self) -> Iterator[Broken]:
        """Two at once, one of them about the whole."""
        if self.on:
            yield Broken("labels[a.b/c].d", "is wrong", "write e")
            yield Broken("", "has none")


# fmt: off
CASES: list[tuple[Any, str]] = [
    ({"flavors": [{}]}, "flavors[0].name: is missing; add it"),
    ({"flavors": [{"name": "a", "hostIp": "b"}]},
     'flavors[0].hostIp: is not a field of Flavor; did you mean "hostIP"?'),
    ({"flavors": [{"name": "a", "zzz": 1}]},
     "flavors[0].zzz: is not a field of Flavor; known fields are name, amount, hostIP"),
    ({"flavors": [{"name": "a", "ip": 1}]}, 'flavors[0].ip: is not a field of Flavor; did you mean "hostIP"?'),
    ({"flavors": [{"name": "A"}]},
     'flavors[0].name: "A" is not a DNS-1123 label: lower-case letters, digits and "-", alphanumeric at both ends'),
    ({"flavors": [{"name": "a" * 64}]}, "flavors[0].name: has 64 characters, 1 more than the 63 allowed"),
    ({"flavors": [{"name": "a"}, {"name": "a"}]},
     'flavors: two items have name "a"; keep one of them, or rename one'),
    ({"flavors": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}, "flavors: has 3 items, 1 more than the 2 allowed"),
    ({"flavors": {"name": "a"}}, 'flavors: is a mapping, must be a list; start each item with "- "'),
    ({"flavors": [["a"]]}, "flavors[0]: is a list, must be a mapping"),
    ({"flavors": [None]}, "flavors[0]: is null, must be a mapping; write a value, or remove the field"),
    ({"flavors": [{"name": "a", "amount": "1GB"}]},
     'flavors[0].amount: "1GB" is not a quantity; write a number with an optional suffix, such as "500m", "96", '
     '"400G" or "64Gi"'),
    ({"flavors": [{"name": "a", "amount": []}]},
     "flavors[0].amount: is a list, must be a quantity such as 8 or 64Gi"),
    ({"count": 0}, "count: 0 is less than 1; write 1 or more"),
    ({"count": 10}, "count: 10 is more than 9; write 9 or less"),
    ({"count": "3"}, 'count: is the string "3", must be a whole number; write it without quotes: 3'),
    ({"count": "three"}, 'count: is the string "three", must be a whole number'),
    ({"count": 1.5}, "count: is the number 1.5, must be a whole number"),
    ({"count": True}, "count: is the boolean true, must be a whole number"),
    ({"port": []}, "port: is a list, must be a whole number or a string"),
    ({"port": True}, 'port: is the boolean true, must be a whole number or a string; write it in quotes: "true"'),
    ({"on": "yes"}, 'on: is the string "yes", must be true or false; write true without quotes'),
    ({"on": "false"}, 'on: is the string "false", must be true or false; write false without quotes'),
    ({"on": 1}, "on: is the number 1, must be true or false"),
    ({"text": 29500}, 'text: is the number 29500, must be a string; write it in quotes: "29500"'),
    ({"text": False}, 'text: is the boolean false, must be a string; write it in quotes: "false"'),
    ({"text": datetime.date(2026, 1, 2)},
     'text: is the date 2026-01-02, must be a string; write it in quotes: "2026-01-02"'),
    ({"text": {}}, "text: is a mapping, must be a string"),
    ({"text": ""}, "text: is empty; add at least 1 character"),
    ({"text": "abcd"}, "text: has 4 characters, 1 more than the 3 allowed"),
    ({"text": "b"}, 'text: "b" does not match ^a'),
    ({"mode": "always"}, 'mode: is "always", must be one of Always, Never; did you mean "Always"?'),
    ({"mode": 3}, "mode: is 3, must be one of Always, Never"),
    ({"version": "v1beta1"}, 'version: is "v1beta1", must be "v1"'),
    ({"names": []}, "names: is empty; add at least 1 item"),
    ({"names": ["a", "a"]}, 'names: "a" is listed twice; keep one of them, or rename one'),
    ({"names": "a"}, 'names: is the string "a", must be a list; write it as a list: [a]'),
    ({"labels": []}, "labels: is a list, must be a mapping"),
    ({"labels": {"a.b/c": 1}}, 'labels[a.b/c]: is the number 1, must be a string; write it in quotes: "1"'),
    ({"labels": {"a b": "c"}},
     'labels[a b]: the key is wrong: "a b" is not a qualified name: letters, digits, "-", "_" and ".", '
     "alphanumeric at both ends"),
    ({"either": 3}, 'either: is the number 3, must be a mapping or a string; write it in quotes: "3"'),
    ({"either": {"hard": "3"}},
     'either.hard: is the string "3", must be a whole number; write it without quotes: 3'),
    ({"either": {"hard": 3, "sfot": 1}}, "either.sfot: is not a field of Limits; known fields are hard"),
    ({"choice": "auto"}, 'choice: is "auto", must be "Auto"'),
    ({"choice": []}, "choice: is a list, must be a whole number or \"Auto\""),
    ([], "is a list, must be a mapping"),
]
# fmt: on


@pytest.mark.parametrize(("data", "told"), CASES)
def test_a_mistake_is_one_sentence_with_its_path(data: Any, told: str) -> None:
    """Where, what is wrong, what would be right."""
    assert faulted(Sample, data) == [told]


def test_rules_are_one_fault_each_below_the_model_that_breaks_them() -> None:
    """The field of a rule is appended to the path of its model, and an empty one is the model itself."""
    with pytest.raises(ValidationError) as caught:
        Sample.model_validate({"on": True})

    assert faults_of(caught.value, object='Sample "a"', prefix="spec.parts[0]") == [
        Fault("is wrong", 'Sample "a"', "spec.parts[0].labels[a.b/c].d", "write e"),
        Fault("has none", 'Sample "a"', "spec.parts[0]"),
    ]


def test_all_mistakes_are_told_at_once() -> None:
    """In the order of the fields."""
    assert faulted(Sample, {"count": 0, "on": "x", "mode": "Some"}) == [
        "count: 0 is less than 1; write 1 or more",
        'on: is the string "x", must be true or false',
        'mode: is "Some", must be one of Always, Never',
    ]


def test_the_place_is_the_nearest_known_parent_of_the_mistake() -> None:
    """Locations are those of the data: no union branches, and positions and keys of rules as numbers and text."""
    known = {
        (): Place("a.yaml", 1),
        ("flavors", 0): Place("a.yaml", 3),
        ("port",): Place("a.yaml", 5),
        ("labels", "a.b/c"): Place("a.yaml", 7),
    }

    def places_of(data: dict[str, Any]) -> list[Place | None]:
        with pytest.raises(ValidationError) as caught:
            Sample.model_validate(data)
        fallback = Place("b.yaml")
        return [fault.place for fault in faults_of(caught.value, places=known.get, place=fallback)]

    assert places_of({"flavors": [{}], "port": []}) == [Place("a.yaml", 3), Place("a.yaml", 5)]
    assert places_of({"on": True}) == [Place("a.yaml", 7), Place("a.yaml", 1)]
    known.clear()
    assert places_of({"port": []}) == [Place("b.yaml")]


def test_names_of_list_items_are_told_when_the_data_is_given() -> None:
    """People know their containers by name, not by number."""
    data = {"spec": {"containers": [{"name": "trainer", "env": [{"name": "MASTER_PORT", "value": 29500}]}]}}
    with pytest.raises(ValidationError) as caught:
        PodTemplateSpec.model_validate(data)

    (fault,) = faults_of(caught.value, data=data)

    assert str(fault) == (
        "spec.containers[0].env[0].value: is the number 29500, must be a string (in trainer, MASTER_PORT); "
        'write it in quotes: "29500"'
    )


def test_a_model_is_found_by_its_name_or_guessed_around() -> None:
    """The caller need not know the model; without one, union branches are still told apart from fields."""

    class Flavor(Model):  # a second model of this name: ambiguous
        port: IntOrString
        labels: dict[LabelKey, Str] | None = None

    with pytest.raises(ValidationError) as caught:
        Flavor.model_validate({"port": [], "labels": {"a b": "c"}, "prot": 1})

    assert [str(fault) for fault in faults_of(caught.value)] == [
        "port: is a list, must be a whole number or a string",
        'labels[a b]: the key is wrong: "a b" is not a qualified name: letters, digits, "-", "_" and ".", '
        "alphanumeric at both ends",
        "prot: is not a known field; remove it",
    ]
    assert [str(fault) for fault in faults_of(caught.value, model=Flavor)][2] == (
        'prot: is not a field of Flavor; did you mean "port"?'
    )
