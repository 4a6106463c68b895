"""References from a pod to other objects, to its own fields, and to its resources.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`.
"""

from collections.abc import Iterator
from typing import Annotated, Final

from trainshed import naming
from trainshed.api.base import Broken, Model
from trainshed.api.core.shapes import FilePath, Text, UserId, key_error, mode_rules
from trainshed.api.types import Bool, DnsSubdomain, Int32, Str, shaped
from trainshed.faults import nearest
from trainshed.quantity import Quantity

ConfigKey = Annotated[Str, shaped(key_error)]

FIELDS_IN_ENV: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FIELDS_IN_FILES: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_RESOURCES: Final = tuple(
    f"{list_}.{name}" for list_ in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_SCALES: Final = frozenset(
    Quantity(f"1{suffix}") for suffix in ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
)


class LocalObjectReference(Model):
    """An object of a fixed kind in the pod's own namespace."""

    name: Str | None = None


class TypedLocalObjectReference(Model):
    """An object of any kind in the same namespace. `api_group` is absent for core/v1."""

    api_group: Str | None = None
    kind: Text
    name: Text


class TypedObjectReference(Model):
    """An object of any kind. `api_group` is absent for core/v1; another namespace needs a ReferenceGrant there."""

    api_group: Str | None = None
    kind: Text
    name: Text
    namespace: Str | None = None


class KeyToPath(Model):
    """One key of a ConfigMap or Secret, and the file it becomes. `mode` is a decimal number of octal permissions."""

    key: Text
    mode: Int32 | None = None
    path: FilePath
    user: UserId | None = None

    def rules(self) -> Iterator[Broken]:
        """validateKeyToPath."""
        yield from mode_rules("mode", self.mode)


class ConfigMapKeySelector(Model):
    """One key of a ConfigMap in the pod's namespace."""

    key: ConfigKey
    name: DnsSubdomain | None = None
    optional: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """validateConfigMapKeySelector: the schema knows a default name (empty), the API server refuses it."""
        if self.name is None:
            yield Broken("name", "is missing", "add the name of the ConfigMap")


class SecretKeySelector(Model):
    """One key of a Secret in the pod's namespace."""

    key: ConfigKey
    name: DnsSubdomain | None = None
    optional: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """validateSecretKeySelector: the schema knows a default name (empty), the API server refuses it."""
        if self.name is None:
            yield Broken("name", "is missing", "add the name of the Secret")


class FileKeySelector(Model):
    """One key of an env file that an init container wrote into an emptyDir volume (Kubernetes 1.34 and later)."""

    key: Text
    optional: Bool | None = None
    path: FilePath
    volume_name: Text


class ObjectFieldSelector(Model):
    """A field of the pod itself, such as `metadata.name` or `metadata.labels['app']`."""

    api_version: Str | None = None
    field_path: Text

    def rules_among(self, allowed: tuple[str, ...], field: str) -> Iterator[Broken]:
        """validateObjectFieldSelector: one of `allowed`, or one label or annotation by key."""
        path, bracket, rest = self.field_path.partition("[")
        if bracket and path in ("metadata.labels", "metadata.annotations") and rest[-1:] == "]" and len(rest) > 3:
            key = rest[1:-2]
            if rest[0] != "'" or rest[-2] != "'":
                yield Broken(field, f'"{self.field_path}" has no quotes around its key', f"write {path}['{rest[:-1]}']")
            elif error := naming.label_key_error(key.lower() if path == "metadata.annotations" else key):
                yield Broken(field, error)
        elif self.field_path not in allowed:
            hint = nearest(self.field_path, allowed)
            yield Broken(
                field, f'"{self.field_path}" is not a field that pods offer here', hint or f"use {', '.join(allowed)}"
            )


class ResourceFieldSelector(Model):
    """A request or limit of a container, divided by `divisor` (default 1) and rounded up."""

    container_name: Str | None = None
    divisor: Quantity | None = None
    resource: Text

    def rules(self) -> Iterator[Broken]:
        """validateContainerResourceFieldSelector, validateContainerResourceDivisor."""
        huge = self.resource.startswith(("limits.hugepages-", "requests.hugepages-"))
        if not huge and self.resource not in _RESOURCES:
            hint = nearest(self.resource, _RESOURCES)
            yield Broken(
                "resource",
                f'"{self.resource}" is not a resource that pods offer',
                hint or f"use {', '.join(_RESOURCES)} or a huge page size",
            )
        elif self.divisor and self.resource.endswith(".cpu"):
            if self.divisor not in (Quantity(1), Quantity("1m")):
                yield Broken("divisor", f"{self.divisor} does not divide cpu", "write 1 or 1m")
        elif self.divisor and self.divisor not in _SCALES:
            yield Broken("divisor", f"{self.divisor} is not a unit", "write 1, 1k, 1M, 1G, … or 1Ki, 1Mi, 1Gi, …")
