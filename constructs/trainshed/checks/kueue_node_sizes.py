"""Pods against the sizes of the nodes that the input shows or declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.kueue_common import elsewhere, place_in, request_path
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.amounts import Amounts
from trainshed.fleet.kueue_feasibility import Feasibility, feasibilities
from trainshed.fleet.kueue_quota import counted, shown

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


@rule("kueue-pod-exceeds-node", severity="error", family="kueue quota", targets=("kueue",))
def pod_exceeds_node(fleet: Fleet) -> Iterator[Issue]:
    """One pod requests more than any node of its flavor has.

    Why: Quota counts sums, not nodes: the workload is admitted, and its pod never finds a node that is large enough.

    Fix: Ask for what one node has, in more pods.
    """
    if not fleet.capacity.declared:
        return
    shapes: dict[str, list[Amounts] | None] = {}
    for answer in feasibilities(fleet):
        if answer.blocked or answer.uncovered or answer.exceeded:
            continue
        issue = _too_large(fleet, answer, shapes)
        if issue is not None:
            yield issue


def _too_large(fleet: Fleet, answer: Feasibility, shapes: dict[str, list[Amounts] | None]) -> Issue | None:
    for part in answer.parts:
        for pod_set in part.pod_sets:
            for resource, amount in pod_set.requests.items():
                group = answer.queue.covered.get(resource)
                if group is None or resource == "pods" or not pod_set.count:
                    continue
                most = -1
                for name in group.flavors:
                    flavor = fleet.kueue.flavors.get(name)
                    if flavor is None:
                        return None
                    if name not in shapes:
                        shapes[name] = fleet.capacity.node_shapes(flavor.document)
                    offers = [counted(resource, shape[resource]) for shape in shapes[name] or () if resource in shape]
                    if not offers:
                        most = -1
                        break
                    most = max(most, *offers)
                if 0 <= most < counted(resource, amount):
                    path, _ = request_path(pod_set, resource)
                    document, where = place_in(answer.workload, pod_set, path)
                    return Issue(
                        document,
                        where,
                        f"a pod of {pod_set.name} requests {amount} of {resource}, and the largest node of "
                        f"{', '.join(group.flavors[:3])} has {shown(resource, most)}: it is admitted and stays pending",
                        f"request {shown(resource, most)} or less per pod",
                        related=elsewhere(answer.workload, pod_set, path),
                    )
    return None
