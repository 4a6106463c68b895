"""No rule on gang schedulers raises, whatever stands in a manifest where something else belongs."""

from __future__ import annotations

import copy
import io
import random
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.checks.schedulers.worlds import codes
from trainshed.checks import all_rules
from trainshed.checks.rule import RULES

JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 3.5, 1e300, "", "x", "-5", "1e999", "9" * 40, [], {}, [1], [None], [[]], {"a": None}, {"": ""},
    [{}], 2**70, "Gi", "[{}]", "{", "a.b", "--a",
)  # fmt: skip
PREFIXES = ("volcano_", "kai_", "yunikorn_", "coscheduling_", "gang_")
ROUNDS = 150


def everything() -> list[dict[str, Any]]:
    """All examples of the rules' pages, good and bad."""
    all_rules.load()
    made: list[dict[str, Any]] = []
    for rule in RULES.values():
        if rule.function.__module__.rpartition(".")[2].startswith(PREFIXES):
            for part in ("Bad", "Good"):
                made += [item for item in yaml.safe_load_all(io.StringIO(rule.page[part])) if isinstance(item, dict)]
    return made


def paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield (*path, key)
        yield from paths(child, (*path, key))


def changed(manifest: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The manifest with junk in one of its fields; apiVersion and kind stay."""
    made = copy.deepcopy(manifest)
    places = [path for path in paths(made) if path[0] not in ("apiVersion", "kind")]
    if places:
        path = chance.choice(places)
        node: Any = made
        for part in path[:-1]:
            node = node[part]
        node[path[-1]] = copy.deepcopy(chance.choice(JUNK))
    return made


def configuration(text: str, chance: random.Random) -> str:
    """YAML in a ConfigMap with junk in it."""
    data = yaml.safe_load(text)
    return yaml.safe_dump(changed({"x": data}, chance)["x"]) if isinstance(data, dict) else text


@pytest.mark.parametrize("seed", range(8))
def test_junk_in_any_field(seed: int) -> None:
    chance = random.Random(seed)
    objects = everything()
    assert len(objects) > 100
    for _ in range(ROUNDS // 10):
        made = [changed(changed(item, chance), chance) for item in objects]
        for item in made:
            data = item.get("data")
            if item.get("kind") == "ConfigMap" and isinstance(data, dict) and chance.random() < 0.8:
                for key, value in data.items():
                    if isinstance(value, str) and len(value) > 50:
                        data[key] = configuration(value, chance)
        codes(yaml.safe_dump_all(made, sort_keys=False))


def test_texts_in_config_maps_that_are_no_yaml() -> None:
    for text in (
        "[",
        "a: [b",
        "\x00",
        "- 1",
        "actions: 3\ntiers: 4",
        "tiers: [[1], {plugins: 3}]",
        "partitions: [1, {queues: 3}]",
    ):
        maps = [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text}}
            for name, key in (("yunikorn-configs", "queues.yaml"), ("v", "volcano-scheduler.conf"))
        ]
        codes(yaml.safe_dump_all(maps))
