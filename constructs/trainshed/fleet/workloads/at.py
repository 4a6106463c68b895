"""Where a workload object stands: in a document of its own, or inside another object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from trainshed.fleet.access import Node, mapping, strings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: No controller takes a larger count; beyond it arithmetic on what people mistype only costs time.
_MOST = 2**31 - 1


class At(NamedTuple):
    """An object to read: `manifest` stands at `path` of `document`."""

    fleet: Fleet
    document: Document
    manifest: Node
    path: Path = ()

    @property
    def name(self) -> str:
        """The object's own name, otherwise its document's."""
        return text(self.manifest, "metadata", "name") or self.document.name

    @property
    def namespace(self) -> str | None:
        """The object's own namespace, otherwise its document's."""
        return text(self.manifest, "metadata", "namespace") or self.document.namespace

    def inside(self, *path: str | int) -> At:
        """The mapping at `path` of this object, as an object of its own."""
        return At(self.fleet, self.document, mapping(self.manifest, *path), self.path + path)

    def pod_set(self, name: str, count: int, *path: str | int, count_path: Path = (), **more: Any) -> PodSet:
        """A pod set whose template stands at `path`, and its count at `count_path` (`("spec", "replicas")`)."""
        more.setdefault("count_at", (self.document, self.path + count_path))
        template = mapping(self.manifest, *path)
        return PodSet(name, min(max(count, 0), _MOST), template, self.document, self.path + path, **more)

    def workload(self, form: str, pod_sets: list[PodSet], **more: Any) -> Workload:
        """The workload of this object, with the labels and annotations of its metadata."""
        return Workload(
            self.document,
            pod_sets,
            strings(self.manifest, "metadata", "labels"),
            (*self.path, "metadata", "labels"),
            strings(self.manifest, "metadata", "annotations"),
            (*self.path, "metadata", "annotations"),
            manifest=self.manifest,
            form=form,
            path=self.path,
            **more,
        )


def counted(node: Any, field: str, default: int = 1) -> int:
    """The count in `field`, `default` where none is written; never negative."""
    value = whole(node, field)
    return default if value is None else min(max(value, 0), _MOST)
