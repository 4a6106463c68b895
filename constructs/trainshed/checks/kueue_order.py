"""The order of a group's flavors: the first that takes a workload gets it, whatever a later one is made for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.kueue_common import named, place_in
from trainshed.checks.kueue_versions import knows_keys_of_each_flavor
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, dig, mapping, mappings, strings, text
from trainshed.fleet.kueue_feasibility import Choice, Feasibility, could_take, feasibilities
from trainshed.fleet.kueue_match import expression_matches, selector_conflict
from trainshed.fleet.kueue_quota import shown
from trainshed.fleet.kueue_requests import Part
from trainshed.fleet.kueue_tree import ClusterQueueNode, Flavor, ResourceGroup
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import is_device
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "kueue flavors"
_REQUIRED: Final = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


@rule("kueue-selects-later-flavor", severity="warning", family=_FAMILY, targets=("kueue",))
def selects_later_flavor(fleet: Fleet) -> Iterator[Issue]:
    """Pods select the nodes of one flavor, and an earlier one of the group, which says nothing of that label, takes
    them.

    Why: Kueue compares the pods' selection with a flavor only in the labels that this flavor declares (v0.19.2,
    `pkg/scheduler/flavorassigner/flavorassigner.go`). A flavor without the label matches, its quota is charged, and its
    nodeLabels are added to the pods: unless nodes have both, they stay Pending while they hold that quota. It is a note
    where the nodes selected have the earlier flavor's labels too: the pods run, on one flavor's nodes and the other's
    quota.

    Fix: Declare the label on the earlier flavor too, or let the pods select a label that both declare.
    """
    if not knows_keys_of_each_flavor(fleet):
        return
    for answer in feasibilities(fleet):
        for choice in answer.choices if answer.workload.parts_known else ():
            taken = fleet.kueue.flavors.get(choice.flavor)
            if taken is None or _goes_on(answer.queue, choice):
                continue
            for pod_set in choice.part.pod_sets:
                if found := _selected(fleet, choice, pod_set, taken):
                    yield from _told(fleet, answer, pod_set, taken, *found)
                    break


def _selected(fleet: Fleet, choice: Choice, pod_set: PodSet, taken: Flavor) -> tuple[Flavor, str, Path] | None:
    """The later flavor that a pod set selects by a label of which `taken` says nothing; the label, and where."""
    wanted = list(_wanted(pod_set.spec, taken.labels))
    if not wanted:
        return None
    for name in choice.group.flavors[choice.group.flavors.index(choice.flavor) + 1 :]:
        flavor = fleet.kueue.flavors.get(name)
        if flavor is None or selector_conflict(pod_set.spec, flavor.labels):
            continue
        for key, met, path in wanted:
            if key in flavor.labels and expression_matches(met, flavor.labels):
                return flavor, key, path
    return None


def _wanted(spec: Node, declared: dict[str, str]) -> Iterator[tuple[str, Node, Path]]:
    """(key, requirement, path) of labels that a pod's nodes must have, without the declared ones."""
    for key, value in strings(spec, "nodeSelector").items():
        if key not in declared:
            yield key, {"key": key, "operator": "In", "values": [value]}, ("spec", "nodeSelector", key)
    terms = list(mappings(dig(spec, *_REQUIRED[1:]), "nodeSelectorTerms"))
    for index, term in terms if len(terms) == 1 else ():
        for at, expression in mappings(term, "matchExpressions"):
            key = text(expression, "key")
            if key not in declared and text(expression, "operator") in ("In", "Exists"):
                yield key, expression, (*_REQUIRED, "nodeSelectorTerms", index, "matchExpressions", at)


def _told(
    fleet: Fleet, answer: Feasibility, pod_set: PodSet, taken: Flavor, meant: Flavor, key: str, path: Path
) -> Iterator[Issue]:
    document, where = place_in(answer.workload, pod_set, path)
    related = tuple((f"flavor {one.name}", one.document, ("spec", "nodeLabels")) for one in (taken, meant))
    message = (
        f'selects {key}="{meant.labels[key]}" as flavor {meant.name} has it, but flavor {taken.name}, which is listed '
        f"earlier and does not declare that label, takes it: "
    )
    fix = f"declare {key} on flavor {taken.name} too"
    if taken.labels.items() <= meant.labels.items():
        message += f"it holds quota of {taken.name} while it runs on nodes of {meant.name}"
        yield Issue(document, where, message, f"{fix}, or list {meant.name} first", "info", related)
        return
    nodes = fleet.capacity.machines_with(taken.labels)
    if any(_goes_to(pod_set.spec, machine.labels) for machine in nodes):
        return
    added = ", ".join(f'{label}="{value}"' for label, value in sorted(taken.labels.items())[:3])
    has = "which no Node in the input has" if fleet.capacity.machines else "unless nodes have both"
    message += f"the pods get {added} as well and stay Pending, {has}"
    own = next((label for label, value in meant.labels.items() if taken.labels.get(label, value) != value), "")
    if own:
        fix = f'select {own}="{meant.labels[own]}", or {fix}'
    yield Issue(document, where, message, fix, None, related)


def _goes_to(spec: Node, labels: dict[str, str]) -> bool:
    """Whether a node's labels meet a pod's selector and required affinity."""
    if not strings(spec, "nodeSelector").items() <= labels.items():
        return False
    terms = [term for _, term in mappings(dig(spec, *_REQUIRED[1:]), "nodeSelectorTerms")]
    return not terms or any(
        all(expression_matches(expression, labels) for _, expression in mappings(term, "matchExpressions"))
        for term in terms
    )


@rule("kueue-devices-for-none", severity="info", family=_FAMILY, targets=("kueue",))
def devices_for_none(fleet: Fleet) -> Iterator[Issue]:
    """A workload without devices goes to a flavor of device nodes, though a later one of the group has none.

    Why: Kueue takes the first flavor that matches and fits. Work that only wants CPUs then occupies GPU nodes, whose
    CPUs and memory GPU runs need, while the flavor of CPU nodes stays empty.

    Fix: List the flavor without devices first: what asks for devices passes it by, because it has no quota of them.
    """
    told: set[int] = set()
    for answer in feasibilities(fleet):
        if any(_has_devices(part) for part in answer.parts):
            continue
        for choice in answer.choices if answer.workload.parts_known else ():
            if id(choice.group) in told or _goes_on(answer.queue, choice):
                continue
            device = next(
                (
                    name
                    for name in choice.group.resources
                    if answer.queue.potential((choice.flavor, name)) and is_device(name)
                ),
                "",
            )
            later = _without_devices(answer.queue, choice.group, choice.flavor) if device else []
            better = next((name for name in later if could_take(fleet, answer, choice, name)), "")
            if better:
                told.add(id(choice.group))
                yield _occupied(answer, choice, device, better)


def _has_devices(part: Part) -> bool:
    claims = any(pod_set.spec.get("resourceClaims") for pod_set in part.pod_sets)
    return claims or any(amount and is_device(name) for name, amount in part.requests.items())


def _without_devices(queue: ClusterQueueNode, group: ResourceGroup, flavor: str) -> list[str]:
    """The flavors behind this one of whose devices the queue can reach none."""
    devices = [name for name in group.resources if is_device(name)]
    later = group.flavors[group.flavors.index(flavor) + 1 :]
    return [name for name in later if not any(queue.potential((name, device)) for device in devices)]


def _occupied(answer: Feasibility, choice: Choice, device: str, better: str) -> Issue:
    queue = answer.queue
    has = shown(device, queue.potential((choice.flavor, device)))
    message = (
        f"{named(answer.workload.document)} asks for no devices and goes to flavor {choice.flavor} (up to {has} "
        f"{device}), which is listed before flavor {better} without any: it occupies device nodes"
    )
    path = (*choice.group.path, "flavors", choice.group.flavors.index(choice.flavor), "name")
    related = (("the workload", answer.workload.document, ("metadata", "name")),)
    return Issue(queue.doc, path, message, f"list flavor {better} first", None, related)


def _goes_on(queue: ClusterQueueNode, choice: Choice) -> bool:
    """Whether Kueue looks at later flavors although this one takes it: it would borrow, and may not want to."""
    if text(mapping(queue.spec, "flavorFungibility"), "whenCanBorrow") != "TryNextFlavor":
        return False
    requests = choice.part.requests
    return any(requests[name] > queue.subtree_quota((choice.flavor, name)) for name in choice.resources)
