"""A namespace of its own, for clusters whose queues are written without `Tenant`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from constructs import Construct

from trainshed.api.base import KubernetesObject, ObjectMeta
from trainshed.api.core.namespace import Namespace as ApiNamespace
from trainshed.api.types import DnsLabel, LabelKey, LabelValue
from trainshed.gitops.component import Component
from trainshed.tenancy.spec import PodSecurity

_POD_SECURITY: Final = "pod-security.kubernetes.io/"


class Namespace(Component):
    """A namespace that enforces a Pod Security level."""

    def __init__(
        self,
        scope: Construct,
        id: DnsLabel,
        *,
        pod_security: PodSecurity = "restricted",
        labels: Mapping[LabelKey, LabelValue] | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.name = id
        self.pod_security = pod_security
        self.labels = dict(labels or {})

    def render(self) -> Iterable[KubernetesObject]:
        """One Namespace."""
        yield namespace_object(self.name, self.pod_security, self.labels)


def namespace_object(name: str, level: PodSecurity, labels: Mapping[str, str]) -> ApiNamespace:
    """A namespace that enforces, audits and warns at `level`."""
    modes = {f"{_POD_SECURITY}{mode}": level for mode in ("enforce", "audit", "warn")}
    return ApiNamespace(metadata=ObjectMeta(name=name, labels={**labels, **modes}))
