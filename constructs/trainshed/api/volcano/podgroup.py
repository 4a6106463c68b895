"""PodGroup (scheduling.volcano.sh/v1beta1), as in Volcano v1.15.1."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trainshed.api.base import KubernetesObject, Model
from trainshed.api.selectors import LabelSelector
from trainshed.api.types import CrdQuantity, DnsSubdomain, Int32, Str
from trainshed.api.volcano.topology import NetworkTopologySpec


class SubGroupPolicySpec(Model):
    """Pods of the group that are placed together: `sub_group_size` (default 1) pods with equal `match_label_keys`."""

    name: Annotated[Str, Field(max_length=253)] | None = None
    network_topology: NetworkTopologySpec | None = None
    sub_group_size: Annotated[Int32, Field(ge=1)] | None = None
    min_sub_groups: Annotated[Int32, Field(ge=0)] | None = None
    label_selector: LabelSelector | None = None
    match_label_keys: list[Str] | None = None


class PodGroupSpec(Model):
    """How many pods must start together, and what they need. `queue` absent: `default`.

    `min_task_member` counts by the pods' annotation `volcano.sh/task-spec`. Without `min_resources` the group is queued
    without a look at the queue's room.
    """

    min_member: Annotated[Int32, Field(ge=0)] | None = None
    min_task_member: dict[Str, Int32] | None = None
    queue: DnsSubdomain | None = None
    priority_class_name: Annotated[Str, Field(max_length=253)] | None = None
    min_resources: dict[Str, CrdQuantity] | None = None
    network_topology: NetworkTopologySpec | None = None
    sub_group_policy: list[SubGroupPolicySpec] | None = None


class PodGroup(KubernetesObject):
    """A gang: its pods carry the annotation `scheduling.k8s.io/group-name` and `schedulerName: volcano`."""

    namespaced: ClassVar[bool] = True
    IMMUTABLE: ClassVar[tuple[str, ...]] = ()

    api_version: Literal["scheduling.volcano.sh/v1beta1"] = "scheduling.volcano.sh/v1beta1"
    kind: Literal["PodGroup"] = "PodGroup"
    spec: PodGroupSpec | None = None
