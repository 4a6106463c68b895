"""What every training run shares: its queue, its append-only name, and when it may be refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from constructs import Construct

from trainshed import naming
from trainshed.api.base import KubernetesObject
from trainshed.api.types import DnsLabel, LabelValue
from trainshed.faults import Fault, nearest
from trainshed.gitops.component import Component
from trainshed.gitops.keys import OwnAnnotation, OwnLabel
from trainshed.tenancy.kueue import LocalQueue
from trainshed.tenancy.pool import OUR_LEVELS, NodePool, level_label
from trainshed.tenancy.queue_ref import QueueRef
from trainshed.tenancy.tenant import Tenant
from trainshed.tenancy.tiers import declared_classes
from trainshed.training.description import Training
from trainshed.training.volumes import Text

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
RUN_LABEL: Final = "trainshed.dev/run"
_SAMPLE_HASH: Final = "0" * 8


class Run(Component):
    """One run of a training job, submitted to a queue. It is append-only: its name is the id and a short hash of what
    is rendered, so a change makes a new object and never patches one in place, whose fields are immutable anyway.

    It belongs to the queue's application (a tenant's runs to the tenant's), unless it stands in an `Application`.
    `labels` and `annotations` stand on the run itself, the object that is submitted, and on no pod. They are no part
    of its name: who pays for a run may change while it runs. Keys of controllers are refused.
    """

    default_application: ClassVar[str] = "runs"
    #: The kind as tenants name it in `workload_kinds`.
    workload_kind: ClassVar[str]

    def __init__(
        self,
        scope: Construct,
        id: DnsLabel,
        training: Training,
        *,
        queue: QueueRef | LocalQueue,
        labels: Mapping[OwnLabel, LabelValue] | None = None,
        annotations: Mapping[OwnAnnotation, Text] | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.labels = dict(labels or {})
        self.annotations = dict(annotations or {})
        self.training = training
        self.queue = queue.ref if isinstance(queue, LocalQueue) else queue
        self.namespace = self.queue.namespace

    def objects(self, name: str) -> list[KubernetesObject]:
        """The API objects of a run called `name`."""
        raise TypeError(f"{type(self).__name__} does not say what it renders")

    def name_errors(self, name: str) -> list[str]:
        """Derived names that would break for a run called `name`."""
        raise TypeError(f"{type(self).__name__} does not say which names it derives")

    @property
    def name(self) -> str:
        """The run's name: id and hash of what it renders."""
        rendered = [made.manifest() for made in self.objects(self.id)]
        return f"{self.id}-{naming.short_hash(rendered)}"

    def home(self) -> str:
        """The application of the queue's runs."""
        return self.queue.home

    def render(self) -> Iterable[KubernetesObject]:
        """The run and what belongs to it; nothing when its names do not fit, which is told already."""
        return self.marked(self.objects(self.name)) if self._fits() else ()

    def marked(self, made: list[KubernetesObject]) -> list[KubernetesObject]:
        """`made`, with the person's own labels and annotations on the run, which is the last of them."""
        *beside, run = made
        written = run.metadata
        update = {
            "labels": {**self.labels, **(written.labels or {})} or None,
            "annotations": {**self.annotations, **(written.annotations or {})} or None,
        }
        return [*beside, run.model_copy(update={"metadata": written.model_copy(update=update)})]

    def validate(self) -> Iterable[Fault]:
        """Names within their budgets; a kind that the tenant allows; a priority class and a level that exist."""
        yield from self._name_faults()
        yield from self._topology_faults()
        owner = self.queue.component
        if isinstance(owner, Tenant) and owner.spec and self.workload_kind not in owner.spec.workload_kinds:
            allowed = ", ".join(owner.spec.workload_kinds)
            yield self._told(f"{owner.title} does not allow {self.workload_kind}", "queue", f"it allows {allowed}")
        if self.training.priority and self.training.priority not in (known := declared_classes(self.cluster)):
            yield self._told(
                f'"{self.training.priority}" is no WorkloadPriorityClass of cluster "{self.cluster.id}"',
                "priority",
                f"it has {', '.join(sorted(known))}" if known else "declare one with WorkloadPriorityClass",
            )

    def queue_labels(self) -> dict[str, str]:
        """Kueue reads queue and priority from the outermost object only."""
        priority = self.training.priority or self.queue.priority
        return {
            QUEUE_LABEL: self.queue.name,
            RUN_LABEL: self.id,
            **({PRIORITY_LABEL: priority} if priority else {}),
        }

    def _topology_faults(self) -> Iterable[Fault]:
        request, pools = self.training.topology, self.cluster.all_of(NodePool)
        levels = list(dict.fromkeys(level for pool in pools for level in pool.levels))
        if request is None or not pools or level_label(request.level) in levels:
            return
        words = [level.removeprefix(OUR_LEVELS) for level in levels]
        fix = nearest(request.level, words) or (f"it has {', '.join(words)}" if words else "declare topology levels")
        yield self._told(f'no node pool of cluster "{self.cluster.id}" has a level "{request.level}"', "topology", fix)

    def _fits(self) -> bool:
        return not self.name_errors(f"{self.id}-{_SAMPLE_HASH}")

    def _name_faults(self) -> Iterable[Fault]:
        sample = f"{self.id}-{_SAMPLE_HASH}"
        if errors := self.name_errors(sample):
            short = next(
                (size for size in range(len(self.id), 0, -1) if not self.name_errors(f"{'a' * size}-{_SAMPLE_HASH}")), 0
            )
            fix = f"use at most {short} characters" if 0 < short < len(self.id) else "use another name"
            yield self._told(f'with its hash it is called "{sample}": {", and ".join(errors)}', "name", fix)

    def _told(self, message: str, field: str, fix: str) -> Fault:
        return Fault(message, self.title, field, fix, self.place)
