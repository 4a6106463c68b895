"""core/v1 ResourceQuota and the names of resources in it.

Rules: kubernetes v1.36, `pkg/apis/core/validation/validation.go` (`ValidateResourceQuota`) and
`pkg/apis/core/helper/helpers.go`.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Final, Literal

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.types import Str, shaped
from trainshed.faults import nearest
from trainshed.quantity import Quantity

Scope = Literal[
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
]

OBJECT_COUNTS: Final = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_COMPUTE: Final = ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_STANDARD: Final = (
    *_COMPUTE,
    *OBJECT_COUNTS,
    "ephemeral-storage",
    "requests.ephemeral-storage",
    "limits.ephemeral-storage",
    "requests.storage",
)
_HUGE_PAGES: Final = ("hugepages-", "requests.hugepages-")
_PODS: Final = frozenset((*_COMPUTE, "pods"))
_IN_SCOPE: Final[dict[str, frozenset[str]]] = {
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_OPPOSITES: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_VALUED: Final = ("PriorityClass", "VolumeAttributesClass")


def quota_resource_error(name: str) -> str:
    """The name of a resource that a quota can limit: a known one, or a qualified one (`requests.nvidia.com/gpu`)."""
    if error := naming.label_key_error(name):
        return error
    if "/" in name or name in _STANDARD or name.startswith(_HUGE_PAGES):
        return ""
    hint = nearest(name, _STANDARD)
    return f'"{name}" is not a resource that a quota can limit' + (f"; {hint}" if hint else "")


QuotaResource = Annotated[Str, shaped(quota_resource_error)]


class ScopedResourceSelectorRequirement(Model):
    """Which objects a quota counts: by a scope, and for PriorityClass and VolumeAttributesClass by its values."""

    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    scope_name: Scope
    values: list[Str] | None = None

    def rules(self) -> Iterator[Broken]:
        """`validateScopedResourceSelectorRequirement`."""
        if self.scope_name not in _VALUED and self.operator != "Exists":
            yield Broken("operator", f"is {self.operator}; the scope {self.scope_name} has no values", 'write "Exists"')
        if self.operator in ("In", "NotIn") and not self.values:
            yield Broken("values", f"is missing, and {self.operator} needs it", "add values")
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            yield Broken("values", f"does not go with {self.operator}", "leave it out")


class ScopeSelector(Model):
    """All of the requirements must hold."""

    match_expressions: list[ScopedResourceSelectorRequirement] | None = None


class ResourceQuotaSpec(Model):
    """Limits on what a namespace may request in all. `scopes` never change."""

    hard: dict[QuotaResource, Quantity] | None = None
    scope_selector: ScopeSelector | None = None
    scopes: list[Scope] | None = None

    def rules(self) -> Iterator[Broken]:
        """`ValidateResourceQuotaSpec`."""
        for name, amount in (self.hard or {}).items():
            if amount < Quantity(0):
                yield Broken(f"hard[{name}]", f"{amount} is less than 0")
            elif is_counted(name) and not amount.is_whole():
                yield Broken(f"hard[{name}]", f"{amount} is not a whole number")
        yield from self._scope_rules("scopes", self.scopes or [])
        if self.scope_selector is not None:
            names = [item.scope_name for item in self.scope_selector.match_expressions or []]
            yield from self._scope_rules("scopeSelector.matchExpressions", names)

    def _scope_rules(self, field: str, scopes: Iterable[str]) -> Iterator[Broken]:
        found = list(scopes)
        for scope in dict.fromkeys(found):
            for name in self.hard or {}:
                known = name in _STANDARD or name.startswith(_HUGE_PAGES)
                if known and name not in _IN_SCOPE.get(scope, _PODS):
                    yield Broken(field, f"the scope {scope} does not apply to {name}", f"move {name} to another quota")
        for one, other in _OPPOSITES:
            if one in found and other in found:
                yield Broken(field, f"{one} and {other} exclude each other", "keep one of them")


class ResourceQuota(KubernetesObject):
    """How much one namespace may use. GPUs are limited as `requests.nvidia.com/gpu`."""

    namespaced: ClassVar[bool] = True
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("spec.scopes",)

    api_version: Literal["v1"] = "v1"
    kind: Literal["ResourceQuota"] = "ResourceQuota"
    spec: ResourceQuotaSpec | None = None


def is_counted(name: str) -> bool:
    """Whether a resource comes in whole numbers: objects and extended resources (`IsIntegerResourceName`)."""
    if name in OBJECT_COUNTS:
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
