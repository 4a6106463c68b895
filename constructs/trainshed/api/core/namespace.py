"""core/v1 Namespace.

Rules: kubernetes v1.36, `pkg/apis/core/validation/validation.go`, `ValidateNamespace`; k8s.io/pod-security-admission
v0.36, `api/helpers.go`.
"""

import re
from collections.abc import Callable, Iterator
from typing import ClassVar, Final, Literal

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.types import LabelKey
from trainshed.faults import nearest

NAME_LABEL: Final = "kubernetes.io/metadata.name"

_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")
_SECURITY_PREFIX: Final = "pod-security.kubernetes.io/"
_SECURITY_LEVELS: Final = ("privileged", "baseline", "restricted")
_SECURITY_VERSION: Final = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")


class NamespaceSpec(Model):
    """What must happen before the namespace is gone. Users leave it alone."""

    finalizers: list[LabelKey] | None = None

    def rules(self) -> Iterator[Broken]:
        """`validateKubeFinalizerName`."""
        for index, name in enumerate(self.finalizers or []):
            if "/" not in name and name not in _STANDARD_FINALIZERS:
                yield Broken(f"finalizers[{index}]", f'"{name}" is neither a known finalizer nor has it a prefix')


class Namespace(KubernetesObject):
    """A tenant's part of the cluster."""

    namespaced: ClassVar[bool] = False
    name_error: ClassVar[Callable[[str], str]] = staticmethod(naming.dns1123_label_error)

    api_version: Literal["v1"] = "v1"
    kind: Literal["Namespace"] = "Namespace"
    spec: NamespaceSpec | None = None

    def rules(self) -> Iterator[Broken]:
        """The name label, which the server overwrites; Pod Security's labels, which it refuses when wrong."""
        labels = self.metadata.labels or {}
        name = self.metadata.name
        if name is not None and labels.get(NAME_LABEL, name) != name:
            text = f'is "{labels[NAME_LABEL]}", and the server will set it to "{name}"'
            yield Broken(f"metadata.labels[{NAME_LABEL}]", text, "leave it out")
        for mode in ("enforce", "audit", "warn"):
            key = f"{_SECURITY_PREFIX}{mode}"
            level = labels.get(key, "privileged")
            if level not in _SECURITY_LEVELS:
                fix = nearest(level, _SECURITY_LEVELS) or f"write one of {', '.join(_SECURITY_LEVELS)}"
                yield Broken(f"metadata.labels[{key}]", f'"{level}" is not a level of Pod Security', fix)
            version = labels.get(f"{key}-version", "latest")
            if not _SECURITY_VERSION.fullmatch(version):
                text = f'"{version}" is not a version of Pod Security'
                yield Broken(f"metadata.labels[{key}-version]", text, 'write "latest", or a version such as "v1.36"')
