"""core/v1 PersistentVolumeClaim. Its rules are those of its spec, see `claim`."""

from typing import ClassVar, Literal

from trainshed.api.base import KubernetesObject
from trainshed.api.core.claim import PersistentVolumeClaimSpec


class PersistentVolumeClaim(KubernetesObject):
    """Storage for one or many pods. Only the storage request may grow, and volumeAttributesClassName may change."""

    namespaced: ClassVar[bool] = True
    IMMUTABLE: ClassVar[tuple[str, ...]] = tuple(f"spec.{path}" for path in PersistentVolumeClaimSpec.IMMUTABLE)

    api_version: Literal["v1"] = "v1"
    kind: Literal["PersistentVolumeClaim"] = "PersistentVolumeClaim"
    spec: PersistentVolumeClaimSpec
