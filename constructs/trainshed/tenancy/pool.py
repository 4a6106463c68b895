"""Node pools: what hardware there is, declared once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar, Final

from constructs import Construct
from pydantic import Field

from trainshed.api import kueue
from trainshed.api.base import Broken, KubernetesObject, ObjectMeta
from trainshed.api.core.affinity import Toleration
from trainshed.api.kueue import Taint
from trainshed.api.types import DnsSubdomain, Int32, LabelKey, LabelValue, shaped
from trainshed.faults import Fault
from trainshed.gitops.component import Component
from trainshed.gitops.names import CAPACITY_ANNOTATION
from trainshed.naming import label_key_error
from trainshed.quantity import Quantity
from trainshed.tenancy.shares import Amount, ResourceName, Resources, amount_rules

#: Node labels that the usual words for a level stand for; any other word becomes a label of ours.
LEVEL_LABELS: Final = {
    "host": "kubernetes.io/hostname",
    "zone": "topology.kubernetes.io/zone",
    "region": "topology.kubernetes.io/region",
}
OUR_LEVELS: Final = "topology.trainshed.dev/"
_ZERO: Final = Quantity(0)


def level_label(level: str) -> str:
    """The node label of a topology level: `host` → `kubernetes.io/hostname`, `rack` → `topology.trainshed.dev/rack`;
    a full label key is taken as it is."""
    return level if "/" in level else LEVEL_LABELS.get(level, OUR_LEVELS + level)


def _level_error(level: str) -> str:
    return label_key_error(level_label(level))


#: `host`, `rack`, or the label key of a level.
Level = Annotated[str, shaped(_level_error)]


class NodePool(Component):
    """`nodes` equal machines, each with `per_node` allocatable (`kubectl get node`: status.allocatable).

    Quota is counted in it, so a run takes less of CPU and memory: DaemonSets' pods stand on the same nodes. How much
    they take is not declared anywhere here, so a run that takes the whole of a node is not refused.

    Renders a Kueue ResourceFlavor (and, with `topology` levels from widest to narrowest, a Topology), which carries
    the declared capacity in the annotation `trainshed.dev/capacity`, so that readers of `dist/` know it too. With
    `taints`, Kueue adds the matching tolerations to the pods it admits unless `tolerate` is False. `flavor=False` is
    for clusters without Kueue: nothing is rendered, other components use the declaration.
    """

    main_kind = "ResourceFlavor"

    def __init__(
        self,
        scope: Construct,
        id: DnsSubdomain,
        *,
        nodes: Annotated[Int32, Field(ge=0)],
        per_node: Annotated[Mapping[ResourceName, Amount], Field(min_length=1)],
        labels: Mapping[LabelKey, LabelValue] | None = None,
        taints: Sequence[Taint] = (),
        topology: Sequence[Level] = (),
        tolerate: bool = True,
        flavor: bool = True,
    ) -> None:
        super().__init__(scope, id)
        self.name = id
        self.nodes = nodes
        self.per_node: Resources = {name: Quantity(amount) for name, amount in per_node.items()}
        self.labels = dict(labels or {})
        self.taints = list(taints)
        self.levels = [level_label(level) for level in topology]
        self.tolerate = tolerate
        self.flavor = flavor
        self.spoil(amount_rules(self.per_node, "per_node"))
        if flavor and self.levels and not self.labels:  # Kueue 0.19.2, CEL on a flavor with topologyName
            told = "is empty, and a pool with topology levels is known by at least one label of its nodes"
            self.spoil([Broken("labels", told, 'write for example {"nvidia.com/gpu.product": "…"}')])

    @property
    def capacity(self) -> Resources:
        """What all nodes offer together."""
        return {name: amount * self.nodes for name, amount in self.per_node.items()}

    @property
    def capacity_annotation(self) -> str:
        """The declared capacity as JSON."""
        per_node = {name: str(amount) for name, amount in sorted(self.per_node.items())}
        return json.dumps({"nodes": self.nodes, "perNode": per_node}, separators=(",", ":"))

    def render(self) -> Iterable[KubernetesObject]:
        """A ResourceFlavor, after the Topology it names."""
        if not self.flavor:
            return
        if self.levels:
            yield kueue.Topology(
                metadata=ObjectMeta(name=self.name),
                spec=kueue.TopologySpec(levels=[kueue.TopologyLevel(node_label=label) for label in self.levels]),
            )
        yield kueue.ResourceFlavor(
            metadata=ObjectMeta(name=self.name, annotations={CAPACITY_ANNOTATION: self.capacity_annotation}),
            spec=kueue.ResourceFlavorSpec(
                node_labels=self.labels or None,
                node_taints=self.taints or None,
                tolerations=[_tolerating(taint) for taint in self.taints] if self.tolerate and self.taints else None,
                topology_name=self.name if self.levels else None,
            ),
        )

    def validate(self) -> Iterable[Fault]:
        """Guarantees are promises: their sum may not exceed what the pool has."""
        capacity, claimed = self.capacity, dict[str, Quantity]()
        for component in self.cluster.all_of(Claimant):
            claim = component.claims().get(self.name, {})
            left = {name: max(capacity.get(name, _ZERO) - claimed.get(name, _ZERO), _ZERO) for name in claim}
            claimed.update((name, claimed.get(name, _ZERO) + amount) for name, amount in claim.items())
            if over := [name for name, amount in claim.items() if amount > left[name]]:
                asked, there = (", ".join(f"{of[name]} {name}" for name in over) for of in (claim, left))
                yield Fault(
                    f'promises {asked} of pool "{self.name}" ({self.nodes} nodes), which has {there} left',
                    component.title,
                    component.claim_field,
                    "promise less, or let it borrow",
                    component.place_of(component.claim_field, self.name),
                )


class Claimant(Component):
    """A component that promises quota out of node pools."""

    #: The argument that promises it.
    claim_field: ClassVar[str] = "quota"

    def claims(self) -> Mapping[str, Resources]:
        """Nominal quota by pool name."""
        return {}


def _tolerating(taint: Taint) -> Toleration:
    if taint.value:
        return Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
    return Toleration(key=taint.key, operator="Exists", effect=taint.effect)
