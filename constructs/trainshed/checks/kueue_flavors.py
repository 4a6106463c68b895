"""Flavors against pods and nodes: taints, node selectors, labels that clash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.kueue_common import elsewhere, place_in
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_feasibility import Blocked, Feasibility, Reason, feasibilities, refusal_lines
from trainshed.fleet.kueue_tree import ClusterQueueNode, Flavor, ResourceGroup
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue flavors"


@rule("kueue-untolerated-taint", severity="error", family=_FAMILY, targets=("kueue",))
def untolerated_taint(fleet: Fleet) -> Iterator[Issue]:
    """No flavor takes the pods, because of taints that nothing tolerates.

    Why: Kueue assigns a flavor only when the pods, or the flavor's own `tolerations`, tolerate all its NoSchedule and
    NoExecute `nodeTaints`. `nodeTaints` alone gives the pods no toleration.

    Fix: Add the toleration to the flavor, from where Kueue hands it to the pods, or to the pod template.
    """
    for answer, blocked in blocked_by(fleet, "taint"):
        document, path, related = _where(fleet, answer, blocked, ("spec", "tolerations"), ("spec", "nodeTaints"))
        message = f"is never admitted by ClusterQueue {answer.queue.name}: {refusal_lines(blocked)}"
        fix = "add the toleration to the ResourceFlavor (spec.tolerations) or to the pod template"
        yield Issue(document, path, message, fix, related=related)


@rule("kueue-no-matching-flavor", severity="error", family=_FAMILY, targets=("kueue",))
def no_matching_flavor(fleet: Fleet) -> Iterator[Issue]:
    """The pods' node selector or required node affinity fits no flavor.

    Why: A flavor whose nodeLabels have another value for a label that the pods select on is left out. When all are,
    the workload waits for ever.

    Fix: Select the value of a flavor, or leave the selection of nodes to Kueue: it adds the flavor's nodeLabels.
    """
    for answer, blocked in blocked_by(fleet, "selector"):
        field: Path = (
            ("spec", "nodeSelector") if blocked.part.pod_sets[0].spec.get("nodeSelector") else ("spec", "affinity")
        )
        document, path, related = _where(fleet, answer, blocked, field, ("spec", "nodeLabels"))
        message = f"is never admitted by ClusterQueue {answer.queue.name}: {refusal_lines(blocked)}"
        yield Issue(
            document, path, message, "select what a flavor has, or leave it out: Kueue adds it", related=related
        )


def blocked_by(fleet: Fleet, reason: Reason) -> Iterator[tuple[Feasibility, Blocked]]:
    """The pod sets that no flavor takes, for this reason before others; quota comes before all (its rule lists all)."""
    for answer in feasibilities(fleet):
        for blocked in answer.blocked if not answer.queue.dropped else ():
            reasons = [refusal.reason for refusal in blocked.refusals]
            if reasons and "quota" not in reasons and reasons[0] == reason:
                yield answer, blocked


def _where(
    fleet: Fleet, answer: Feasibility, blocked: Blocked, field: Path, flavor_field: Path
) -> tuple[Document, Path, tuple[tuple[str, Document, Path], ...]]:
    pod_set = blocked.part.pod_sets[0]
    document, path = place_in(answer.workload, pod_set, field)
    flavors = [fleet.kueue.flavors[name] for name in blocked.group.flavors if name in fleet.kueue.flavors]
    related = tuple((f"flavor {flavor.name}", flavor.document, flavor_field) for flavor in flavors[:4])
    return document, path, (*related, *elsewhere(answer.workload, pod_set, field))


@rule("kueue-groups-share-node-label", severity="error", family=_FAMILY, targets=("kueue",))
def groups_share_node_label(fleet: Fleet) -> Iterator[Issue]:
    """Flavors of two resource groups want different values of one node label.

    Why: Pods that request resources of both groups get the node labels of both flavors in one nodeSelector; the last
    writer wins in random order, so the pods run on either kind of node or nowhere.

    Fix: Put the resources that one node has (GPUs with their cpu and memory) in one resource group.
    """
    flavors = fleet.kueue.flavors
    for queue in fleet.kueue.cluster_queues.values():
        for index, group in enumerate(queue.groups):
            for earlier in queue.groups[:index]:
                issue = _clash(queue, earlier, group, flavors)
                if issue is not None:
                    yield issue


def _clash(
    queue: ClusterQueueNode, first: ResourceGroup, second: ResourceGroup, flavors: dict[str, Flavor]
) -> Issue | None:
    pairs = [
        (flavors[one], flavors[other])
        for one in first.flavors[:64]
        for other in second.flavors[:64]
        if one in flavors and other in flavors
    ]
    for one, other in pairs:
        keys = [key for key, value in one.labels.items() if other.labels.get(key, value) != value]
        if not keys:
            continue
        key = keys[0]
        always = all(any(a.labels[k] != b.labels.get(k, a.labels[k]) for k in a.labels) for a, b in pairs)
        return Issue(
            queue.doc,
            second.path,
            f"flavor {one.name} ({', '.join(first.resources)}) and flavor {other.name} ({', '.join(second.resources)}) "
            f'set node label {key} to "{one.labels[key]}" and "{other.labels[key]}": pods that request resources of '
            "both groups get both nodeLabels and can satisfy only one",
            "put the resources of one kind of node in one resource group",
            None if always else "warning",
            (
                (f"flavor {one.name}", one.document, ("spec", "nodeLabels", key)),
                (f"flavor {other.name}", other.document, ("spec", "nodeLabels", key)),
            ),
        )
    return None
