"""A workload and its pod sets, whatever kind it is written in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from trainshed.fleet.access import Node, mapping, mappings, strings, text
from trainshed.fleet.amounts import ZERO, Amounts
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

#: What a PodSet looks up in its template once.
_PARTS: Final = ("spec", "labels", "annotations", "containers", "init_containers")


@dataclass
class PodSet:
    """Pods of one shape. `document` and `path` say where the pod template is written: for a TrainJob mostly in its
    runtime. `template` is that template with everything merged in that the controllers merge (TrainJob fields,
    runtime patches); `requests` are per pod, as the scheduler counts them, LimitRange defaults included. `count` is
    the number of pods of the whole object, all its replicas and units together. The parts of a template are looked up
    once, so `rewrite` changes it, not an assignment."""

    name: str
    count: int
    template: Node
    document: Document
    path: Path
    requests: Amounts = field(default_factory=dict)
    #: Where single fields of a merged template are really written, by their path in the template.
    origins: dict[Path, tuple[Document, Path]] = field(default_factory=dict)
    #: Where the count is written, or would be: document and path.
    count_at: tuple[Document, Path] | None = None
    #: The list item or mapping that declares the pod set (a replicatedJob, a Volcano task, a replica spec), merged as
    #: the template is; it stands at `item_path` of `document`.
    item: Node = field(default_factory=dict)
    item_path: Path = ()
    #: The batch/v1 JobSpec that makes the pods (Job, CronJob, JobSet, TrainJob), merged likewise; empty for others.
    job: Node = field(default_factory=dict)
    job_path: Path = ()
    #: How many equal Jobs or groups share `count`: a replicatedJob's or a LeaderWorkerSet's replicas.
    replicas: int = 1
    #: What `once` has worked out.
    kept: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def spec(self) -> Node:
        """The pod spec."""
        return mapping(self.template, "spec")

    @cached_property
    def labels(self) -> dict[str, str]:
        """Labels of the pod template."""
        return strings(self.template, "metadata", "labels")

    @cached_property
    def annotations(self) -> dict[str, str]:
        """Annotations of the pod template."""
        return strings(self.template, "metadata", "annotations")

    @cached_property
    def containers(self) -> list[tuple[Path, Node]]:
        """(path in the template, container) of the regular containers."""
        return [(("spec", "containers", index), item) for index, item in mappings(self.spec, "containers")]

    @cached_property
    def init_containers(self) -> list[tuple[Path, Node]]:
        """(path in the template, container) of the init containers, sidecars among them."""
        return [(("spec", "initContainers", index), item) for index, item in mappings(self.spec, "initContainers")]

    @property
    def scheduler(self) -> str:
        """`schedulerName`, empty when the default scheduler places the pods."""
        return text(self.spec, "schedulerName")

    def rewrite(self, template: Node) -> None:
        """Puts another template in the place of the one it has."""
        self.template = template
        self.kept.clear()
        for name in _PARTS:
            self.__dict__.pop(name, None)

    def at(self, path: Path) -> tuple[Document, Path]:
        """Where the template's field at `path` is written: document and path in it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                document, start = self.origins[path[:length]]
                return document, start + path[length:]
        return self.document, self.path + path


@dataclass
class Workload:
    """One top-level object that makes pods. `labels` are those Kueue reads (a CronJob's: of its job template), written
    at `labels_path`; `annotations` likewise. `parts_known` is False when something that decides the pod sets, such as a
    TrainJob's runtime, is not in the input; then `pod_sets` holds what is known."""

    document: Document
    pod_sets: list[PodSet]
    labels: dict[str, str] = field(default_factory=dict)
    labels_path: Path = ("metadata", "labels")
    annotations: dict[str, str] = field(default_factory=dict)
    annotations_path: Path = ("metadata", "annotations")
    parts_known: bool = True
    runtime: Document | None = None
    #: The object that makes the pods: the manifest itself, a CronJob's job template, for a TrainJob the JobSet that
    #: Trainer renders (`form` "JobSet"). `form` is the kind whose fields it has; it stands at `path` of `document`
    #: (a rendered JobSet's spec: at `runtime_path` of `runtime`).
    manifest: Node = field(default_factory=dict)
    form: str = ""
    path: Path = ()
    #: Into how many Kueue Workloads of one shape it falls: a LeaderWorkerSet's groups, a Deployment's pods.
    units: int = 1
    #: All documents of it: the pods of a group. Otherwise only `document`.
    members: list[Document] = field(default_factory=list)
    #: What an AppWrapper or a JobFlow is made of; their pod sets are also its own.
    parts: list[Workload] = field(default_factory=list)
    #: The namespace it lands in; None where the input does not say.
    namespace: str | None = None

    def __post_init__(self) -> None:
        if not self.members:
            self.members = [self.document]

    @property
    def kind(self) -> str:
        """The kind of the top-level object."""
        return self.document.kind

    @property
    def queue_name(self) -> str:
        """The Kueue LocalQueue it names, empty when it names none."""
        return self.labels.get("kueue.x-k8s.io/queue-name", "")

    @property
    def pods(self) -> int:
        """How many pods it has, all pod sets together."""
        return sum(pod_set.count for pod_set in self.pod_sets)

    def unit_count(self, pod_set: PodSet) -> int:
        """How many pods of `pod_set` one Kueue Workload has."""
        return pod_set.count // self.units if self.units > 1 else pod_set.count

    @cached_property
    def requests(self) -> Amounts:
        """What all its pods request together."""
        return self._total(1)

    @cached_property
    def unit_requests(self) -> Amounts:
        """What has to fit at once: the requests of one of its Kueue Workloads."""
        return self._total(max(self.units, 1))

    def _total(self, parts: int) -> Amounts:
        total: Amounts = {}
        for pod_set in self.pod_sets:
            count = pod_set.count // parts
            for name, amount in pod_set.requests.items():
                total[name] = total.get(name, ZERO) + amount * count
        return total
