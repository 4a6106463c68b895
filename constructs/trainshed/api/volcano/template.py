"""What a pod template keeps inside a Volcano Job, and what full pod validation says about it.

Volcano v1.15.1 carries its own copy of the pod template's schema. A field that the copy lacks is dropped by the API
server without a word, so it is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from trainshed.api.base import Broken, Model
from trainshed.api.core.pod import PodTemplateSpec

#: Fields of our pod template that Volcano's schema lacks, by the name of the class.
UNKNOWN_FIELDS: Final[dict[str, frozenset[str]]] = {
    "ClusterTrustBundleProjection": frozenset({"user"}),
    "ConfigMapVolumeSource": frozenset({"default_user"}),
    "DownwardAPIVolumeFile": frozenset({"user"}),
    "DownwardAPIVolumeSource": frozenset({"default_user"}),
    "EmptyDirVolumeSource": frozenset({"mode"}),
    "GRPCAction": frozenset({"mode"}),
    "HTTPGetAction": frozenset({"protocol"}),
    "KeyToPath": frozenset({"user"}),
    "PodCertificateProjection": frozenset({"user"}),
    "PodSpec": frozenset({"scheduling_group", "eviction_responders"}),
    "ProjectedVolumeSource": frozenset({"default_user"}),
    "SecretVolumeSource": frozenset({"default_user"}),
    "ServiceAccountTokenProjection": frozenset({"user"}),
    "VolumeMount": frozenset({"bind_mount_options"}),
}


def template_rules(template: PodTemplateSpec, path: str) -> Iterator[Broken]:
    """A pod spec whose mounts name its volumes (the webhook validates the template alone), and no dropped fields."""
    if template.spec is None:
        yield Broken(f"{path}.spec", "is missing", "add the pod's spec")
    else:
        yield from template.spec.mount_rules(f"{path}.spec")
    yield from _dropped(template, path)


def _dropped(model: Model, path: str) -> Iterator[Broken]:
    unknown = UNKNOWN_FIELDS.get(type(model).__name__, frozenset())
    for name, info in type(model).model_fields.items():
        value = getattr(model, name) if name in model.model_fields_set else None
        if value is None:
            continue
        field = f"{path}.{info.alias or name}"
        if name in unknown:
            yield Broken(field, "is dropped by Volcano, whose schema does not have it", "leave it out")
        else:
            yield from _dropped_below(value, field)


def _dropped_below(value: Any, path: str) -> Iterator[Broken]:
    if isinstance(value, Model):
        yield from _dropped(value, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, Model):
                yield from _dropped(item, f"{path}[{index}]")
