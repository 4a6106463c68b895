"""Volcano: what a queue can ever get, against what its jobs need at once and what the nodes have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.checks.gang_common import VOLCANO, VOLCANO_QUEUE, listed
from trainshed.checks.rule import Issue, rule
from trainshed.checks.volcano_queues import FAMILY
from trainshed.fleet.access import text
from trainshed.fleet.amounts import ZERO, Amounts, amounts
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.volcano_jobs import priorities_of
from trainshed.fleet.volcano_tree import DEFAULT, GROUP, ROOT, cluster_total
from trainshed.fleet.workload import PodSet, Workload
from trainshed.quantity import Quantity
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_MIN_MEMBER: Final = "scheduling.volcano.sh/group-min-member"
_NATIVE: Final = ("cpu", "memory", "ephemeral-storage", "pods")
_FIELDS: Final[dict[str, Path]] = {
    "capability": ("spec", "capability"),
    "deserved": ("spec", "deserved"),
    "guarantee": ("spec", "guarantee", "resource"),
}


class Demand(NamedTuple):
    """What a gang needs at once: `what` says of which pods, `path` where the queue or the size is written."""

    document: Document
    path: Path
    queue: str
    needs: Amounts
    what: str


def demands(fleet: Fleet) -> Iterator[Demand]:
    """The gangs of Volcano whose size and requests are known."""
    priorities = priorities_of(fleet)
    for job in fleet.volcano_jobs:
        if job.scheduler == VOLCANO:
            pods = min(job.minimum, job.replicas)
            what = f"the gang of {pods} pod{'s' if pods != 1 else ''}"
            yield Demand(job.document, (*job.path, "queue"), job.queue, job.min_resources(priorities), what)
    for group in fleet.of((GROUP, "PodGroup")):
        needs = amounts(group.manifest.get("spec", {}).get("minResources")) if _has_spec(group) else {}
        queue = text(group.manifest, "spec", "queue") or DEFAULT
        yield Demand(group, ("spec", "minResources"), queue, needs, "minResources")
    for workload, pod_set in fleet.gang_marks.grouped:
        if workload.document.group in ("batch.volcano.sh", "flow.volcano.sh"):
            continue
        queue = pod_set.annotations.get(VOLCANO_QUEUE, "")
        if queue and pod_set.scheduler == VOLCANO and pod_set.count:
            yield _native(workload, pod_set, queue)


def _native(workload: Workload, pod_set: PodSet, queue: str) -> Demand:
    """One pod, or as many as the owner's annotation `group-min-member` asks for."""
    document, path = pod_set.at(("metadata", "annotations", VOLCANO_QUEUE))
    written = workload.annotations.get(_MIN_MEMBER, "")
    pods = int(written) if written.isascii() and written.isdigit() and len(written) < 8 else 1
    needs = {name: amount * pods for name, amount in pod_set.requests.items()} if pods > 1 else pod_set.requests
    return Demand(document, path, queue, needs, f"the gang of {pods} pods" if pods > 1 else "one pod")


def _has_spec(document: Document) -> bool:
    return isinstance(document.manifest.get("spec"), dict)


def layered(fleet: Fleet) -> bool:
    """Whether queues follow their parents: as the scheduler's configuration says, otherwise as the queues look."""
    configs = fleet.volcano_configs
    if configs:
        return any(config.hierarchical for config in configs)
    return fleet.volcano.layered


@rule("volcano-never-enqueued", severity="error", family=FAMILY, targets=("volcano",))
def never_enqueued(fleet: Fleet) -> Iterator[Issue]:
    """A gang needs more than its queue can ever have, everybody else idle.

    Why: A PodGroup leaves Pending only when its minResources fit into what is left of the queue's real capability: its
    own capability, those of its ancestors, less what is guaranteed to others. A Job that never does has no pods at all.
    A gang larger than all nodes together may be let in, and then blocks the queue without ever starting.
    Fix: Make the gang smaller, or raise the capability of the queue and its ancestors.
    """
    tree, total, follow = fleet.volcano, cluster_total(fleet), layered(fleet)
    if not tree and not total:
        return
    for demand in demands(fleet):
        over: list[str] = []
        for resource, amount in demand.needs.items():
            bound = tree.real_capability(demand.queue, resource, total.get(resource), layered=follow)
            if bound is not None and amount > bound:
                where = f'queue "{demand.queue}"{_why(fleet, demand, resource, bound)}'
                over.append(f"{amount} {resource} of at most {bound} in {where}")
            elif resource in total and amount > total[resource]:
                over.append(f"{amount} {resource} of {total[resource]} on all nodes")
        if over:
            message = f"{demand.what} needs {' and '.join(over[:3])}: it never starts"
            node = tree.queues.get(demand.queue)
            related = (("its queue", node.document, ("spec", "capability")),) if node and node.document else ()
            fix = "make the gang smaller, or raise the capability of the queue and its ancestors"
            yield Issue(demand.document, demand.path, message, fix, None, related)


def _why(fleet: Fleet, demand: Demand, resource: str, bound: Quantity) -> str:
    for node in fleet.volcano.line(demand.queue):
        if node.cap(resource) == bound:
            return "" if node.name == demand.queue else f' (capability of "{node.name}")'
    return " (less what is guaranteed to others)"


@rule("volcano-guarantees-exceed-nodes", severity="warning", family=FAMILY, targets=("volcano",))
def guarantees_exceed_nodes(fleet: Fleet) -> Iterator[Issue]:
    """Queues are promised more than the declared nodes have.

    Why: Guarantees of all queues, or what the leaves deserve, can't all be honoured: somebody always gets less.
    Fix: Lower them until the sum is what the nodes have.
    """
    tree, total = fleet.volcano, cluster_total(fleet)
    leaves = [node for node in tree.queues.values() if tree.is_leaf(node.name) and node.document]
    for field in ("guarantee", "deserved"):
        for resource, amount in total.items():
            parts = {
                node.name: _promised(node.guarantee if field == "guarantee" else node.deserved, resource)
                for node in leaves
            }
            parts = {name: part for name, part in parts.items() if part > ZERO}
            promised = sum(parts.values(), ZERO)
            if parts and promised > amount:
                largest = max(parts, key=lambda name: (parts[name], name))
                document = tree.queues[largest].document
                if document is None:
                    continue
                sum_ = " + ".join(str(part) for part in parts.values())
                message = (
                    f"{field} {resource} of the leaf queues {listed(parts)} is {sum_} = {promised}, "
                    f"and all nodes have {amount}"
                )
                yield Issue(document, (*_FIELDS[field], resource), message, f"lower them to {amount} together")


def _promised(given: Amounts, resource: str) -> Quantity:
    return given.get(resource, ZERO)


@rule("volcano-unknown-resource", severity="error", family=FAMILY, targets=("volcano",))
def unknown_resource(fleet: Fleet) -> Iterator[Issue]:
    """A Queue limits or promises a resource by a name that Volcano drops, or that is misspelt.

    Why: Volcano reads cpu, memory, pods, ephemeral-storage, hugepages-* and names with a domain. Any other, such as
    `gpu`, is accepted and dropped: no cap, no share. A misspelt name with a domain caps what nobody asks for.
    Fix: Write the full resource name, such as `nvidia.com/gpu`.
    """
    asked = {name for demand in demands(fleet) for name in demand.needs} | set(cluster_total(fleet))
    known = sorted(asked | set(_NATIVE))
    for node in fleet.volcano.queues.values():
        if node.document is None:
            continue
        for field, path in _FIELDS.items():
            listed_amounts = {"capability": node.capability, "deserved": node.deserved, "guarantee": node.guarantee}
            for resource in listed_amounts[field]:
                if resource in _NATIVE or resource.startswith("hugepages-") or resource in asked:
                    continue
                if "/" in resource:
                    if near := near_miss(resource, known):
                        message = f'{field} names "{resource}", but the pods and nodes have "{near}"'
                        yield Issue(node.document, (*path, resource), message, f'write "{near}"')
                elif not resource.startswith(("count", "requests.", "limits.")):
                    full = next((name for name in known if name.endswith(f"/{resource}")), "")
                    near = full or near_miss(resource, _NATIVE) or "nvidia.com/gpu"
                    message = (
                        f'{field} names "{resource}", which is no resource to Volcano: it is dropped without a word'
                    )
                    yield Issue(node.document, (*path, resource), message, f'write the full name, such as "{near}"')


@rule("volcano-zero-is-no-cap", severity="error", family=FAMILY, targets=("volcano",))
def zero_is_no_cap(fleet: Fleet) -> Iterator[Issue]:
    """A Queue's `capability` is 0 for cpu or memory.

    Why: Volcano takes 0 cpu or 0 memory for "no cap": the queue may use everything.
    Fix: Leave the resource out if that is meant; to keep work out, close the queue or write a small amount.
    """
    for node in fleet.volcano.queues.values():
        for resource in ("cpu", "memory"):
            if node.document is not None and node.name != ROOT and node.capability.get(resource) == ZERO:
                message = f"capability {resource} is 0, which Volcano takes for no cap at all"
                fix = f"leave {resource} out, or write the amount that is meant"
                yield Issue(node.document, ("spec", "capability", resource), message, fix)
