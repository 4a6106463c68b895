"""core/v1 LimitRange.

Rules: kubernetes v1.36, `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.core.quota import quota_resource_error
from trainshed.api.types import LabelKey, keyed_by
from trainshed.quantity import Quantity

Amounts = dict[LabelKey, Quantity]

_CONTAINER_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_ORDERED: Final = (
    ("min", "max"),
    ("min", "defaultRequest"),
    ("min", "default"),
    ("defaultRequest", "default"),
    ("defaultRequest", "max"),
    ("default", "max"),
)


class LimitRangeItem(Model):
    """Bounds and defaults for each container, pod or claim, per resource: min ≤ defaultRequest ≤ default ≤ max."""

    default: Amounts | None = None
    default_request: Amounts | None = None
    max: Amounts | None = None
    max_limit_request_ratio: Amounts | None = None
    min: Amounts | None = None
    type: LabelKey

    def rules(self) -> Iterator[Broken]:
        """`ValidateLimitRange`, one item."""
        if "/" not in self.type and self.type not in ("Pod", "Container", "PersistentVolumeClaim"):
            yield Broken("type", f'"{self.type}" is not a type', "write Container, Pod or PersistentVolumeClaim")
        parts = self._parts()
        if self.type == "Pod":
            for field in ("default", "defaultRequest"):
                if parts[field]:
                    yield Broken(field, "does not go with type Pod", "move it to an item of type Container")
        if self.type == "PersistentVolumeClaim" and "storage" not in {*parts["min"], *parts["max"]}:
            yield Broken("", "type PersistentVolumeClaim needs min or max of storage", "add min.storage or max.storage")
        for field, amounts in parts.items():
            for name in amounts:
                if error := self._resource_error(name):
                    yield Broken(f"{field}[{name}]", error)
        yield from self._order_rules(parts)
        for name, ratio in parts["maxLimitRequestRatio"].items():
            yield from self._ratio_rules(name, ratio)

    def _parts(self) -> dict[str, Amounts]:
        return {
            "default": self.default or {},
            "defaultRequest": self.default_request or {},
            "max": self.max or {},
            "maxLimitRequestRatio": self.max_limit_request_ratio or {},
            "min": self.min or {},
        }

    def _resource_error(self, name: str) -> str:
        if self.type not in ("Pod", "Container"):
            return "" if name == "storage" else quota_resource_error(name)
        if "/" not in name:
            known = name in _CONTAINER_RESOURCES or name.startswith("hugepages-")
            return "" if known else f'"{name}" is not a resource of containers'
        if "kubernetes.io/" in name:
            return ""
        # An extended resource must stay a qualified name when a quota puts "requests." before it.
        bad = name.startswith("requests.") or naming.label_key_error(f"requests.{name}")
        return f'"{name}" is not an extended resource' if bad else ""

    def _order_rules(self, parts: dict[str, Amounts]) -> Iterator[Broken]:
        if self.type == "Pod":
            parts = {**parts, "default": {}, "defaultRequest": {}}
        for low, high in _ORDERED:
            for name, amount in parts[low].items():
                limit = parts[high].get(name)
                if limit is not None and amount > limit:
                    yield Broken(f"{low}[{name}]", f"is {amount}, more than {high} with {limit}")
        # The server takes the default of containers from max where none is written.
        defaults = {**parts["max"], **parts["default"]} if self.type == "Container" else parts["default"]
        for name, request in parts["defaultRequest"].items():
            limit = defaults.get(name)
            overcommit = ("/" not in name or "kubernetes.io/" in name) and not name.startswith("hugepages-")
            if not overcommit and limit is not None and request < limit:
                text = f"is {request}, and default is {limit}; {name} cannot be overcommitted"
                yield Broken(f"defaultRequest[{name}]", text, f"write {limit}")

    def _ratio_rules(self, name: str, ratio: Quantity) -> Iterator[Broken]:
        field = f"maxLimitRequestRatio[{name}]"
        low, high = (self.min or {}).get(name), (self.max or {}).get(name)
        if ratio < Quantity(1):
            yield Broken(field, f"{ratio} is less than 1")
        if low and high is not None and ratio.value > high / low:
            yield Broken(field, f"{ratio} is more than max / min, which is {float(high / low):g}")


class LimitRangeSpec(Model):
    """One item for each type."""

    limits: Annotated[list[LimitRangeItem], keyed_by("type")]


class LimitRange(KubernetesObject):
    """What single containers, pods and claims of a namespace may ask for, and what they get when they do not ask."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["v1"] = "v1"
    kind: Literal["LimitRange"] = "LimitRange"
    spec: LimitRangeSpec | None = None
