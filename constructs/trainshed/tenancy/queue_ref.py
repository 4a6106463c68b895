"""A queue that a run is submitted to, as workload components see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trainshed.api.types import DnsLabel, DnsSubdomain
from trainshed.gitops.component import Component


@dataclass(frozen=True)
class QueueRef:
    """A LocalQueue in a namespace.

    `component` is what declares it (None for a queue that exists outside this repository), `home` the application its
    runs belong to, `priority` the WorkloadPriorityClass of runs that name none.
    """

    example: ClassVar[str] = 'tenant.queue("namespace")'

    name: DnsLabel
    namespace: DnsLabel
    component: Component | None = None
    home: DnsLabel = "runs"
    priority: DnsSubdomain | None = None

    @property
    def is_broken(self) -> bool:
        """Whether it is the queue of what is broken: then nothing more is said about it."""
        return self.component is not None and self.component.is_broken
