"""Declared capacity: annotations of flavors and queues, and Node objects."""

from __future__ import annotations

import json

from tests.fleet.given import fleet, shown
from trainshed.fleet.capacity import ANNOTATION
from trainshed.gitops.names import CAPACITY_ANNOTATION


def flavor(name: str, annotation: str | None, labels: str = "{}") -> str:
    """A ResourceFlavor."""
    annotations = f", annotations: {{{ANNOTATION}: {json.dumps(annotation)}}}" if annotation is not None else ""
    head = f"apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {{name: {name}{annotations}}}"
    return f"{{{head}, spec: {{nodeLabels: {labels}}}}}"


def machine(name: str, gpus: int, spec: str = "{}") -> str:
    """A Node of the pool `p`."""
    head = f"apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{pool: p}}}}"
    return f"{{{head}, spec: {spec}, status: {{allocatable: {{nvidia.com/gpu: {gpus}}}, capacity: {{cpu: 9}}}}}}"


def test_the_annotation_is_the_one_the_write_half_writes() -> None:
    assert ANNOTATION == CAPACITY_ANNOTATION


def test_a_flavor_declares_nodes_times_what_each_has() -> None:
    whole = fleet(flavor("h100", '{"nodes": 3, "perNode": {"cpu": "96", "nvidia.com/gpu": 8}}'), flavor("spot", None))
    capacity = whole.capacity
    assert shown(capacity.flavors["h100"].total) == {"cpu": "288", "nvidia.com/gpu": "24"}
    h100, spot = whole.of(("kueue.x-k8s.io", "ResourceFlavor"))
    assert shown(capacity.of_flavor(h100) or {})["nvidia.com/gpu"] == "24"
    assert [shown(shape) for shape in capacity.node_shapes(h100) or []] == [{"cpu": "96", "nvidia.com/gpu": "8"}]
    assert capacity.of_flavor(spot) is None
    assert capacity.declared
    assert not capacity.misread


def test_a_volcano_queue_declares_pools() -> None:
    annotation = json.dumps('{"a": {"nodes": 2, "perNode": {"cpu": 4}}, "b": {"nodes": 1, "perNode": {"cpu": 1}}}')
    head = f"metadata: {{name: q, annotations: {{{ANNOTATION}: {annotation}}}}}"
    capacity = fleet(f"{{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, {head}}}").capacity
    assert sorted(capacity.queues["q"]) == sorted(capacity.pools) == ["a", "b"]
    assert shown(capacity.pools["a"].total) == {"cpu": "8"}


def test_nodes_of_the_input_count_for_a_flavor_that_declares_nothing() -> None:
    """Those with its labels; not a cordoned one."""
    whole = fleet(
        flavor("f", None, "{pool: p}"),
        flavor("g", None, "{pool: other}"),
        machine("n1", 8),
        machine("n2", 8),
        machine("n3", 4, "{unschedulable: true}"),
        machine("n4", 2, "{taints: [{key: a, effect: NoSchedule}]}"),
    )
    f, g = whole.of(("kueue.x-k8s.io", "ResourceFlavor"))
    assert shown(whole.capacity.of_flavor(f) or {}) == {"nvidia.com/gpu": "18"}
    assert len(whole.capacity.node_shapes(f) or []) == 2
    assert whole.capacity.of_flavor(g) == {}
    assert whole.capacity.machines[3].taints == [{"key": "a", "effect": "NoSchedule"}]


def test_an_annotation_that_cannot_be_used_is_told() -> None:
    texts = [
        "eight",
        "[]",
        '{"nodes": -1, "perNode": {"cpu": 1}}',
        '{"nodes": 1}',
        '{"nodes": 1, "perNode": {"cpu": "x"}}',
    ]
    capacity = fleet(*(flavor(f"f{index}", text) for index, text in enumerate(texts))).capacity
    assert [item.document.name for item in capacity.misread] == ["f0", "f1", "f2", "f3", "f4"]
    assert list(capacity.flavors) == ["f4"]
