"""A workload and its pod sets, whatever kind it is written in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from trainshed.fleet.access import Node, mapping, mappings, strings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.quantity import Quantity

Amounts = dict[str, Quantity]


@dataclass
class PodSet:
    """Pods of one shape. `document` and `path` say where the pod template is written: for a TrainJob mostly in its
    runtime. `template` is that template with everything merged in that the controllers merge (TrainJob fields,
    runtime patches); `requests` are per pod, as the scheduler counts them, LimitRange defaults included."""

    name: str
    count: int
    template: Node
    document: Document
    path: Path
    requests: Amounts = field(default_factory=dict)
    #: Where single fields of a merged template are really written, by their path in the template.
    origins: dict[Path, tuple[Document, Path]] = field(default_factory=dict)

    @property
    def spec(self) -> Node:
        """The pod spec."""
        return mapping(self.template, "spec")

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the pod template."""
        return strings(self.template, "metadata", "labels")

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations of the pod template."""
        return strings(self.template, "metadata", "annotations")

    @property
    def containers(self) -> list[tuple[Path, Node]]:
        """(path in the template, container) of the regular containers."""
        return [(("spec", "containers", index), item) for index, item in mappings(self.spec, "containers")]

    @property
    def init_containers(self) -> list[tuple[Path, Node]]:
        """(path in the template, container) of the init containers, sidecars among them."""
        return [(("spec", "initContainers", index), item) for index, item in mappings(self.spec, "initContainers")]

    @property
    def scheduler(self) -> str:
        """`schedulerName`, empty when the default scheduler places the pods."""
        return text(self.spec, "schedulerName")

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

    @property
    def kind(self) -> str:
        """The kind of the top-level object."""
        return self.document.kind

    @property
    def queue_name(self) -> str:
        """The Kueue LocalQueue it names, empty when it names none."""
        return self.labels.get("kueue.x-k8s.io/queue-name", "")

    @cached_property
    def requests(self) -> Amounts:
        """What all its pods request together."""
        total: Amounts = {}
        for pod_set in self.pod_sets:
            for name, amount in pod_set.requests.items():
                total[name] = total.get(name, Quantity(0)) + amount * pod_set.count
        return total
