"""Volcano's network topology: HyperNodes as a tree, and the tiers that jobs ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed, proposal
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import Node, dig, mapping, mappings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "volcano topology"
_HYPERNODE: Final = ("topology.volcano.sh", "HyperNode")
_SELECTORS: Final = ("exactMatch", "regexMatch", "labelMatch")


def _topologies(fleet: Fleet) -> Iterator[tuple[Document, Path, Node, Node]]:
    """(document, path, networkTopology, the one it lies in) of jobs, partitions, pod groups and subgroups."""
    for job in fleet.volcano_jobs:
        outer = mapping(job.spec, "networkTopology")
        if outer or "networkTopology" in job.spec:
            yield job.document, (*job.path, "networkTopology"), outer, {}
        for task in job.tasks:
            inner = dig(task.node, "partitionPolicy", "networkTopology")
            if isinstance(inner, dict):
                yield job.document, (*task.path, "partitionPolicy", "networkTopology"), inner, outer
    for group in fleet.of(("scheduling.volcano.sh", "PodGroup")):
        outer = mapping(group.manifest, "spec", "networkTopology")
        if outer:
            yield group, ("spec", "networkTopology"), outer, {}
        for index, item in mappings(group.manifest, "spec", "subGroupPolicy"):
            if isinstance(item.get("networkTopology"), dict):
                yield group, ("spec", "subGroupPolicy", index, "networkTopology"), item["networkTopology"], outer


@rule("volcano-topology-tier", severity="warning", family=_FAMILY, targets=("volcano",))
def topology_tier(fleet: Fleet) -> Iterator[Issue]:
    """A job asks for a network topology that is not enforced, or that no HyperNode has.

    Why: Mode hard (the default) without a tier is not enforced, nor is one whose tier name no HyperNode has: a line in
    the log says so. A partition with a higher tier than its job gets no closer than the job.
    Fix: Write highestTierAllowed, or a highestTierName that HyperNodes have.
    """
    nodes = fleet.of(_HYPERNODE)
    names = sorted({name for node in nodes if (name := text(node.manifest, "spec", "tierName"))})
    tiers = [tier for node in nodes if (tier := whole(node.manifest, "spec", "tier")) is not None]
    for document, path, topology, outer in _topologies(fleet):
        tier, name = whole(topology, "highestTierAllowed"), text(topology, "highestTierName")
        hard = text(topology, "mode") in ("", "hard")
        if hard and tier is None and not name:
            message = "networkTopology is hard without a highest tier, and then not enforced at all"
            yield Issue(document, path, message, "write highestTierAllowed, such as 1")
        elif name and nodes and name not in names:
            there_are = f" (there are {listed(names)})" if names else ""
            message = f'no HyperNode has the tierName "{name}"{there_are}: not enforced'
            yield Issue(document, (*path, "highestTierName"), message, proposal(name, names, "write an existing tier"))
        elif tier is not None and tiers and tier > max(tiers):
            message = f"highestTierAllowed is {tier}, and the highest tier of a HyperNode is {max(tiers)}"
            yield Issue(document, (*path, "highestTierAllowed"), message, f"write {max(tiers)} or less")
        elif hard and tier is not None and tiers and tier < min(tiers):
            message = f"highestTierAllowed is {tier}, and the lowest tier of a HyperNode is {min(tiers)}: no place fits"
            yield Issue(document, (*path, "highestTierAllowed"), message, f"write {min(tiers)} or more")
        above = whole(outer, "highestTierAllowed")
        if tier is not None and above is not None and tier > above and text(outer, "mode") in ("", "hard"):
            message = (
                f"highestTierAllowed of the part is {tier}, above the {above} of the whole, which already binds it"
            )
            yield Issue(document, (*path, "highestTierAllowed"), message, f"write {above} or less")


@rule("volcano-hypernode-tree", severity="error", family=_FAMILY, targets=("volcano",))
def hypernode_tree(fleet: Fleet) -> Iterator[Issue]:
    """HyperNodes do not form a tree.

    Why: A HyperNode with two parents, a circle, or a child whose tier is not below its parent's makes the whole tree
    "not ready", and every job with networkTopology is skipped.
    Fix: Give each HyperNode one parent of a higher tier, and name HyperNode members by exactMatch.
    """
    nodes = {node.name: node for node in fleet.of(_HYPERNODE)}
    parents: dict[str, tuple[Document, Path]] = {}
    for node in nodes.values():
        if not mappings(node.manifest, "spec", "members"):
            yield Issue(node, ("spec", "members"), "the HyperNode has no member, and is refused", "add its nodes")
        for index, member in mappings(node.manifest, "spec", "members"):
            path: Path = ("spec", "members", index, "selector")
            yield from _selector(node, path, member)
            name = text(member, "selector", "exactMatch", "name")
            if text(member, "type") == "HyperNode" and name:
                yield from _member(node, (*path, "exactMatch", "name"), name, nodes, parents)
    for name in nodes:
        circle = _circle(name, parents)
        if circle:
            message = f"the HyperNodes contain each other, a cycle: {' → '.join([*circle, circle[0]])}"
            yield Issue(nodes[name], ("spec", "members"), message, "take one of them out of the other")


def _selector(node: Document, path: Path, member: Node) -> Iterator[Issue]:
    selector = mapping(member, "selector")
    given = [field for field in _SELECTORS if field in selector]
    if len(given) != 1:
        has = f"has {' and '.join(given)}" if given else "has no selector"
        yield Issue(node, path, f"the member {has}", f"write exactly one of {listed(_SELECTORS)}")
    if "labelMatch" in given and text(member, "type") == "HyperNode":
        message = "labelMatch selects Nodes only, but the member is a HyperNode"
        yield Issue(node, (*path, "labelMatch"), message, "name HyperNodes by exactMatch")
    pattern = text(selector, "regexMatch", "pattern")
    if pattern and len(pattern) < 500 and "(?" not in pattern and "\\" not in pattern:
        try:
            re.compile(pattern)
        except re.error as error:
            yield Issue(node, (*path, "regexMatch", "pattern"), f"the pattern can't be read: {error}", "correct it")


def _member(
    node: Document, path: Path, name: str, nodes: dict[str, Document], parents: dict[str, tuple[Document, Path]]
) -> Iterator[Issue]:
    child = nodes.get(name)
    if child is None:
        others = [other for other in nodes if other != node.name]
        if near_miss(name, others):
            yield Issue(node, path, f'there is no HyperNode "{name}"', nearest(name, others))
        elif others:
            message = f'there is no HyperNode "{name}" among the {len(nodes)} of the input, unless it is discovered'
            yield Issue(node, path, message, f'add HyperNode "{name}", or drop the member', "warning")
        return
    if name in parents and parents[name][0] is not node:
        first = parents[name]
        message = f'HyperNode "{name}" is a member of "{first[0].name}" already, and may have one parent only'
        yield Issue(node, path, message, "list it once", None, (("its other parent", first[0], first[1]),))
    parents.setdefault(name, (node, path))
    tier, below = whole(node.manifest, "spec", "tier"), whole(child.manifest, "spec", "tier")
    if tier is not None and below is not None and below >= tier:
        message = f'member "{name}" has tier {below}, not below tier {tier} of "{node.name}"'
        yield Issue(
            node, path, message, f"write tier {below + 1} or more here", None, (("member", child, ("spec", "tier")),)
        )


def _circle(name: str, parents: dict[str, tuple[Document, Path]]) -> list[str]:
    chain = [name]
    while chain[-1] in parents and len(chain) < 64:
        above = parents[chain[-1]][0].name
        if above == name:
            return chain
        if above in chain:
            return []
        chain.append(above)
    return []
