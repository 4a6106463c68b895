"""Components for Volcano: queues, and the scheduler configuration they need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

from constructs import Construct
from pydantic import Field

from trainshed.api.base import KubernetesObject, ObjectMeta
from trainshed.api.core.configmap import ConfigMap
from trainshed.api.types import DnsLabel, DnsSubdomain, Int32
from trainshed.api.volcano import Guarantee, Queue, QueueSpec
from trainshed.faults import nearest
from trainshed.gitops.component import Component
from trainshed.gitops.names import CAPACITY_ANNOTATION
from trainshed.gitops.waves import WAVE_ANNOTATION, wave
from trainshed.gitops.yaml_text import to_yaml
from trainshed.quantity import Quantity
from trainshed.tenancy.external import External, name_of
from trainshed.tenancy.pool import Claimant, NodePool
from trainshed.tenancy.shares import Resources, Share, total

ROOT: Final = "root"
ACTIONS: Final = ("enqueue", "allocate", "backfill", "reclaim", "preempt")
KNOWN_ACTIONS: Final = (*ACTIONS, "gangpreempt", "gangreclaim", "shuffle")


class VolcanoQueue(Claimant):
    """A Volcano Queue. `capability` caps it, `guarantee` is never lent, `deserved` is lent and taken back (capacity
    plugin) and at least what is guaranteed; each maps node pools to shares. A queue with children takes no jobs."""

    claim_field = "deserved"

    def __init__(
        self,
        scope: Construct,
        id: DnsSubdomain,
        *,
        capability: Mapping[NodePool, Share] | None = None,
        guarantee: Mapping[NodePool, Share] | None = None,
        deserved: Mapping[NodePool, Share] | None = None,
        parent: VolcanoQueue | External | None = None,
        weight: Annotated[Int32, Field(ge=1)] = 1,
        priority: Int32 | None = None,
        reclaimable: bool = True,
        runs: DnsLabel = "runs",
    ) -> None:
        super().__init__(scope, id)
        self.name = id
        self.capability = dict(capability or {})
        self.guarantee = dict(guarantee or {})
        self.deserved = {**self.guarantee, **(deserved or {})}
        self.parent = parent
        self.weight = weight
        self.priority = priority
        self.reclaimable = reclaimable
        self.runs = runs

    @property
    def depth(self) -> int:
        """Levels below root: 1 for a queue of root."""
        return 1 + (self.parent.depth if isinstance(self.parent, VolcanoQueue) else 0)

    def claims(self) -> Mapping[str, Resources]:
        """What is guaranteed or deserved, by pool; a child's part is its parent's."""
        if self.parent is not None:
            return {}
        pools = dict.fromkeys((*self.guarantee, *self.deserved))
        return {pool.name: self._promised(pool) for pool in pools}

    def _promised(self, pool: NodePool) -> Resources:
        """Of each resource the larger one: what is deserved includes what is guaranteed."""
        shares = [share.of(pool.per_node) for share in (self.guarantee.get(pool), self.deserved.get(pool)) if share]
        names = dict.fromkeys(name for share in shares for name in share)
        return {name: max(share[name] for share in shares if name in share) for name in names}

    def render(self) -> Iterable[KubernetesObject]:
        """One Queue, with every default written out: Volcano's webhooks fill them in on creation only."""
        pools = dict.fromkeys((*self.capability, *self.guarantee, *self.deserved))
        capacity = {pool.name: json.loads(pool.capacity_annotation) for pool in pools}
        annotations = {WAVE_ANNOTATION: str(wave("scheduling.volcano.sh", "Queue") + self.depth - 1)}
        if capacity:
            annotations[CAPACITY_ANNOTATION] = json.dumps(capacity, separators=(",", ":"), sort_keys=True)
        guarantee = _amounts(self.guarantee)
        yield Queue(
            metadata=ObjectMeta(name=self.name, annotations=annotations),
            spec=QueueSpec(
                weight=self.weight,
                capability=_amounts(self.capability),
                reclaimable=self.reclaimable,
                guarantee=Guarantee(resource=guarantee) if guarantee else None,
                parent=name_of(self.parent) if self.parent else ROOT,
                deserved=_amounts(self.deserved),
                priority=self.priority,
            ),
        )


def _amounts(shares: Mapping[NodePool, Share]) -> dict[str, Quantity] | None:
    return total([share.of(pool.per_node) for pool, share in shares.items()]) or None


class VolcanoScheduler(Component):
    """The scheduler's ConfigMap, for training with queues that lend and take back.

    The chart's default neither reclaims nor preempts, ignores `deserved`, and asks gang before capacity who may be
    evicted (Volcano v1.15.1; volcano#5896, #4535). `hierarchy` lets queues have parents; `overcommit` admits that many
    times the cluster's resources to the queue (None: no such limit, so that a queue below its share can reclaim).

    It takes the place of the ConfigMap that the chart renders always, as `<release>-scheduler-configmap`, which is this
    name for a release called `volcano`. The chart has no switch for it, and with two owners each undoes the other, or
    Argo CD refuses to sync: take it out of the chart's output, for example with a kustomize patch `$patch: delete`.
    """

    def __init__(
        self,
        scope: Construct,
        id: DnsSubdomain = "volcano-scheduler-configmap",
        *,
        namespace: DnsLabel = "volcano-system",
        hierarchy: bool = True,
        actions: Sequence[str] = ACTIONS,
        overcommit: Annotated[float, Field(ge=1, le=100)] | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.name = id
        self.namespace = namespace
        self.hierarchy = hierarchy
        self.actions = list(actions)
        self.overcommit = overcommit
        if unknown := [action for action in self.actions if action not in KNOWN_ACTIONS]:
            hint = nearest(unknown[0], KNOWN_ACTIONS) or f"known are {', '.join(KNOWN_ACTIONS)}"
            self.fault(
                f'"{unknown[0]}" is no action of the scheduler, which would refuse the file', field="actions", fix=hint
            )

    def render(self) -> Iterable[KubernetesObject]:
        """One ConfigMap with the key `volcano-scheduler.conf`."""
        yield ConfigMap(
            metadata=ObjectMeta(name=self.name, namespace=self.namespace),
            data={"volcano-scheduler.conf": self._configuration()},
        )

    def _configuration(self) -> str:
        guarding: list[dict[str, Any]] = [
            {"name": "priority"},
            # A strict gang offers no victims at all, so with these on nothing borrowed ever comes back.
            {"name": "gang", "enablePreemptable": False, "enableReclaimable": False},
            {"name": "conformance"},
            {"name": "capacity", "enableHierarchy": self.hierarchy},
        ]
        placing: list[dict[str, Any]] = [
            {"name": "drf", "enablePreemptable": False},
            {"name": "predicates"},
            {"name": "nodeorder"},
            {"name": "binpack"},
        ]
        if self.overcommit is not None:
            factor = {"overcommit-factor": self.overcommit}
            placing.insert(0, {"name": "overcommit", "arguments": factor})
        tiers = [{"plugins": guarding}, {"plugins": placing}]
        return to_yaml({"actions": ", ".join(self.actions), "tiers": tiers}, ())
