"""scheduling.k8s.io/v1 PriorityClass.

Rules: kubernetes v1.36, `pkg/apis/scheduling/validation/validation.go`.
"""

from collections.abc import Iterator
from typing import ClassVar, Final, Literal

from trainshed.api.base import Broken, KubernetesObject
from trainshed.api.types import Bool, Int32, Str

#: The highest value that is not reserved (`HighestUserDefinablePriority`).
VALUE_MAX: Final = 1_000_000_000

_SYSTEM_PREFIX: Final = "system-"
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class PriorityClass(KubernetesObject):
    """How important a pod is to the scheduler. Without `preemption_policy` its pods preempt less important ones."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("preemptionPolicy", "value")

    api_version: Literal["scheduling.k8s.io/v1"] = "scheduling.k8s.io/v1"
    kind: Literal["PriorityClass"] = "PriorityClass"
    description: Str | None = None
    global_default: Bool | None = None
    preemption_policy: Literal["Never", "PreemptLowerPriority"] | None = None
    value: Int32 | None = None

    def rules(self) -> Iterator[Broken]:
        """`ValidatePriorityClass`; an absent value is 0."""
        name, value = self.metadata.name or "", self.value or 0
        if name.startswith(_SYSTEM_PREFIX):
            if _SYSTEM_CLASSES.get(name) != value or self.global_default:
                yield Broken("metadata.name", f'names with "{_SYSTEM_PREFIX}" are reserved', "take another name")
        elif value > VALUE_MAX:
            yield Broken(
                "value", f"is {value}; above {VALUE_MAX} is reserved for the system", f"write {VALUE_MAX} or less"
            )
