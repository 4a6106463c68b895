"""No Kueue rule raises, whatever stands in a manifest where something else belongs."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.checks.kueue import worlds
from tests.checks.kueue.worlds import KUEUE, Manifest, findings

JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 3.5, 1e300, "", "x", "-5", "1e999", "9" * 40, [], {}, [1], [None], [[]], {"a": None}, {"": ""},
    [{}], 2**70, "Gi", "1Ki",
)  # fmt: skip
CHANGES = 120


def everything() -> list[Manifest]:
    """A world with every kind and most fields that the rules read."""
    annotations = {
        f"{KUEUE}/podset-required-topology": "x",
        f"{KUEUE}/podset-slice-size": "2",
        f"{KUEUE}/podset-group-name": "g",
        f"{KUEUE}/podset-slice-required-topology-constraints": "[{}]",
    }
    term = {"matchExpressions": [{"key": "example.com/gpu", "operator": "Gt", "values": ["1"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    checks = {"admissionChecks": [{"name": "c", "onFlavors": ["b"]}]}
    made = [
        worlds.flavor(topologyName="fabric"),
        worlds.flavor("b", nodeTaints=[{"key": "a", "effect": "NoSchedule"}], tolerations=[{"operator": "Exists"}]),
        worlds.cohort("all", {"h100": {"cpu": "8"}}, parentName="org"),
        worlds.cluster_queue(cohortName="all", fairSharing={"weight": "1"}, admissionChecksStrategy=checks),
        worlds.local_queue(fairSharing={"weight": 0}),
        worlds.configuration(manageJobsWithoutQueueName=True, resources={"transformations": [{"input": "a"}]}),
        worlds.node("n", {"a": "b"}, [{"key": "x"}], cpu="4"),
        *worlds.train_job(worlds.metadata(), worlds.template()),
    ]
    for make in worlds.KINDS.values():
        pod = worlds.template(None, annotations, nodeSelector={"a": "b"}, affinity=affinity, priorityClassName="p")
        meta = worlds.metadata(None, {f"{KUEUE}/job-min-parallelism": "1", f"{KUEUE}/pod-group-total-count": "2"})
        made.append(copy.deepcopy(make(pod, meta)))
    return made


def paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a manifest."""
    if path:
        yield path
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in children:
        yield from paths(value, (*path, key))


@pytest.mark.parametrize("seed", range(4))
def test_odd_shapes_do_no_harm(seed: int) -> None:
    chance = random.Random(seed)
    base = everything()
    places = [
        (index, path)
        for index, item in enumerate(base)
        for path in paths(item)
        if path[0] not in ("apiVersion", "kind")
    ]
    for _ in range(CHANGES // 4):
        world = copy.deepcopy(base)
        for index, path in chance.sample(places, 5):
            node: Any = world[index]
            try:
                for key in path[:-1]:
                    node = node[key]
                node[path[-1]] = copy.deepcopy(chance.choice(JUNK))
            except (KeyError, IndexError, TypeError):
                continue
        findings(*world)
