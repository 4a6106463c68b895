"""Volcano's scheduler configuration: `volcano-scheduler.conf` in a ConfigMap.

Reference: Volcano v1.15.1, `pkg/scheduler/conf/scheduler_conf.go`, `pkg/scheduler/util.go` (unmarshalSchedulerConf).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.fleet.access import Node, mapping, mappings, strings, text
from trainshed.fleet.document import Document
from trainshed.fleet.embedded import embedded
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

ACTIONS: Final = (
    "enqueue",
    "allocate",
    "backfill",
    "preempt",
    "reclaim",
    "gangpreempt",
    "gangreclaim",
    "shuffle",
)
PLUGINS: Final = (
    "drf",
    "gang",
    "deviceshare",
    "predicates",
    "priority",
    "nodeorder",
    "conformance",
    "binpack",
    "resource-strategy-fit",
    "tdm",
    "overcommit",
    "sla",
    "task-topology",
    "numaaware",
    "cdp",
    "rescheduling",
    "usage",
    "pdb",
    "nodegroup",
    "network-topology-aware",
    "proportion",
    "capacity",
    "extender",
    "resourcequota",
)
SWITCHES: Final = (
    "enableJobOrder",
    "enableHierarchy",
    "enableJobReady",
    "enableJobPipelined",
    "enableTaskOrder",
    "enablePreemptable",
    "enableReclaimable",
    "enablePreemptive",
    "enableQueueOrder",
    "EnabledClusterOrder",
    "enablePredicate",
    "enableBestNode",
    "enableNodeOrder",
    "enableTargetJob",
    "enableReservedNodes",
    "enableJobEnqueued",
    "enabledVictim",
    "enableJobStarving",
    "enabledOverused",
    "enabledAllocatable",
    "enabledHyperNodeOrder",
    "enabledHyperNodeGradient",
    "enabledSubJobReady",
    "enabledSubJobPipelined",
    "enabledSubJobOrder",
)
_SUFFIX: Final = "scheduler.conf"


class Plugin(NamedTuple):
    """A plugin in `tier` (from 0), with its switches and arguments as written."""

    name: str
    tier: int
    node: Node

    @property
    def arguments(self) -> Node:
        """`arguments`."""
        return mapping(self.node, "arguments")

    def on(self, switch: str, default: bool = True) -> bool:
        """Whether a switch is on."""
        value = self.node.get(switch)
        return value if isinstance(value, bool) else default


@dataclass
class VolcanoConfig:
    """One configuration, in the text at `path` of `document`. `error` says why the text can't be read."""

    document: Document
    path: Path
    data: Node
    error: str = ""
    plugins: list[Plugin] = field(default_factory=list)

    @property
    def actions(self) -> list[str]:
        """The actions, in order."""
        return [item.strip() for item in text(self.data, "actions").split(",") if item.strip()]

    def plugin(self, name: str) -> Plugin | None:
        """The first plugin of this name."""
        return next((plugin for plugin in self.plugins if plugin.name == name), None)

    @property
    def hierarchical(self) -> bool:
        """Whether capacity follows `parent`."""
        return any(item.name == "capacity" and item.on("enableHierarchy", False) for item in self.plugins)


def volcano_configs(fleet: Fleet) -> list[VolcanoConfig]:
    """The configurations of a fleet: ConfigMap keys that end in `scheduler.conf` and hold tiers or actions."""
    return list(_found(fleet))


def _found(fleet: Fleet) -> Iterator[VolcanoConfig]:
    for document in fleet.of(("", "ConfigMap")):
        for key, value in strings(document.manifest, "data").items():
            if not key.endswith(_SUFFIX) or ("tiers" not in value and "actions" not in value):
                continue
            read = embedded(value)
            config = VolcanoConfig(document, ("data", key), read.data, read.error)
            config.plugins = [
                Plugin(text(item, "name"), number, item)
                for number, tier in mappings(read.data, "tiers")
                for _, item in mappings(tier, "plugins")
            ]
            yield config
