"""Whole checks of mutated manifests: `python -m bench.fuzz_check [INPUTS] [SEED]`.

Each input is one of the rules' examples, or a few files of dist/, in which one to six values are replaced, removed,
moved or renamed. A check must end without an exception, and no rule may fail. The seed makes a run repeatable.
"""

from __future__ import annotations

import copy
import io
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from trainshed.checks import all_rules
from trainshed.checks.engine import check
from trainshed.checks.options import CannotCheck, Options
from trainshed.checks.rule import RULES
from trainshed.fleet.kueue_v1beta1 import NEW, OLD

ROOT: Final = Path(__file__).resolve().parent.parent
_JUNK: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 8, 2**31, 2**63, 10**30, 0.5, -1.5, 1e308, "", " ", "a", "A_b", "-", "0", "1Gi"),
    *(
        "10m",
        "1e3",
        "0x10",
        "true",
        "null",
        "a" * 300,
        "é☃",
        "\u0000",
        "${X}",
        "$(X)",
        "{{ .Values.x }}",
        "*",
        "/",
        ".",
    ),
    *("8Ki", "-1", "9999999999999999999999", "Always", "spec", "1.5", "auto", "python -m x 'y", 'sh -c "torchrun"'),
    *([], {}, [None], [1], ["a"], [{}], [[]], {"a": None}, {"": ""}, {"name": "a"}, [{"name": "a"}, {"name": "a"}]),
    *(
        {"name": {}},
        {"matchLabels": {"a": "b"}},
        {"1": 1},
        [{"name": 3}],
        {"limits": {"cpu": []}},
        [["a"]],
        "\n",
        "a\tb",
    ),
)


def seeds() -> list[list[dict[str, Any]]]:
    """The manifests to start from."""
    found: list[list[dict[str, Any]]] = []
    for rule in RULES.values():
        for section in ("Bad", "Good", "Baseline"):
            found.append(_objects(rule.page.get(section, "")))
    dist = [_objects(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "dist").rglob("*.yaml"))]
    found.extend([item for part in dist[start : start + 6] for item in part] for start in range(0, len(dist), 3))
    return [objects for objects in found if objects]


def _objects(text: str) -> list[dict[str, Any]]:
    return [item for item in yaml.load_all(text, yaml.CSafeLoader) if isinstance(item, dict)]


def mutated(objects: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """A copy with one to six changes."""
    result = copy.deepcopy(objects)
    for _ in range(chance.randint(1, 6)):
        places = list(_places(result))
        if not places:
            break
        parent, key = chance.choice(places)
        _change(parent, key, places, chance)
    if chance.random() < 0.05:
        for item in result:
            if isinstance(item, dict) and item.get("apiVersion") == NEW:
                item["apiVersion"] = OLD
    return result


def _change(parent: Any, key: Any, places: list[tuple[Any, Any]], chance: random.Random) -> None:
    match chance.randint(0, 6):
        case 0 | 1:
            parent[key] = copy.deepcopy(chance.choice(_JUNK))
        case 2:
            del parent[key]
        case 3:
            other, name = chance.choice(places)
            if isinstance(other, list) or name in other:
                parent[key] = copy.deepcopy(other[name] if name in _keys(other) else None)
        case 4 if isinstance(parent, dict):
            value = parent.pop(key)
            parent[chance.choice((key + "s", key.upper(), key[:-1], "name", "spec", ""))] = value
        case 5 if isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        case _:
            parent[key] = [parent[key]] if chance.random() < 0.5 else {"name": parent[key]}


def _keys(node: Any) -> list[Any]:
    return list(node) if isinstance(node, dict) else list(range(len(node)))


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key in _keys(node):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


def failure(text: str, baseline: str | None) -> str:
    """Why a check of `text` is not as it should be; empty when it is."""
    try:
        report = check(["-"], Options(), stdin=io.BytesIO(text.encode()), baseline=baseline)
    except CannotCheck:  # a baseline that holds no object: told in one line
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "; ".join(finding.message for finding in report.findings if finding.code == "internal-error")


def main() -> None:
    """Prints the number of inputs, and each failure with the file that its input was written to."""
    inputs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    all_rules.load()
    chance = random.Random(seed)
    starts = seeds()
    failed: dict[str, int] = {}
    folder = ROOT / "build" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    before = folder / "baseline.yaml"
    begun = time.perf_counter()
    for number in range(inputs):
        start = chance.choice(starts)
        objects = mutated(start, chance)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, default=str)  # PyYAML makes dates
        with_baseline = number % 4 == 0
        if with_baseline:
            before.write_text(yaml.safe_dump_all(mutated(start, chance)), encoding="utf-8")
        told = failure(text, str(before) if with_baseline else None)
        if told:
            failed[told] = failed.get(told, 0) + 1
            if failed[told] == 1:
                file = folder / f"failure-{len(failed)}.json"
                file.write_text(text, encoding="utf-8")
                print(f"{file}: {told}", flush=True)
    seconds = time.perf_counter() - begun
    print(f"{inputs:,} inputs, {sum(failed.values()):,} failures of {len(failed)} kinds, {seconds:.0f} s, seed {seed}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
