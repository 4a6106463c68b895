"""YuniKorn's queues.yaml: what the core's own check of the configuration refuses, and what locks everybody out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import Node, items, mapping, mappings, text, whole
from trainshed.fleet.yunikorn_config import YuniKornConfig, YuniKornQueue, amount, resources

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "yunikorn queues"
_NAME: Final = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}")
_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "file": ("partitions", "checksum"),
    "partition": (
        "name",
        "queues",
        "placementrules",
        "limits",
        "nodesortpolicy",
        "preemption",
        "usergroupresolver",
        "statedumpfilepath",
    ),
    "queue": (
        "name",
        "parent",
        "resources",
        "maxapplications",
        "properties",
        "adminacl",
        "submitacl",
        "childtemplate",
        "queues",
        "limits",
    ),
    "resources": ("guaranteed", "max"),
    "limit": ("limit", "users", "groups", "maxapplications", "maxresources"),
    "placement rule": ("name", "create", "filter", "parent", "value"),
    "childtemplate": ("maxapplications", "properties", "resources"),
}
_RULES: Final = ("provided", "user", "fixed", "tag", "recovery", "test")
_NODE_SORTS: Final = ("fair", "binpacking")
_VALUES: Final = {
    "application.sort.policy": ("fifo", "fair", "stateaware"),
    "application.sort.priority": ("enabled", "disabled"),
    "priority.policy": ("default", "fence"),
    "preemption.policy": ("default", "fence", "disabled"),
}

Told = tuple[str, str]


@rule("yunikorn-config-invalid", severity="error", family=FAMILY, targets=("yunikorn",))
def config_invalid(fleet: Fleet) -> Iterator[Issue]:
    """YuniKorn refuses its queues.yaml.

    Why: The file is read strictly and its keys are lower-case: one unknown key refuses all of it. The admission
    controller rejects the ConfigMap, or the scheduler keeps the old queues with a line in its log.
    Fix: Write the keys as YuniKorn knows them, amounts as whole numbers with a unit, and queue names without dots.
    """
    for config in fleet.yunikorn:
        told = [(config.error, "write valid YAML")] if config.error else list(dict.fromkeys(_structure(config)))
        for message, fix in told[:20]:
            yield Issue(config.document, config.path, f"queues.yaml {message}", fix)


def _structure(config: YuniKornConfig) -> Iterator[Told]:
    yield from _keys("file", "", config.data)
    partitions = mappings(config.data, "partitions")
    if not partitions:
        yield "has no partitions", "write partitions with one named default"
    names = [text(item, "name") for _, item in partitions]
    for name in names:
        if names.count(name) > 1:
            yield f'has the partition "{name}" twice', "keep one of them"
    if partitions and "default" not in [name.lower() for name in names]:
        yield 'has no partition "default", the only one that Kubernetes uses', 'name the partition "default"'
    for name, partition in zip(names, (item for _, item in partitions), strict=True):
        yield from _keys("partition", name, partition)
        yield from _placement(partition)
        yield from _limits(f"partition {name}", partition)
        yield from _node_sort(partition)
    yield from _fixed(config)
    for queue in config.queues.values():
        yield from _queue(queue)


def _node_sort(partition: Node) -> Iterator[Told]:
    policy = mapping(partition, "nodesortpolicy")
    kind = text(policy, "type")
    if kind and kind.lower() not in _NODE_SORTS:
        fix = nearest(kind, _NODE_SORTS) or f"write one of {listed(_NODE_SORTS)}"
        yield f'has the nodesortpolicy "{kind}", which does not exist', fix
    for name, weight in mapping(policy, "resourceweights").items():
        if isinstance(weight, int | float) and weight < 0:
            yield f"has the negative resourceweight {weight} of {name}", "write 0 or more"


def _fixed(config: YuniKornConfig) -> Iterator[Told]:
    for item in config.rules:
        name = text(item, "value")
        fixed = text(item, "name").lower() == "fixed" and item.get("create") is not True
        if fixed and name and not mapping(item, "parent") and config.queues and config.find(name) is None:
            fix = nearest(name, config.leaves) or "name an existing queue, or write create: true"
            yield f'has the placement rule "fixed" for queue "{name}", which does not exist', fix


def _keys(kind: str, name: str, node: Node) -> Iterator[Told]:
    known = _KEYS[kind]
    for key in node:
        if key not in known:
            of = f' of {kind} "{name}"' if name else ""
            fix = f'write "{key.lower()}"' if key.lower() in known else nearest(key, known)
            yield f'has the unknown key "{key}"{of}: the whole file is refused', fix or f"known are {listed(known, 8)}"


def _queue(queue: YuniKornQueue) -> Iterator[Told]:
    node, path = queue.node, queue.path
    yield from _keys("queue", path, node)
    yield from _keys("resources", path, mapping(node, "resources"))
    yield from _keys("childtemplate", path, mapping(node, "childtemplate"))
    if queue.parent is not None and not _NAME.fullmatch(queue.name):
        fix = "use letters, digits and _:#/@-, at most 64; a dot separates levels"
        yield f'has the queue name "{queue.name[:80]}" under {queue.parent.path}, which is not allowed', fix
    siblings = [child.name.lower() for child in queue.children]
    for name in dict.fromkeys(siblings):
        if siblings.count(name) > 1:
            yield f'has the queue "{name}" twice under {path} (case does not count)', "rename one of them"
    if queue.parent is None and mapping(node, "resources"):
        yield "sets resources of root, which come from the nodes", "remove them"
    for field in ("guaranteed", "max"):
        for resource, value in mapping(node, "resources", field).items():
            if amount(resource, value) is None:
                fix = "write a whole number with k M G T P E or Ki to Ei; m for vcore only"
                yield f'has {field} {resource} "{value}" in queue {path}, which can\'t be read', fix
            if resource == "cpu":
                yield f"names {field} cpu in queue {path}, which YuniKorn calls vcore", "write vcore"
    for acl in ("submitacl", "adminacl"):
        if len(text(node, acl).strip().split()) > 2:
            yield f'has {acl} "{text(node, acl)}" in queue {path}: users, one space, groups', "separate names by commas"
    yield from _properties(queue)
    yield from _limits(f"queue {path}", node)
    yield from _limits_above(queue)


def _limits_above(queue: YuniKornQueue) -> Iterator[Told]:
    """Limits of users and groups above those of the queue itself."""
    running = whole(queue.node, "maxapplications")
    for _, limit in mappings(queue.node, "limits"):
        more = whole(limit, "maxapplications")
        if running and more and more > running:
            yield f"has a limit of {more} maxapplications in queue {queue.path}, whose own is {running}", "lower it"
        for name, allowed in resources(limit.get("maxresources")).items():
            if name in queue.max and allowed > queue.max[name]:
                yield f"has a limit of maxresources {name} above the max of queue {queue.path}", "lower it"


def _properties(queue: YuniKornQueue) -> Iterator[Told]:
    for name, value in mapping(queue.node, "properties").items():
        known = _VALUES.get(str(name))
        if known and isinstance(value, str) and value.lower() not in known:
            fix = nearest(value, known) or f"write one of {listed(known)}"
            yield f'sets {name} to "{value}" in queue {queue.path}, which has no meaning', fix


def _placement(partition: Node) -> Iterator[Told]:
    for _, item in mappings(partition, "placementrules"):
        node, depth = item, 0
        while node and depth < 20:
            yield from _keys("placement rule", text(node, "name"), node)
            name = text(node, "name").lower()
            if name not in _RULES:
                yield f'has the placement rule "{name}", which does not exist', nearest(name, _RULES) or "name a rule"
            if name in ("fixed", "tag") and not text(node, "value"):
                what = "a queue" if name == "fixed" else "a key, such as namespace"
                yield f'has the placement rule "{name}" without a value', f"write value: {what}"
            kind = text(node, "filter", "type").lower()
            if kind not in ("", "allow", "deny"):
                yield f'has a filter of type "{kind}"', "write allow or deny"
            node, depth = mapping(node, "parent"), depth + 1


def _limits(where: str, node: Node) -> Iterator[Told]:
    seen: dict[str, list[str]] = {"user": [], "group": []}
    for _, limit in mappings(node, "limits"):
        yield from _keys("limit", where, limit)
        users, groups = items(limit, "users"), items(limit, "groups")
        if not users and not groups:
            yield f"has a limit of {where} without users and groups", "name users or groups"
        for kind, names in (("user", users), ("group", groups)):
            yield from _named(where, kind, names, seen[kind])
        if not limit.get("maxapplications") and not mapping(limit, "maxresources"):
            yield f"has a limit of {where} that limits nothing", "set maxapplications or maxresources"


def _named(where: str, kind: str, names: list[object], seen: list[str]) -> Iterator[Told]:
    """The names of one limit; `seen` holds those of the limits of the list before it, and takes these."""
    for name in names:
        if not isinstance(name, str):
            continue
        if name in seen:
            yield f'names {kind} "{name}" in two limits of {where}', "keep one of them"
        elif "*" in seen:
            yield f'has "*" before other {kind}s in the limits of {where}', 'put "*" last'
        elif kind == "group" and name == "*" and not seen:
            yield f'has the group "*" alone in the limits of {where}', "name a group in a limit before it"
        seen.append(name)
