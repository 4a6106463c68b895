"""Flavors and pods against the nodes that the input shows or declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.kueue_common import place_in
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.kueue_feasibility import Feasibility, feasibilities
from trainshed.fleet.kueue_match import taint_text, tolerations_of, untolerated
from trainshed.fleet.kueue_tree import Flavor
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue flavors"


@rule("kueue-flavor-matches-no-node", severity="warning", family=_FAMILY, targets=("kueue",))
def flavor_matches_no_node(fleet: Fleet) -> Iterator[Issue]:
    """No Node of the input has a flavor's node labels.

    Why: Workloads are admitted to the flavor, get its labels as nodeSelector, and their pods find no node.

    Fix: Correct the labels, or label the nodes. Nothing, where an autoscaler makes nodes with these labels.
    """
    capacity = fleet.capacity
    machines = capacity.machines
    if not machines:
        return
    for flavor in fleet.kueue.flavors.values():
        if not flavor.labels or capacity.machines_with(flavor.labels):
            continue
        wrong = next((key for key, value in flavor.labels.items() if not capacity.machines_with({key: value})), "")
        values = capacity.values_of(wrong)
        path: Path = ("spec", "nodeLabels", wrong) if wrong else ("spec", "nodeLabels")
        what = f'{wrong}="{flavor.labels[wrong]}"' if wrong else "all of its nodeLabels"
        has = f" (they have {', '.join(values[:4])})" if values else ""
        yield Issue(
            flavor.document,
            path,
            f"none of the {len(machines)} Nodes in the input has {what}{has}: pods admitted to flavor {flavor.name} "
            "find no node, unless an autoscaler makes one",
            "write a label that the nodes have, or label the nodes",
        )


@rule("kueue-node-taint-untolerated", severity="warning", family=_FAMILY, targets=("kueue",))
def node_taint_untolerated(fleet: Fleet) -> Iterator[Issue]:
    """All nodes of a flavor have a taint that neither the flavor nor the pods tolerate.

    Why: Kueue knows only the taints in the flavor. Where it does not list the nodes' taint, workloads are admitted and
    charged, but no pod can be placed.

    Fix: Write the nodes' taint and a toleration into the ResourceFlavor.
    """
    if not fleet.capacity.machines:
        return
    told: set[tuple[int, str]] = set()
    for answer in feasibilities(fleet):
        if not answer.workload.parts_known:
            continue
        for flavor_name, _ in answer.assigned:
            flavor = fleet.kueue.flavors.get(flavor_name)
            if flavor is None or (id(answer.workload), flavor_name) in told:
                continue
            told.add((id(answer.workload), flavor_name))
            issue = _no_node(fleet, answer, flavor)
            if issue is not None:
                yield issue


def _no_node(fleet: Fleet, answer: Feasibility, flavor: Flavor) -> Issue | None:
    nodes = fleet.capacity.machines_with(flavor.labels)
    for part in answer.parts:
        for pod_set in part.pod_sets:
            tolerations = tolerations_of(pod_set) + flavor.tolerations
            # ExtendedResourceToleration adds tolerations for taints named after a requested resource.
            tolerations += [{"key": name, "operator": "Exists"} for name in pod_set.requests if "/" in name]
            taints = [untolerated(machine.taints, tolerations) for machine in nodes]
            if taints and all(taint is not None for taint in taints) and taints[0] is not None:
                document, path = place_in(answer.workload, pod_set, ("spec", "tolerations"))
                return Issue(
                    document,
                    path,
                    f"is admitted to flavor {flavor.name}, but all its {len(nodes)} Nodes in the input have a taint "
                    f"that neither the pods nor the flavor tolerate ({taint_text(taints[0])}): the pods stay pending",
                    "add nodeTaints and tolerations to the ResourceFlavor",
                    related=((f"flavor {flavor.name}", flavor.document, ("spec",)),),
                )
    return None


@rule("kueue-topology-level-not-on-nodes", severity="error", family="kueue topology", targets=("kueue",))
def topology_level_not_on_nodes(fleet: Fleet) -> Iterator[Issue]:
    """Nodes of a topology flavor lack the label of a level.

    Why: Kueue uses only nodes that carry the labels of all levels. When no node has one of them, everything waits with
    "no topology domains at level".

    Fix: Label the nodes, or correct the level in the Topology.
    """
    for flavor in fleet.kueue.flavors.values():
        levels = fleet.kueue.topologies.get(flavor.topology) if flavor.topology else None
        nodes = fleet.capacity.machines_with(flavor.labels) if levels else []
        for level in levels or []:
            without = [machine for machine in nodes if level not in machine.labels]
            if without and level:
                some = len(without) < len(nodes)
                yield Issue(
                    flavor.document,
                    ("spec", "topologyName"),
                    f"{len(without)} of the {len(nodes)} Nodes of flavor {flavor.name} lack the label {level} of "
                    f"topology {flavor.topology}: {'Kueue leaves them out' if some else 'nothing can be placed'}",
                    "label the nodes, or correct the Topology",
                    "warning" if some else None,
                    ((f"Node {without[0].name}", without[0].document, ("metadata", "labels")),),
                )
