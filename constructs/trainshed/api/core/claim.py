"""PersistentVolumeClaimSpec, as in a claim of its own, in an ephemeral volume, and in volume claim templates.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, ValidatePersistentVolumeClaimSpec.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from trainshed import naming
from trainshed.api.base import Broken, Model
from trainshed.api.core.refs import TypedLocalObjectReference, TypedObjectReference
from trainshed.api.meta import TemplateMeta
from trainshed.api.selectors import LabelSelector
from trainshed.api.types import Str
from trainshed.quantity import Quantity

AccessMode = Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]


class VolumeResourceRequirements(Model):
    """How large the volume is. Only `storage` means something, in bytes."""

    limits: dict[str, Quantity] | None = None
    requests: dict[str, Quantity] | None = None

    def rules(self) -> Iterator[Broken]:
        """The storage request is positive."""
        request = (self.requests or {}).get("storage")
        if request is not None and request <= Quantity(0):
            yield Broken("requests[storage]", f"{request} is not more than 0", "write a size such as 100Gi")


class PersistentVolumeClaimSpec(Model):
    """What a claim asks for. `storage_class_name: ""` means no dynamic provisioning; absent means the default class.

    Immutable after creation, except a growing storage request and the attributes class.
    """

    IMMUTABLE: ClassVar[tuple[str, ...]] = (
        "accessModes",
        "dataSource",
        "dataSourceRef",
        "selector",
        "storageClassName",
        "volumeMode",
        "volumeName",
    )

    access_modes: list[AccessMode] | None = None
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements | None = None
    selector: LabelSelector | None = None
    storage_class_name: Str | None = None
    volume_attributes_class_name: Str | None = None
    volume_mode: Literal["Filesystem", "Block"] | None = None
    volume_name: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """Modes and a storage request; ReadWriteOncePod alone; the class' name; one and the same data source."""
        if not self.access_modes:
            yield Broken("accessModes", "is missing", "add accessModes: [ReadWriteOnce] or [ReadWriteMany]")
        if not self.resources or "storage" not in (self.resources.requests or {}):
            yield Broken("resources.requests[storage]", "is missing", "add the size of the volume, such as 100Gi")
        if self.access_modes and "ReadWriteOncePod" in self.access_modes and len(self.access_modes) > 1:
            yield Broken("accessModes", "ReadWriteOncePod stands beside other modes", "keep ReadWriteOncePod alone")
        if self.storage_class_name and (error := naming.dns1123_subdomain_error(self.storage_class_name)):
            yield Broken("storageClassName", error)
        source, ref = self.data_source, self.data_source_ref
        if source and ref:
            if ref.namespace:
                yield Broken("dataSource", "stands beside a dataSourceRef with a namespace", "remove dataSource")
            elif (source.api_group or "", source.kind, source.name) != (ref.api_group or "", ref.kind, ref.name):
                yield Broken("dataSource", "differs from dataSourceRef", "remove dataSource")


class PersistentVolumeClaimTemplate(Model):
    """A claim that is made together with the pod, and deleted with it."""

    metadata: TemplateMeta | None = None
    spec: PersistentVolumeClaimSpec
