"""Volcano's scheduler configuration: what it refuses, ignores, or does otherwise than it reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import dig
from trainshed.fleet.volcano_config import ACTIONS, PLUGINS, SWITCHES, VolcanoConfig
from trainshed.fleet.volcano_tree import ROOT

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "volcano scheduler"
_FACTOR: Final = "overcommit-factor"
_TOP: Final = ("actions", "tiers", "configurations", "metrics")
_FIELDS: Final = ("name", "arguments", *SWITCHES)
#: Arguments that plugins read, where all that a plugin reads are known; a trailing `.` begins a family of names.
_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "overcommit": ("overcommit-factor",),
    "capacity": (
        "ancestorReclaimLevel",
        "capacity.DynamicResourceAllocationEnable",
        "capacity.DRAConsumableCapacityEnable",
    ),
    "binpack": ("binpack.weight", "binpack.cpu", "binpack.memory", "binpack.resources", "binpack.resources."),
    "sla": ("sla-waiting-time",),
}


@rule("volcano-config-invalid", severity="error", family=_FAMILY, targets=("volcano",))
def config_invalid(fleet: Fleet) -> Iterator[Issue]:
    """Volcano's scheduler refuses its configuration, or drops a part of it without a word.

    Why: With a file that it can't use, the scheduler keeps the previous configuration (at its start the built-in one),
    and only its log tells. A plugin or switch whose name is wrong is simply off.
    Fix: Write actions, plugins and switches by their exact names; use one of `proportion` and `capacity`.
    """
    for config in fleet.volcano_configs:
        told = [(config.error, "write valid YAML")] if config.error else [*_actions(config), *_plugins(config)]
        for message, fix in told:
            yield Issue(config.document, config.path, f"the scheduler's configuration {message}", fix)


def _actions(config: VolcanoConfig) -> Iterator[tuple[str, str]]:
    for key in config.data:
        if key not in _TOP:
            yield f'has the unknown key "{key}"', nearest(key, _TOP) or f"known are {listed(_TOP)}"
    if not config.actions:
        yield "has no actions", 'write actions: "enqueue, allocate, backfill"'
    for action in config.actions:
        if action not in ACTIONS:
            fix = nearest(action, ACTIONS) or f"known are {listed(ACTIONS, 8)}"
            yield f'names the action "{action}", which does not exist: the whole file is refused', fix
    if config.actions and "allocate" not in config.actions and all(action in ACTIONS for action in config.actions):
        yield "leaves out the action allocate, without which no pod with requests is placed", "add allocate"


def _plugins(config: VolcanoConfig) -> Iterator[tuple[str, str]]:
    names = [plugin.name for plugin in config.plugins]
    for plugin in config.plugins:
        if plugin.name not in PLUGINS:
            fix = nearest(plugin.name, PLUGINS) or "name a built-in plugin"
            yield f'names the plugin "{plugin.name}", which does not exist: it is left out with a line in the log', fix
        for field in plugin.node:
            if field not in _FIELDS:
                fix = nearest(field, _FIELDS) or "leave it out"
                yield f'sets "{field}" for plugin {plugin.name}, which is no switch: it is dropped', fix
        known = _ARGUMENTS.get(plugin.name)
        for argument in plugin.arguments if known else ():
            if known and not any(argument == item or (item[-1] == "." and argument.startswith(item)) for item in known):
                fix = nearest(argument, known) or f"known are {listed(known)}"
                yield f'gives plugin {plugin.name} the argument "{argument}", which it does not read', fix
    yield from _overcommit(config)
    if "proportion" in names and "capacity" in names:
        yield "uses both proportion and capacity, which are alternatives", "keep one of them"
    proportions = {plugin.tier for plugin in config.plugins if plugin.name == "proportion"}
    if any(
        drf.name == "drf" and drf.on("enableHierarchy", False) and drf.tier in proportions for drf in config.plugins
    ):
        yield "uses drf with enableHierarchy beside proportion: the whole file is refused", "drop one of the two"


def _overcommit(config: VolcanoConfig) -> Iterator[tuple[str, str]]:
    plugin = config.plugin("overcommit")
    written = plugin.arguments.get(_FACTOR) if plugin is not None else None
    try:
        factor = float(str(written)) if written is not None else 1.0
    except ValueError:
        factor = 0.0
    if factor < 1:
        yield f"sets {_FACTOR} to {written}, which is below 1 and replaced by 1.2", "write 1.0 or more"


@rule("volcano-victims-unfiltered", severity="warning", family=_FAMILY, targets=("volcano",))
def victims_unfiltered(fleet: Fleet) -> Iterator[Issue]:
    """Reclaim is on, but an earlier tier decides alone who is evicted.

    Why: Tiers are asked in order, and the first that offers victims decides. `conformance` offers every ordinary pod,
    so with `capacity` or `proportion` in a later tier nobody checks whether a queue is above what it deserves
    (volcano #5896). A strict gang offers none, and in the same tier as capacity nothing borrowed ever comes back
    (#4535), so set `enableReclaimable: false` for gang there.
    Fix: Put capacity into the tier of conformance, as its last plugin.
    """
    relied_on = any(node.deserved for node in fleet.volcano.queues.values())
    for config in fleet.volcano_configs:
        shares = config.plugin("capacity") or config.plugin("proportion")
        conformance = config.plugin("conformance")
        if "reclaim" not in config.actions or shares is None or not relied_on:
            continue
        if conformance is not None and conformance.on("enableReclaimable") and conformance.tier < shares.tier:
            message = (
                f"conformance in tier {conformance.tier + 1} decides who is evicted before {shares.name} in tier "
                f"{shares.tier + 1} is asked, so a queue loses pods though it is not above what it deserves"
            )
            fix = f"move {shares.name} into tier {conformance.tier + 1}, behind conformance"
            yield Issue(config.document, config.path, message, fix)


@rule("volcano-queue-field-ignored", severity="warning", family=_FAMILY, targets=("volcano",))
def queue_field_ignored(fleet: Fleet) -> Iterator[Issue]:
    """A Queue uses a field that the scheduler's configuration in the input does not read.

    Why: `deserved` counts with the plugin capacity only, `parent` only with its `enableHierarchy`, and what is lent
    comes back only with the action reclaim. Helm's default has none of these, and says nothing.
    Fix: Configure capacity with enableHierarchy and the action reclaim, or drop the field.
    """
    configs = [config for config in fleet.volcano_configs if not config.error and config.plugins]
    if len(configs) != 1:
        return
    config = configs[0]
    capacity = config.plugin("capacity") is not None
    related = (("the scheduler's configuration", config.document, config.path),)
    for node in fleet.volcano.queues.values():
        if node.document is None or node.name == ROOT:
            continue
        own = dig(node.document.manifest, "spec", "deserved")
        if own and not capacity:
            message = "deserved is read by the plugin capacity alone, which the scheduler is configured without"
            fix = "configure capacity instead of proportion, or share by weight"
            yield Issue(node.document, ("spec", "deserved"), message, fix, None, related)
        elif own and not {"reclaim", "gangreclaim"} & set(config.actions):
            message = "what the queue deserves is never taken back from others: the scheduler has no action reclaim"
            yield Issue(node.document, ("spec", "deserved"), message, "add reclaim to the actions", None, related)
        if node.parent != ROOT and not config.hierarchical:
            message = f'parent "{node.parent}" has no effect: capacity is configured without enableHierarchy'
            message = message if capacity else f'parent "{node.parent}" has no effect without the plugin capacity'
            fix = "set enableHierarchy: true for the plugin capacity"
            yield Issue(node.document, ("spec", "parent"), message, fix, None, related)
