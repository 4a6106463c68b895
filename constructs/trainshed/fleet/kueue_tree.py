"""Kueue's objects of a fleet as one tree: LocalQueues, ClusterQueues, Cohorts, flavors, and the manager's settings.

Cohorts may be nested; a name that no object has is a root without quota (Kueue v0.19.2, `pkg/cache/hierarchy/`). Both
v1beta1 and v1beta2 spellings are read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from trainshed.fleet.access import Node, dig, items, mapping, mappings, strings, text
from trainshed.fleet.document import Document
from trainshed.fleet.kueue_config import KueueConfig, kueue_config
from trainshed.fleet.kueue_quota import FlavorResource, Quota, QuotaNode, counted
from trainshed.fleet.paths import Path
from trainshed.quantity import Quantity

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

KUEUE: Final = "kueue.x-k8s.io"
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
PROVISIONING: Final = "kueue.x-k8s.io/provisioning-request"


@dataclass
class ResourceGroup:
    """Resources that are covered together, and the flavors for them in the order Kueue tries them."""

    resources: list[str]
    flavors: list[str]
    path: Path


@dataclass
class Flavor:
    """A ResourceFlavor: which nodes it means."""

    document: Document
    labels: dict[str, str]
    taints: list[Node]
    tolerations: list[Node]
    topology: str

    @property
    def name(self) -> str:
        """The flavor's name."""
        return self.document.name


@dataclass
class CheckUse:
    """One admission check that a ClusterQueue names, and for which flavors (none: for all)."""

    name: str
    flavors: list[str]
    path: Path


@dataclass(eq=False)
class ClusterQueueNode(QuotaNode):
    """A ClusterQueue with what decides about admission."""

    groups: list[ResourceGroup] = field(default_factory=list)
    cohort_path: Path = ()
    checks: list[CheckUse] = field(default_factory=list)

    @property
    def spec(self) -> Node:
        """The ClusterQueue's spec."""
        return mapping(self.document.manifest if self.document else None, "spec")

    @property
    def doc(self) -> Document:
        """The ClusterQueue's document."""
        assert self.document is not None
        return self.document

    @cached_property
    def covered(self) -> dict[str, ResourceGroup]:
        """The resource group of every covered resource."""
        return {resource: group for group in reversed(self.groups) for resource in group.resources}

    def policy(self, name: str) -> str:
        """`withinClusterQueue`, `reclaimWithinCohort`, or `borrowWithinCohort`'s policy; Never when not written."""
        found = dig(self.spec, "preemption", name)
        return (text(found, "policy") if isinstance(found, dict) else text(found)) or "Never"


@dataclass
class LocalQueueNode:
    """A LocalQueue and the name of its ClusterQueue (empty when none is written)."""

    document: Document
    cluster_queue: str
    #: The namespace whose workloads may name it; empty where the input does not say.
    namespace: str = ""


class KueueTree:
    """Everything of Kueue in one fleet, by name."""

    def __init__(self, fleet: Fleet) -> None:
        self.config: KueueConfig = kueue_config(fleet)
        self.flavors: dict[str, Flavor] = {}
        self.cohorts: dict[str, QuotaNode] = {}
        self.cluster_queues: dict[str, ClusterQueueNode] = {}
        self.local_queues: dict[tuple[str, str], LocalQueueNode] = {}
        self.topologies: dict[str, list[str]] = {}
        for document in fleet.of((KUEUE, "ResourceFlavor")):
            self.flavors.setdefault(document.name, _flavor(document))
        for document in fleet.of((KUEUE, "Topology")):
            levels = [text(level, "nodeLabel") for _, level in mappings(document.manifest, "spec", "levels")]
            self.topologies.setdefault(document.name, levels)
        for document in fleet.of((KUEUE, "Cohort")):
            node = QuotaNode(document.name, "Cohort", document, weight=_weight(document))
            node.quotas, _ = read_groups(document)
            self.cohorts.setdefault(document.name, node)
        for document in fleet.of((KUEUE, "ClusterQueue")):
            if document.name not in self.cluster_queues:
                self.cluster_queues[document.name] = _cluster_queue(document)
        for document in fleet.of((KUEUE, "LocalQueue")):
            namespace = fleet.namespaces.of(document) or ""
            queue = LocalQueueNode(document, text(document.manifest, "spec", "clusterQueue"), namespace)
            self.local_queues.setdefault((queue.namespace, document.name), queue)
        self._link()

    def _link(self) -> None:
        for cohort in list(self.cohorts.values()):
            name, _ = parent_of(cohort)
            if name:
                self._attach(cohort, name)
        for queue in self.cluster_queues.values():
            name, _ = parent_of(queue)
            if name:
                self._attach(queue, name)
        finite: set[int] = set()
        for node in (*self.cohorts.values(), *self.cluster_queues.values()):
            _mark_cycle(node, finite)

    def _attach(self, node: QuotaNode, parent: str) -> None:
        cohort = self.cohorts.setdefault(parent, QuotaNode(parent, "Cohort"))
        node.parent = cohort
        cohort.children.append(node)

    @cached_property
    def cycles(self) -> list[list[QuotaNode]]:
        """Every cycle of Cohorts, each once, in the order of its parents."""
        found: list[list[QuotaNode]] = []
        done: set[int] = set()
        for node in self.cohorts.values():
            way: list[QuotaNode] = []
            at: QuotaNode | None = node
            while at is not None and id(at) not in done:
                done.add(id(at))
                way.append(at)
                at = at.parent
            if at is not None and any(at is step for step in way):
                found.append(way[next(index for index, step in enumerate(way) if step is at) :])
        return found

    def queue_of(self, namespace: str | None, name: str) -> ClusterQueueNode | None:
        """The ClusterQueue behind a LocalQueue, None where either is not in the input."""
        local = self.local_queues.get((namespace or "", name))
        return self.cluster_queues.get(local.cluster_queue) if local else None

    def queues_named(self, name: str) -> list[LocalQueueNode]:
        """The LocalQueues of this name in all namespaces."""
        return self._queues_by_name.get(name, [])

    @cached_property
    def _queues_by_name(self) -> dict[str, list[LocalQueueNode]]:
        out: dict[str, list[LocalQueueNode]] = {}
        for queue in self.local_queues.values():
            out.setdefault(queue.document.name, []).append(queue)
        return out

    def topology_of(self, flavor: str) -> list[str] | None:
        """The levels of a flavor's topology; None without a topology, or where it is not in the input."""
        known = self.flavors.get(flavor)
        return self.topologies.get(known.topology) if known and known.topology else None

    @cached_property
    def users(self) -> dict[str, list[LocalQueueNode]]:
        """The LocalQueues of every ClusterQueue."""
        out: dict[str, list[LocalQueueNode]] = {}
        for queue in self.local_queues.values():
            out.setdefault(queue.cluster_queue, []).append(queue)
        return out


def parent_of(node: QuotaNode) -> tuple[str, Path]:
    """The cohort that a ClusterQueue or Cohort names, and where; empty when it names none."""
    manifest = node.document.manifest if node.document else {}
    for key in ("cohortName", "cohort") if node.kind == "ClusterQueue" else ("parentName", "parent"):
        if name := text(manifest, "spec", key):
            return name, ("spec", key)
    return "", ("spec", "cohortName" if node.kind == "ClusterQueue" else "parentName")


def _mark_cycle(node: QuotaNode, finite: set[int]) -> None:
    """Marks every node on the way up as dropped when the way never ends, and remembers it as finite when it does."""
    way: list[QuotaNode] = []
    seen: set[int] = set()
    at: QuotaNode | None = node
    while at is not None and id(at) not in seen and id(at) not in finite and not at.dropped:
        seen.add(id(at))
        way.append(at)
        at = at.parent
    if at is None or id(at) in finite:
        finite.update(seen)
        return
    for step in way:
        step.dropped = True


def _flavor(document: Document) -> Flavor:
    spec = mapping(document.manifest, "spec")
    taints = [taint for _, taint in mappings(spec, "nodeTaints")]
    tolerations = [toleration for _, toleration in mappings(spec, "tolerations")]
    return Flavor(document, strings(spec, "nodeLabels"), taints, tolerations, text(spec, "topologyName"))


def _cluster_queue(document: Document) -> ClusterQueueNode:
    node = ClusterQueueNode(document.name, "ClusterQueue", document, weight=_weight(document))
    node.quotas, node.groups = read_groups(document)
    _, node.cohort_path = parent_of(node)
    node.checks = _checks(document)
    return node


def _checks(document: Document) -> list[CheckUse]:
    where: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
    found = [
        CheckUse(text(check, "name"), [x for x in items(check, "onFlavors") if isinstance(x, str)], (*where, index))
        for index, check in mappings(document.manifest, *where)
    ]
    for index, name in enumerate(items(document.manifest, "spec", "admissionChecks")):
        if isinstance(name, str):
            found.append(CheckUse(name, [], ("spec", "admissionChecks", index)))
    return found


def read_groups(document: Document) -> tuple[dict[FlavorResource, Quota], list[ResourceGroup]]:
    """The quotas and resource groups of a ClusterQueue or Cohort; what is not a quantity counts as not written."""
    quotas: dict[FlavorResource, Quota] = {}
    groups: list[ResourceGroup] = []
    for group_index, group in mappings(document.manifest, "spec", "resourceGroups"):
        group_path: Path = ("spec", "resourceGroups", group_index)
        covered = [name for name in items(group, "coveredResources") if isinstance(name, str)]
        flavors: list[str] = []
        for flavor_index, flavor in mappings(group, "flavors"):
            flavors.append(text(flavor, "name"))
            for index, resource in mappings(flavor, "resources"):
                path = (*group_path, "flavors", flavor_index, "resources", index)
                name = text(resource, "name")
                nominal = amount(name, resource.get("nominalQuota"))
                quotas[(flavors[-1], name)] = Quota(
                    nominal or 0,
                    amount(name, resource.get("borrowingLimit")),
                    amount(name, resource.get("lendingLimit")),
                    path,
                )
        groups.append(ResourceGroup(covered, flavors, group_path))
    return quotas, groups


def amount(resource: str, value: Any) -> int | None:
    """A written quantity in Kueue's unit, None where it is none."""
    if value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return counted(resource, Quantity(value))
    except (ValueError, OverflowError):
        return None


def _weight(document: Document) -> Fraction:
    weight = dig(document.manifest, "spec", "fairSharing", "weight")
    try:
        return Quantity(weight).value if isinstance(weight, str | int | float) else Fraction(1)
    except (ValueError, OverflowError):
        return Fraction(1)
