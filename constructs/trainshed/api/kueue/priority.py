"""WorkloadPriorityClass (kueue.x-k8s.io/v1beta2), as in Kueue v0.19.2."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trainshed.api.base import KubernetesObject
from trainshed.api.types import Int32, Str


class WorkloadPriorityClass(KubernetesObject):
    """A priority for Kueue's queues that leaves the priority of pods alone. Higher wins; negative values are fine.

    A changed `value` reaches the workloads that already use the class.
    """

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ()

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["WorkloadPriorityClass"] = "WorkloadPriorityClass"
    value: Int32
    description: Annotated[Str, Field(max_length=2048)] | None = None
