"""Cohorts: cycles, names that nobody else has, borrowing that cannot happen, lenders that do not lend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, text
from trainshed.fleet.finding import Severity
from trainshed.fleet.kueue_quota import QuotaNode
from trainshed.fleet.kueue_tree import ClusterQueueNode, parent_of
from trainshed.spelling import Names, near_miss, short_slip

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue cohorts"


@rule("kueue-cohort-cycle", severity="error", family=_FAMILY, targets=("kueue",))
def cohort_cycle(fleet: Fleet) -> Iterator[Issue]:
    """Cohorts are each other's parents.

    Why: No webhook refuses it and no condition shows it, but Kueue leaves the whole tree out: every ClusterQueue below
    stops to admit.

    Fix: Take `parentName` out of the Cohort that is to be the root.
    """
    tree = fleet.kueue
    stopped: dict[int, list[str]] = {}
    above: dict[int, int] = {}
    for queue in tree.cluster_queues.values():
        if queue.dropped and tree.cycles:
            stopped.setdefault(_cycle_above(queue, above), []).append(queue.name)
    for cycle in tree.cycles:
        documents = [(node, node.document) for node in cycle if node.document is not None]
        if not documents:
            continue
        way = " -> ".join([*(node.name for node in cycle), cycle[0].name])
        names = next((stopped[id(node)] for node in cycle if id(node) in stopped), [])
        effect = f"; nothing is admitted by ClusterQueue {', '.join(names[:5])}" if names else ""
        document = documents[0][1]
        related = tuple((f"Cohort {node.name}", other, parent_of(node)[1]) for node, other in documents[1:6])
        yield Issue(
            document,
            parent_of(documents[0][0])[1],
            f"parentName forms a cycle: {way}{effect}",
            "take parentName out of the Cohort that is to be the root",
            related=related,
        )


def _cycle_above(queue: ClusterQueueNode, above: dict[int, int]) -> int:
    """The identity of one node of the cycle that a queue's parents run into; `above` holds the answers so far."""
    way: dict[int, None] = {}
    node: QuotaNode | None = queue
    while node is not None and id(node) not in way and id(node) not in above:
        way[id(node)] = None
        node = node.parent
    found = above.get(id(node), id(node))
    above.update(dict.fromkeys(way, found))
    return found


@rule("kueue-cohort-typo", severity="error", family=_FAMILY, targets=("kueue",))
def cohort_typo(fleet: Fleet) -> Iterator[Issue]:
    """A cohort's name is misspelt.

    Why: A cohort needs no object, so a wrong name makes a cohort of its own: the ClusterQueue is alone in it, and
    neither borrows nor lends. A Cohort object with a wrong name has no members, and its quota is nobody's. Nothing
    reports either.

    Fix: Write the name that the others write.
    """
    cohorts = fleet.kueue.cohorts
    firm = Names(name for name, node in cohorts.items() if node.document is not None or len(node.children) > 1)
    for name, node in cohorts.items():
        if node.document is not None or len(node.children) != 1:
            continue
        sure = near_miss(name, firm)
        meant = sure or short_slip(name, firm)
        child = node.children[0]
        if not meant or child.document is None or _self_named(child, meant):
            continue
        other = cohorts[meant]
        label, place = f"Cohort {meant}", other.document
        if place is None:
            label, place = f"{other.children[0].kind} {other.children[0].name}", other.children[0].document
        yield Issue(
            child.document,
            parent_of(child)[1],
            f'cohort "{name}" has no other member and no Cohort object: {child.kind} {child.name} neither borrows nor '
            "lends",
            f'did you mean "{meant}"?',
            None if sure else "warning",
            related=((label, place, ("metadata", "name")),) if place is not None else (),
        )
    yield from _without_members(fleet)


def _without_members(fleet: Fleet) -> Iterator[Issue]:
    """Cohort objects that nobody names, where several name one that has no object and is called nearly so."""
    cohorts = fleet.kueue.cohorts
    implied = Names(name for name, node in cohorts.items() if node.document is None and len(node.children) > 1)
    for name, node in cohorts.items() if implied else ():
        if node.document is None or node.children or node.dropped:
            continue
        sure = near_miss(name, implied)
        meant = sure or short_slip(name, implied)
        member = cohorts[meant].children[0] if meant else None
        if member is None or member.document is None or member.document is node.document:
            continue
        message = (
            f'Cohort "{name}" has no members, and {len(cohorts[meant].children)} name "{meant}", which has no object'
        )
        related = ((f"{member.kind} {member.name}", member.document, parent_of(member)[1]),)
        severity: Severity | None = None if sure else "warning"
        yield Issue(node.document, ("metadata", "name"), message, f'did you mean "{meant}"?', severity, related)


def _self_named(child: QuotaNode, meant: str) -> bool:
    """Whether a Cohort would become its own parent by the correction."""
    return child.kind == "Cohort" and child.name == meant


@rule("kueue-no-cohort-to-borrow-from", severity="warning", family=_FAMILY, targets=("kueue",))
def borrowing_without_cohort(fleet: Fleet) -> Iterator[Issue]:
    """A ClusterQueue has policies for its cohort, but is in none.

    Why: Borrowing and reclaiming happen among the members of a cohort. Without `cohortName` the policies have no
    effect, and the ClusterQueue is limited to its own nominalQuota.

    Fix: Write `cohortName`, or take the policies out.
    """
    for queue in fleet.kueue.cluster_queues.values():
        if queue.parent is not None or dig(queue.spec, "cohortName") or dig(queue.spec, "cohort"):
            continue
        for policy in ("reclaimWithinCohort", "borrowWithinCohort"):
            if queue.policy(policy) != "Never":
                yield Issue(
                    queue.doc,
                    ("spec", "preemption", policy),
                    f"{policy} is {queue.policy(policy)}, but the ClusterQueue is in no cohort: it has no effect, "
                    "nothing is borrowed or lent",
                    "write cohortName, or leave the policy out",
                )
                break


@rule("kueue-strict-fifo-lender", severity="warning", family=_FAMILY, targets=("kueue",))
def strict_fifo_lender(fleet: Fleet) -> Iterator[Issue]:
    """A ClusterQueue with StrictFIFO holds back quota that others of its cohort live on.

    Why: With StrictFIFO the first pending workload blocks its queue, and the quota that is free there stays reserved
    for it as long as it waits. Members of the cohort without quota of their own can't borrow it meanwhile.

    Fix: Write `queueingStrategy: BestEffortFIFO` and order by priority.
    """
    borrowers: dict[int, list[ClusterQueueNode]] = {}
    for queue in fleet.kueue.cluster_queues.values():
        if queue.parent is not None and not queue.dropped and any(not q.nominal for q in queue.quotas.values()):
            borrowers.setdefault(id(queue.root), []).append(queue)
    for queue in fleet.kueue.cluster_queues.values():
        if text(queue.spec, "queueingStrategy") != "StrictFIFO" or queue.parent is None or queue.dropped:
            continue
        lends = {key for key, quota in queue.quotas.items() if quota.nominal and quota.lending_limit != 0}
        for other in borrowers.get(id(queue.root), ()):
            needs = [key for key, quota in other.quotas.items() if not quota.nominal and quota.borrowing_limit != 0]
            if other is not queue and any(key in lends for key in needs):
                yield Issue(
                    queue.doc,
                    ("spec", "queueingStrategy"),
                    f"StrictFIFO keeps the quota of {queue.name} reserved while its first workload waits, and "
                    f"ClusterQueue {other.name} (nominalQuota 0, same cohort) has to borrow it",
                    'write queueingStrategy: "BestEffortFIFO"',
                    related=((f"ClusterQueue {other.name}", other.doc, ("spec", "resourceGroups")),),
                )
                break
