"""YuniKorn's `queues.yaml`, in the ConfigMap `yunikorn-configs` or `yunikorn-defaults`, and the queue tree in it.

Reference: yunikorn-core v1.9.0, `pkg/common/configs`; summary in our schedulers.md 5.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from trainshed.fleet.access import Node, items, mapping, mappings, strings, text
from trainshed.fleet.amounts import Amounts
from trainshed.fleet.document import Document
from trainshed.fleet.embedded import embedded
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

NAMES: Final = ("yunikorn-configs", "yunikorn-defaults")
KEY: Final = "queues.yaml"
ROOT: Final = "root"
_AMOUNT: Final = re.compile(r"(\d+)(m|[kKMGTPE]|[KMGTPE]i)?")
_SCALE: Final = {"": 1, **{unit: 1000**power for power, unit in enumerate("kMGTPE", 1)}, "K": 1000}
_BINARY: Final = {f"{unit}i": 1024**power for power, unit in enumerate("KMGTPE", 1)}

Resources = dict[str, Fraction]


@dataclass
class YuniKornQueue:
    """One queue of a configuration: `path` is its full name in lower case, `node` as written. Amounts: cores for
    vcore, otherwise the unit itself."""

    path: str
    name: str
    node: Node
    parent: YuniKornQueue | None = None
    children: list[YuniKornQueue] = field(default_factory=list)

    @property
    def max(self) -> Resources:
        """`resources.max`."""
        return resources(mapping(self.node, "resources").get("max"))

    @property
    def guaranteed(self) -> Resources:
        """`resources.guaranteed`."""
        return resources(mapping(self.node, "resources").get("guaranteed"))

    @property
    def is_parent(self) -> bool:
        """Whether it takes no applications itself."""
        return bool(self.children) or self.node.get("parent") is True or self.parent is None

    def line(self) -> Iterator[YuniKornQueue]:
        """The queue and its ancestors, root last."""
        queue: YuniKornQueue | None = self
        while queue is not None:
            yield queue
            queue = queue.parent

    def property(self, name: str) -> str:
        """A property, inherited from the nearest ancestor that sets it."""
        return next((value for queue in self.line() if (value := text(queue.node, "properties", name))), "")


@dataclass
class YuniKornConfig:
    """One `queues.yaml`. `error` says why it can't be read; `queues` are those of partition `default`, by path."""

    document: Document
    path: Path
    data: Node
    error: str = ""
    queues: dict[str, YuniKornQueue] = field(default_factory=dict)

    @property
    def partition(self) -> Node:
        """The partition that Kubernetes uses."""
        found = [item for _, item in mappings(self.data, "partitions") if text(item, "name").lower() == "default"]
        return found[0] if found else {}

    @property
    def leaves(self) -> list[str]:
        """Paths of the queues that take applications."""
        return sorted(path for path, queue in self.queues.items() if not queue.is_parent)

    @property
    def rules(self) -> list[Node]:
        """The placement rules, those that others name as parents left out."""
        return [item for _, item in mappings(self.partition, "placementrules")]

    @property
    def queue_must_exist(self) -> bool:
        """Whether the queue that a pod names is taken, and never made: the rule `provided` without `create`."""
        rules = self.rules
        if not rules:
            return True
        return all(text(rule, "name").lower() == "provided" and rule.get("create") is not True for rule in rules)

    def find(self, name: str) -> YuniKornQueue | None:
        """The queue of a full path; one that does not begin with root is taken to lie below it."""
        return self.queues.get(full_path(name))


def full_path(name: str) -> str:
    """The queue's path in lower case, from root."""
    lowered = name.lower()
    return lowered if lowered == ROOT or lowered.startswith(f"{ROOT}.") else f"{ROOT}.{lowered}"


def yunikorn_configs(fleet: Fleet) -> list[YuniKornConfig]:
    """The configurations of a fleet; where both ConfigMaps are there, `yunikorn-configs` comes first, as it wins."""
    found = [item for item in fleet.of(("", "ConfigMap")) if item.name in NAMES]
    return [config for document in sorted(found, key=lambda item: item.name) for config in _read(document)]


def _read(document: Document) -> Iterator[YuniKornConfig]:
    written = strings(document.manifest, "data").get(KEY)
    if written is None:
        return
    read = embedded(written)
    config = YuniKornConfig(document, ("data", KEY), read.data, read.error)
    listed = [item for _, item in mappings(config.partition, "queues")]
    if len(listed) == 1 and text(listed[0], "name").lower() == ROOT:
        root = YuniKornQueue(ROOT, ROOT, listed[0])
    else:
        root = YuniKornQueue(ROOT, ROOT, {"name": ROOT, "queues": items(config.partition, "queues")})
    _grow(root, config.queues)
    yield config


def _grow(queue: YuniKornQueue, found: dict[str, YuniKornQueue]) -> None:
    found.setdefault(queue.path, queue)
    for _, node in mappings(queue.node, "queues"):
        name = _name(node.get("name"))
        child = YuniKornQueue(f"{queue.path}.{name.lower()}", name, node, queue)
        queue.children.append(child)
        _grow(child, found)


def _name(value: Any) -> str:
    """A name as yaml.v3 reads it into a string: numbers and booleans too."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else ""


def amount(resource: str, value: Any) -> Fraction | None:
    """A resource of queues.yaml: whole numbers with k M G T P E or Ki … Ei, and `m` for vcore only; None for what
    YuniKorn can't read. `vcore` in cores."""
    written = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    match = _AMOUNT.fullmatch(written.strip())
    if match is None or len(written) > 40:
        return None
    number, unit = Fraction(int(match[1])), match[2] or ""
    if unit == "m":
        return number / 1000 if resource == "vcore" else None
    scale: int = _BINARY[unit] if unit in _BINARY else _SCALE[unit]
    return number * scale


def resources(node: Any) -> Resources:
    """The amounts that can be read."""
    listed = node.items() if isinstance(node, dict) else ()
    return {name: read for name, value in listed if (read := amount(name, value)) is not None}


def demand(requests: Amounts, pods: int = 1) -> Resources:
    """What pods ask for, under YuniKorn's names."""
    return {"vcore" if name == "cpu" else name: item.value * pods for name, item in requests.items()}
