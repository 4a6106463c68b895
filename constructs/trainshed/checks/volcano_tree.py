"""The tree of Volcano queues: parents, and what children may have of what their parents have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed, proposal
from trainshed.checks.rule import Issue, rule
from trainshed.checks.volcano_queues import FAMILY
from trainshed.fleet.access import mapping
from trainshed.fleet.amounts import ZERO
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.paths import Path
from trainshed.fleet.volcano_tree import ROOT, QueueNode
from trainshed.spelling import Names

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_DEEPEST: Final = 5
_GUARANTEE: Final[Path] = ("spec", "guarantee", "resource")
_DESERVED: Final[Path] = ("spec", "deserved")
_CAPABILITY: Final[Path] = ("spec", "capability")


def _nodes(fleet: Fleet) -> Iterator[tuple[QueueNode, Document]]:
    for node in fleet.volcano.queues.values():
        if node.document is not None and node.name != ROOT:
            yield node, node.document


@rule("volcano-parent-missing", severity="error", family=FAMILY, targets=("volcano",))
def parent_missing(fleet: Fleet) -> Iterator[Issue]:
    """A Queue names a parent that does not exist.

    Why: The webhook refuses it ("failed to get parent queue"). Where the parent goes later, the capacity plugin's
    hierarchy can't be built and nothing in the cluster is allocated.
    Fix: Name an existing Queue, or add the parent in an earlier sync wave.
    """
    tree = fleet.volcano
    known = Names([ROOT, *tree.queues])
    for node, document in _nodes(fleet):
        if not tree.exists(node.parent) and not fleet.find(document.group, "Queue", None, node.parent):
            severity: Severity = "error" if len(tree.queues) > 1 else "warning"
            message = f'there is no Queue "{node.parent}" to be the parent: the webhook refuses the queue'
            fix = proposal(node.parent, known, f'add Queue "{node.parent}" or name another parent', node.name)
            depends = "" if severity == "error" else ", unless it exists elsewhere"
            yield Issue(document, ("spec", "parent"), message + depends, fix, severity)


@rule("volcano-queue-circle", severity="error", family=FAMILY, targets=("volcano",))
def queue_circle(fleet: Fleet) -> Iterator[Issue]:
    """Queues are each other's parents, or the tree is deeper than five levels.

    Why: No order of creation satisfies the webhook, and a queue in a circle has no share of anything. Below root
    Volcano takes five levels (`--max-queue-depth`).
    Fix: Give one of them the parent `root`.
    """
    tree = fleet.volcano
    for node, document in _nodes(fleet):
        if node.parent == node.name:
            continue  # told by the schema
        circle = tree.circle(node.name)
        depth = len(list(tree.line(node.name)))
        if circle:
            message = f"the queues are each other's parents: {' → '.join([*circle, circle[0]])}"
            yield Issue(document, ("spec", "parent"), message, 'give one of them the parent "root"')
        elif depth > _DEEPEST:
            message = f"lies {depth} levels below root, and Volcano takes {_DEEPEST} (--max-queue-depth)"
            yield Issue(document, ("spec", "parent"), message, "flatten the tree")


@rule("volcano-child-above-parent", severity="error", family=FAMILY, targets=("volcano",))
def child_above_parent(fleet: Fleet) -> Iterator[Issue]:
    """A child queue's `capability` is larger than that of an ancestor.

    Why: The webhook refuses it. A resource that no ancestor caps is free: unset means inherited.
    Fix: Lower the child's capability, or raise the parent's first.
    """
    tree = fleet.volcano
    for node, document in _nodes(fleet):
        for resource in node.capability:
            amount = node.cap(resource)
            above = tree.inherited_cap(node.name, resource) if amount is not None else None
            if amount is None or above is None or amount <= above[1]:
                continue
            ancestor, bound = above
            message = (
                f'capability {resource} is {amount}, more than the {bound} of its ancestor "{ancestor.name}": refused'
            )
            related = (
                ((f"Queue {ancestor.name}", ancestor.document, (*_CAPABILITY, resource)),) if ancestor.document else ()
            )
            yield Issue(document, (*_CAPABILITY, resource), message, f"write {bound} or less", None, related)


@rule("volcano-children-exceed-parent", severity="error", family=FAMILY, targets=("volcano",))
def children_exceed_parent(fleet: Fleet) -> Iterator[Issue]:
    """The guarantees (or deserved amounts) of child queues add up to more than their parent's.

    Why: The webhook refuses it, and releases before 1.15 stop scheduling in the whole cluster. A resource that the
    parent does not name counts as 0 there: what a child is guaranteed or deserves, its parent must have as well.
    Children of root are not summed.
    Fix: Raise the parent's amount to the sum, or lower the children's.
    """
    for node, document in _nodes(fleet):
        children = [child for child in fleet.volcano.children.get(node.name, ()) if child.name != node.name]
        for field, path in (("guarantee", _GUARANTEE), ("deserved", _DESERVED)):
            yield from _sums(node, document, children, field, path)


def _sums(node: QueueNode, document: Document, children: list[QueueNode], field: str, path: Path) -> Iterator[Issue]:
    own = node.guarantee if field == "guarantee" else node.deserved
    lists = {child.name: child.guarantee if field == "guarantee" else child.deserved for child in children}
    for resource in dict.fromkeys(name for amounts in lists.values() for name in amounts):
        parts = {name: amounts[resource] for name, amounts in lists.items() if resource in amounts}
        total, bound = sum(parts.values(), ZERO), own.get(resource)
        if total <= (ZERO if bound is None else bound) and not (bound is None and "/" in resource):
            continue
        sum_ = " + ".join(str(part) for part in parts.values())
        sum_ = f"{sum_} = {total}" if len(parts) > 1 else str(total)
        has = f"which has no {resource} in {field}" if bound is None else f"whose {field} is {bound}"
        message = f'{field} {resource} of {listed(parts)} is {sum_}, more than that of parent "{node.name}", {has}'
        related = tuple(
            (f"{field} of {child.name}", child.document, (*path, resource))
            for child in children
            if child.name in parts and child.document is not None
        )
        place = (*path, resource) if bound is not None else path
        fix = f'give "{node.name}" a {field} of {total} {resource}, or lower the children\'s'
        yield Issue(document, place, message, fix, None, related[:3])


@rule("volcano-root-edited", severity="error", family=FAMILY, targets=("volcano",))
def root_edited(fleet: Fleet) -> Iterator[Issue]:
    """A manifest sets resources of the queue `root`.

    Why: The scheduler creates `root` and derives its values from the cluster and the queues below; the webhook refuses
    any change to them, so an application with this object never becomes Synced.
    Fix: Remove the object from Git.
    """
    node = fleet.volcano.queues.get(ROOT)
    if node is None or node.document is None:
        return
    spec = mapping(node.document.manifest, "spec")
    fields = [field for field in ("capability", "deserved", "guarantee") if spec.get(field)]
    if fields:
        verb = "is" if len(fields) == 1 else "are"
        message = f"{listed(fields)} of the queue root {verb} Volcano's own: a change is refused"
        yield Issue(node.document, ("spec", fields[0]), message, "remove the object from Git, and cap the queues below")
    elif spec.get("parent"):
        message = "the queue root has no parent"
        yield Issue(node.document, ("spec", "parent"), message, "remove the object from Git")
