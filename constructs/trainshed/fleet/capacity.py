"""The hardware that the input declares: `trainshed.dev/capacity` annotations and Node objects.

On a ResourceFlavor the annotation is JSON `{"nodes": n, "perNode": {resource: quantity}}`, on a Volcano Queue a mapping
of pool names to such. Whoever writes no stacks can write it by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trainshed.fleet.access import Node, dig, mapping, mappings, strings, text, whole
from trainshed.fleet.amounts import Amounts, add, amounts
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

ANNOTATION: Final = "trainshed.dev/capacity"
ANNOTATION_PATH: Final[Path] = ("metadata", "annotations", ANNOTATION)
_FORMAT: Final = '{"nodes": 8, "perNode": {"cpu": "96", "memory": "400G", "nvidia.com/gpu": "8"}}'


class Pool(NamedTuple):
    """`nodes` equal machines with `per_node` allocatable each, as `document` declares at `path`."""

    name: str
    nodes: int
    per_node: Amounts
    document: Document
    path: Path = ANNOTATION_PATH

    @property
    def total(self) -> Amounts:
        """What all its nodes offer together."""
        return {name: amount * self.nodes for name, amount in self.per_node.items()}


class Machine(NamedTuple):
    """One Node object of the input: allocatable (capacity where that is missing), labels, taints."""

    name: str
    allocatable: Amounts
    labels: dict[str, str]
    taints: list[Node]
    document: Document

    @property
    def schedulable(self) -> bool:
        """Whether it takes new pods: not cordoned."""
        return dig(self.document.manifest, "spec", "unschedulable") is not True


class Misread(NamedTuple):
    """An annotation that is not as it should be: where, what is wrong, what would be right."""

    document: Document
    message: str
    fix: str = f"write JSON such as {_FORMAT}"
    path: Path = ANNOTATION_PATH


@dataclass
class Capacity:
    """Declared capacity. `flavors`: by ResourceFlavor; `queues`: by Volcano Queue, then by pool; `machines`: the Nodes;
    `misread`: annotations that could not be used."""

    flavors: dict[str, Pool] = field(default_factory=dict)
    queues: dict[str, dict[str, Pool]] = field(default_factory=dict)
    machines: list[Machine] = field(default_factory=list)
    misread: list[Misread] = field(default_factory=list)

    @property
    def declared(self) -> bool:
        """Whether the input declares any capacity."""
        return bool(self.flavors or self.queues or self.machines)

    @property
    def pools(self) -> dict[str, Pool]:
        """All declared pools by name; the queues of Volcano repeat them."""
        found = {name: pool for pools in self.queues.values() for name, pool in pools.items()}
        return found | self.flavors

    def machines_with(self, labels: dict[str, str]) -> list[Machine]:
        """The Nodes that have all these labels (a flavor's nodeLabels, a nodeSelector)."""
        if not labels:
            return self.machines
        found = min((self._by_label.get(label, []) for label in labels.items()), key=len)
        return [machine for machine in found if labels.items() <= machine.labels.items()]

    def values_of(self, label: str) -> tuple[str, ...]:
        """What the Nodes have as this label, sorted."""
        return self._values.get(label, ())

    @cached_property
    def _values(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for label, value in sorted(self._by_label):
            found.setdefault(label, []).append(value)
        return {label: tuple(values) for label, values in found.items()}

    @cached_property
    def _by_label(self) -> dict[tuple[str, str], list[Machine]]:
        found: dict[tuple[str, str], list[Machine]] = {}
        for machine in self.machines:
            for label in machine.labels.items():
                found.setdefault(label, []).append(machine)
        return found

    def of_flavor(self, flavor: Document) -> Amounts | None:
        """What the nodes of a ResourceFlavor offer together: as declared, else the sum of the schedulable Nodes with
        its labels; None where the input has neither."""
        if pool := self.flavors.get(flavor.name):
            return pool.total
        if not self.machines:
            return None
        total: Amounts = {}
        for machine in self.machines_with(strings(flavor.manifest, "spec", "nodeLabels")):
            if machine.schedulable:
                add(total, machine.allocatable)
        return total

    def node_shapes(self, flavor: Document) -> list[Amounts] | None:
        """What single nodes of a ResourceFlavor offer, one entry for each shape; None where the input has neither."""
        if pool := self.flavors.get(flavor.name):
            return [pool.per_node] if pool.nodes else []
        if not self.machines:
            return None
        shapes: list[Amounts] = []
        for machine in self.machines_with(strings(flavor.manifest, "spec", "nodeLabels")):
            if machine.schedulable and machine.allocatable not in shapes:
                shapes.append(machine.allocatable)
        return shapes


def capacity_of(fleet: Fleet) -> Capacity:
    """The declared capacity of a fleet."""
    capacity = Capacity()
    for flavor in fleet.of(("kueue.x-k8s.io", "ResourceFlavor")):
        for value in _annotation(flavor, capacity):
            if pool := _pool(flavor, flavor.name, value, capacity):
                capacity.flavors[flavor.name] = pool
    for queue in fleet.of(("scheduling.volcano.sh", "Queue")):
        for value in _annotation(queue, capacity):
            pools = [_pool(queue, str(name), item, capacity) for name, item in value.items()]
            capacity.queues[queue.name] = {pool.name: pool for pool in pools if pool}
    capacity.machines = [_machine(document) for document in fleet.of(("", "Node"))]
    return capacity


def _annotation(document: Document, capacity: Capacity) -> Iterator[Node]:
    written = text(document.manifest, *ANNOTATION_PATH)
    if not written:
        return
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        capacity.misread.append(Misread(document, f"{ANNOTATION} is not JSON"))
        return
    if isinstance(value, dict):
        yield value
    else:
        capacity.misread.append(Misread(document, f"{ANNOTATION} is not a JSON object"))


def _pool(document: Document, name: str, value: Any, capacity: Capacity) -> Pool | None:
    nodes, per_node = whole(value, "nodes"), mapping(value, "perNode")
    read = amounts(per_node)
    if nodes is None or nodes < 0 or not per_node:
        message = f'{ANNOTATION} of "{name}" needs "nodes", a whole number from 0, and "perNode", resources of one node'
        capacity.misread.append(Misread(document, message))
        return None
    for resource in per_node.keys() - read.keys():
        message = f'{ANNOTATION}: perNode "{resource}" of "{name}" is not a quantity'
        capacity.misread.append(Misread(document, message))
    return Pool(name, nodes, read, document)


def _machine(document: Document) -> Machine:
    status = mapping(document.manifest, "status")
    allocatable = amounts(status.get("allocatable")) or amounts(status.get("capacity"))
    taints = [taint for _, taint in mappings(document.manifest, "spec", "taints")]
    return Machine(document.name, allocatable, strings(document.manifest, "metadata", "labels"), taints, document)
