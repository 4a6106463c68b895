"""Quota against hardware: the ledger of each flavor, quota that is counted twice, units that do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.kueue_common import named
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text
from trainshed.fleet.amounts import Amounts
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_quota import FlavorResource, Quota, QuotaNode, counted, shown
from trainshed.fleet.kueue_tree import KUEUE, PROVISIONING, Flavor

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue quota"
_BYTES: Final = ("memory", "ephemeral-storage")
#: Less memory than this is no quota anybody means; it is a forgotten suffix.
_LEAST_BYTES: Final = 1 << 20
_OTHER_SCALE: Final = 100_000


def _owners(fleet: Fleet) -> Iterator[tuple[QuotaNode, Document, FlavorResource, Quota]]:
    tree = fleet.kueue
    for node in (*tree.cohorts.values(), *tree.cluster_queues.values()):
        if node.document is not None:
            for key, quota in node.quotas.items():
                yield node, node.document, key, quota


@rule("kueue-quota-exceeds-capacity", severity="warning", family=_FAMILY, targets=("kueue",))
def quota_exceeds_capacity(fleet: Fleet) -> Iterator[Issue]:
    """The nominal quotas of a flavor add up to more than its nodes have.

    Why: Kueue checks no quota against nodes. Beyond the hardware, workloads are admitted and their pods stay pending,
    until `waitForPodsReady` evicts them. The quota of Cohorts is added to that of their members.

    Fix: Lower quotas until they fit, or correct the declared capacity (annotation `trainshed.dev/capacity` of the
    ResourceFlavor, or the Nodes in the input).
    """
    if not fleet.capacity.declared:
        return
    provisioned = _provisioned(fleet)
    ledger: dict[FlavorResource, list[tuple[QuotaNode, Document, Quota]]] = {}
    for node, document, key, quota in _owners(fleet):
        if quota.nominal:
            ledger.setdefault(key, []).append((node, document, quota))
    offers: dict[str, Amounts | None] = {}
    for (flavor_name, resource), entries in ledger.items():
        flavor = fleet.kueue.flavors.get(flavor_name)
        if flavor is None or flavor_name in provisioned:
            continue
        if flavor_name not in offers:
            offers[flavor_name] = fleet.capacity.of_flavor(flavor.document)
        offer = (offers[flavor_name] or {}).get(resource)
        if offer is None:
            continue
        total, has = sum(quota.nominal for _, _, quota in entries), counted(resource, offer)
        if total > has:
            yield _overbooked(flavor, resource, entries, total, has)


def _provisioned(fleet: Fleet) -> set[str]:
    """Flavors of ClusterQueues whose nodes are made on demand."""
    checks = {
        document.name
        for document in fleet.of((KUEUE, "AdmissionCheck"))
        if text(document.manifest, "spec", "controllerName") == PROVISIONING
    }
    return {
        flavor
        for queue in fleet.kueue.cluster_queues.values()
        if any(check.name in checks for check in queue.checks)
        for group in queue.groups
        for flavor in group.flavors
    }


def _overbooked(
    flavor: Flavor, resource: str, entries: list[tuple[QuotaNode, Document, Quota]], total: int, has: int
) -> Issue:
    largest = sorted(entries, key=lambda entry: -entry[2].nominal)
    sums = " + ".join(f"{shown(resource, quota.nominal)} of {node.kind} {node.name}" for node, _, quota in largest[:4])
    sums += f" + {len(entries) - 4} more" if len(entries) > 4 else ""
    _, document, quota = largest[0]
    return Issue(
        document,
        (*quota.path, "nominalQuota"),
        f"the quotas of {resource} in flavor {flavor.name} add up to {shown(resource, total)} ({sums}), and its nodes "
        f"have {shown(resource, has)}: what is admitted beyond that finds no node",
        f"lower the nominalQuotas by {shown(resource, total - has)} together, or correct the capacity",
        related=(
            *((f"{node.kind} {node.name}", other, (*q.path, "nominalQuota")) for node, other, q in largest[1:4]),
            (f"flavor {flavor.name}", flavor.document, ("metadata",)),
        ),
    )


@rule("kueue-cohort-quota-repeated", severity="warning", family="kueue cohorts", targets=("kueue",))
def cohort_quota_repeated(fleet: Fleet) -> Iterator[Issue]:
    """A Cohort's own quota is exactly the sum of its members'.

    Why: The quota of a Cohort is added to that of its members; it is no total and no limit. Written as the sum, the
    tree has twice what was meant.

    Fix: Take the quota out of the Cohort, or set the members' to 0 where the Cohort is to own it.
    """
    for cohort in fleet.kueue.cohorts.values():
        own = {key: quota for key, quota in cohort.quotas.items() if quota.nominal}
        if cohort.document is None or not own or cohort.dropped or len(cohort.children) < 2:
            continue
        below = {key: cohort.subtree_quota(key) - quota.nominal for key, quota in own.items()}
        whole = {key: sum(child.subtree_quota(key) for child in cohort.children) for key in own}
        if not all(quota.nominal in (below[key], whole[key]) for key, quota in own.items()):
            continue
        # With devices in it the finding speaks of those: that is the number people think in.
        key = next((name for name in own if "/" in name[1]), next(iter(own)))
        flavor, resource = key
        members = [child for child in cohort.children if child.subtree_quota(key)]
        if len(members) < 2:
            continue
        sums = " + ".join(f"{shown(resource, child.subtree_quota(key))} of {child.name}" for child in members[:6])
        twice = shown(resource, own[key].nominal + whole[key])
        related = [
            (named(child.document), child.document, ("spec", "resourceGroups"))
            for child in members[:4]
            if child.document is not None
        ]
        yield Issue(
            cohort.document,
            (*own[key].path, "nominalQuota"),
            f"the quota of {resource} in flavor {flavor}, {shown(resource, own[key].nominal)}, is the sum of the "
            f"members' ({sums}) and is added to it: the tree has {twice}",
            "take the quota out of the Cohort, or set the members' nominalQuota to 0",
            related=tuple(related),
        )


@rule("kueue-quota-unit", severity="warning", family=_FAMILY, targets=("kueue",))
def quota_unit(fleet: Fleet) -> Iterator[Issue]:
    """A quota is written in another unit than is meant, or than others of its flavor.

    Why: A quantity without suffix counts bytes, cores or devices: `memory: 64` is 64 bytes. Quotas of one resource in
    different scales let one member of a cohort borrow without bound and leave another with nothing.

    Fix: Write the suffix (`64Gi`).
    """
    smallest: dict[FlavorResource, tuple[int, Document, Quota]] = {}
    largest: dict[FlavorResource, tuple[int, Document, Quota]] = {}
    for _, document, key, quota in _owners(fleet):
        amount, resource = quota.nominal, key[1]
        if amount <= 0:
            continue
        if resource in _BYTES or resource.startswith("hugepages-"):
            if amount < _LEAST_BYTES:
                message = f"{resource} has a nominalQuota of {shown(resource, amount)} bytes: a suffix is missing"
                yield Issue(document, (*quota.path, "nominalQuota"), message, 'write a suffix such as "Gi"')
            continue
        if key not in smallest or amount < smallest[key][0]:
            smallest[key] = (amount, document, quota)
        if key not in largest or amount > largest[key][0]:
            largest[key] = (amount, document, quota)
    for key, (least, small, small_quota) in smallest.items():
        most, large, large_quota = largest[key]
        if most >= least * _OTHER_SCALE:
            flavor, resource = key
            yield Issue(
                small,
                (*small_quota.path, "nominalQuota"),
                f"{resource} of flavor {flavor} has a nominalQuota of {shown(resource, least)} here and "
                f"{shown(resource, most)} in {named(large)}: the two are in different units",
                "write both in the same unit",
                related=((named(large), large, (*large_quota.path, "nominalQuota")),),
            )
