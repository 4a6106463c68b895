"""Queue (scheduling.volcano.sh/v1beta1), as in Volcano v1.15.1.

Rules beyond the CRD: `pkg/webhooks/admission/queues/validate`. Those that compare a queue with its parent, siblings or
children need the other queues and are not here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.types import Bool, CrdQuantity, DnsSubdomain, Int32, Str
from trainshed.quantity import Quantity

HIERARCHY: Final = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS: Final = "volcano.sh/hierarchy-weights"

_ZERO: Final = Quantity(0)
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COUNTED: Final = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"}
    | {"persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
)
_NATIVE: Final = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})

ResourceList = dict[Str, CrdQuantity]


class Guarantee(Model):
    """What is reserved for a queue and never lent."""

    resource: ResourceList | None = None


class Cluster(Model):
    """A cluster of the federation that the queue spreads over (read by volcano-global)."""

    name: Str | None = None
    weight: Int32 | None = None
    capacity: ResourceList | None = None


class NodeGroupAffinity(Model):
    """Node groups that a queue's pods must or should use."""

    required_during_scheduling_ignored_during_execution: list[Str] | None = None
    preferred_during_scheduling_ignored_during_execution: list[Str] | None = None


class NodeGroupAntiAffinity(Model):
    """Node groups that a queue's pods must or should avoid."""

    required_during_scheduling_ignored_during_execution: list[Str] | None = None
    preferred_during_scheduling_ignored_during_execution: list[Str] | None = None


class Affinity(Model):
    """Node groups by the values of the node label `volcano.sh/nodegroup-name`; the nodegroup plugin reads them."""

    node_group_affinity: NodeGroupAffinity | None = None
    node_group_anti_affinity: NodeGroupAntiAffinity | None = None


class QueueSpec(Model):
    """A queue's share: by `weight` (proportion plugin) or by `deserved` (capacity plugin).

    `capability` is the cap (an absent resource is uncapped), `guarantee` is reserved, `deserved` may be exceeded while
    others leave it free. `parent` absent: the queue `root`. The scheduler of this release reads neither
    `dequeue_strategy` nor `type`.
    """

    weight: Annotated[Int32, Field(ge=1, le=65535)] | None = None
    capability: ResourceList | None = None
    reclaimable: Bool | None = None
    extend_clusters: list[Cluster] | None = None
    guarantee: Guarantee | None = None
    affinity: Affinity | None = None
    type: Annotated[Str, Field(max_length=253)] | None = None
    parent: DnsSubdomain | None = None
    deserved: ResourceList | None = None
    priority: Annotated[Int32, Field(ge=0)] | None = None
    dequeue_strategy: Literal["fifo", "traverse"] | None = None

    def rules(self) -> Iterator[Broken]:
        """Amounts are whole where they must be and never negative; guarantee ≤ deserved ≤ capability."""
        guarantee = (self.guarantee.resource if self.guarantee else None) or {}
        deserved, capability = self.deserved or {}, self.capability or {}
        lists = {"capability": capability, "deserved": deserved, "guarantee.resource": guarantee}
        broken = [rule for path, amounts in lists.items() for rule in _amount_rules(path, amounts)]
        yield from broken or _order_rules(guarantee, deserved, capability)


def _order_rules(
    guarantee: Mapping[str, Quantity], deserved: Mapping[str, Quantity], capability: Mapping[str, Quantity]
) -> Iterator[Broken]:
    for name, amount in guarantee.items():
        if not _is_scheduled(name) or not amount:
            continue
        field = f"guarantee.resource[{name}]"
        if name not in deserved:
            yield Broken(field, f"is {amount}, but deserved has no {name}", f"add {name} to deserved")
        elif amount > deserved[name]:
            yield Broken(
                field, f"is {amount}, more than the {deserved[name]} in deserved", "guarantee no more than that"
            )
    for name, amount in deserved.items():
        if not _is_scheduled(name) or name not in capability or _is_uncapped(name, capability):
            continue
        if amount > capability[name]:
            yield Broken(
                f"deserved[{name}]", f"is {amount}, more than the {capability[name]} in capability", "deserve no more"
            )


def _is_uncapped(name: str, capability: Mapping[str, Quantity]) -> bool:
    return name in ("cpu", "memory") and capability[name] == _ZERO


def _is_scheduled(name: str) -> bool:
    """Whether Volcano takes the name for a resource; it drops all others (`pkg/scheduler/api/resource_info.go`)."""
    return name in _NATIVE or name.startswith("hugepages-") or "/" in name


def _amount_rules(path: str, amounts: Mapping[str, Quantity]) -> Iterator[Broken]:
    """ValidateResourceQuantityValue of k8s.io/kubernetes `pkg/apis/core/validation`."""
    for name, amount in amounts.items():
        field = f"{path}[{name}]"
        if amount < _ZERO:
            yield Broken(field, f"is {amount}, below 0", "write 0 or more")
        elif _is_whole_by_kind(name) and not amount.is_whole():
            yield Broken(field, f"is {amount}, but {name} comes in whole numbers", "write a whole number")


def _is_whole_by_kind(name: str) -> bool:
    extended = "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
    return extended or name in _COUNTED


class Queue(KubernetesObject):
    """A share of the cluster for PodGroups. `root` and `default` exist already."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ()

    api_version: Literal["scheduling.volcano.sh/v1beta1"] = "scheduling.volcano.sh/v1beta1"
    kind: Literal["Queue"] = "Queue"
    spec: QueueSpec | None = None

    def rules(self) -> Iterator[Broken]:
        """Rules that need the name, the annotations or the status."""
        if self.spec and self.spec.parent is not None and self.spec.parent == self.metadata.name:
            yield Broken("spec.parent", "is the queue itself", "name another queue, or leave parent out")
        yield from self._hierarchy_rules()
        state = (self.status or {}).get("state")
        # A live queue may be Closing or Unknown; only a queue that is still to be created is judged.
        if self.metadata.uid is None and state not in (None, "", "Open", "Closed"):
            yield Broken("status.state", f'is "{state}"', 'write "Open" or "Closed", or leave the status out')

    def _hierarchy_rules(self) -> Iterator[Broken]:
        """The old annotations of the drf plugin: as many weights as parts, each a number above 0."""
        annotations = self.metadata.annotations or {}
        path, weights = annotations.get(HIERARCHY, ""), annotations.get(HIERARCHY_WEIGHTS, "")
        if not path and not weights:
            return
        parts, numbers = path.split("/"), weights.split("/")
        field = f"metadata.annotations[{HIERARCHY_WEIGHTS}]"
        if len(parts) != len(numbers):
            yield Broken(
                field, f"has {len(numbers)} parts, but {HIERARCHY} has {len(parts)}", "write one weight a part"
            )
            return
        for number in numbers:
            if not _NUMBER.fullmatch(number) or float(number) <= 0:
                yield Broken(field, f'"{number}" is not a number above 0')
