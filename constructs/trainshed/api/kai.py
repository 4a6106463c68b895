"""KAI Scheduler v0.17.0: queues, gangs and topologies, as in its CRDs."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, StrictFloat, StrictInt

from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.types import Bool, Int32, Int64, LabelKey, Str

Number = StrictInt | StrictFloat
#: The pattern of the CRD, which bounds no length.
PartName = Annotated[Str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
_QUALIFIED: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
_HOSTNAME: Final = "kubernetes.io/hostname"


class QueueResource(Model):
    """`quota` is deserved, `limit` the most, -1 for no bound; `over_quota_weight` shares what is left. GPUs are counted
    whole, cpu in thousandths of a core, memory in megabytes."""

    quota: Number | None = None
    over_quota_weight: Number | None = None
    limit: Number | None = None


class QueueResources(Model):
    """The three resources that queues account for."""

    gpu: QueueResource | None = None
    cpu: QueueResource | None = None
    memory: QueueResource | None = None


class QueueSpec(Model):
    """A node of the tree: without `parent_queue` a top-level queue, which takes no pods."""

    display_name: Str | None = None
    parent_queue: Str | None = None
    resources: QueueResources | None = None
    priority: Int64 | None = None
    preempt_min_runtime: Str | None = None
    reclaim_min_runtime: Str | None = None


class Queue(KubernetesObject):
    """A queue."""

    namespaced: ClassVar[bool] = False

    api_version: Literal["scheduling.run.ai/v2"] = "scheduling.run.ai/v2"
    kind: Literal["Queue"] = "Queue"
    spec: QueueSpec | None = None


class TopologyConstraint(Model):
    """Where a gang, or a part of it, is placed."""

    preferred_topology_level: Str | None = None
    required_topology_level: Str | None = None
    topology: Str | None = None


class SubGroup(Model):
    """A part of a gang. `parent` names another one."""

    name: PartName
    parent: PartName | None = None
    min_member: Annotated[Int32, Field(ge=0)] | None = None
    min_sub_group: Annotated[Int32, Field(ge=0)] | None = None
    topology_constraint: TopologyConstraint | None = None


class PodGroupSpec(Model):
    """A gang."""

    min_member: Annotated[Int32, Field(ge=1)] | None = None
    min_sub_group: Annotated[Int32, Field(ge=1)] | None = None
    queue: Str | None = None
    priority_class_name: Str | None = None
    preemptibility: Literal["preemptible", "non-preemptible"] | None = None
    preemption_delay: Str | None = None
    staleness_grace_period: Str | None = None
    mark_unschedulable: Bool | None = None
    scheduling_backoff: Int32 | None = None
    topology_constraint: TopologyConstraint | None = None
    sub_groups: list[SubGroup] | None = None


class PodGroup(KubernetesObject):
    """A gang that the pod-grouper made, or that somebody wrote by hand."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["scheduling.run.ai/v2alpha2"] = "scheduling.run.ai/v2alpha2"
    kind: Literal["PodGroup"] = "PodGroup"
    spec: PodGroupSpec | None = None


class TopologyLevel(Model):
    """One level, by the node label that tells its domains apart; only the alias may change."""

    alias: Annotated[Str, Field(min_length=1, max_length=316, pattern=_QUALIFIED)] | None = None
    node_label: LabelKey


class TopologySpec(Model):
    """From the widest level to the narrowest."""

    levels: Annotated[list[TopologyLevel], Field(min_length=1, max_length=16)]

    def rules(self) -> Iterator[Broken]:
        """CEL of the CRD: each label once, the host's name last."""
        labels = [level.node_label for level in self.levels]
        for index, label in enumerate(labels):
            if label in labels[:index]:
                yield Broken(f"levels[{index}].nodeLabel", f'"{label}" is listed twice', "keep one of the two")
            if label == _HOSTNAME and index < len(labels) - 1:
                yield Broken(f"levels[{index}].nodeLabel", f"{label} is not the last level", "write it last")


class Topology(KubernetesObject):
    """The levels of a network of nodes. Their node labels are immutable (CEL); see `IMMUTABLE`."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("spec.levels",)

    api_version: Literal["kai.scheduler/v1alpha1"] = "kai.scheduler/v1alpha1"
    kind: Literal["Topology"] = "Topology"
    spec: TopologySpec
