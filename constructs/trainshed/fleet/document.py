"""One Kubernetes object as it was read: its data, its name, and where every field of it stands."""

from __future__ import annotations

from typing import Any

from trainshed.faults import Place
from trainshed.fleet.access import strings
from trainshed.fleet.finding import Finding, ObjectRef, Severity
from trainshed.fleet.paths import Path, show_path
from trainshed.fleet.positions import Extent, Positions, Spelling
from trainshed.fleet.source import Source

Identity = tuple[str, str, str, str]


class Document:
    """One object of the input.

    `manifest`: plain data with scalars as Kubernetes reads them; treat it as read-only. `group` is empty for the core
    group; `namespace` is None where the manifest names none. `generated` says that `name` is only a `generateName`
    prefix. `prefix` is where the object stands in its document: `("items", 3)` in a List. `unjudged` is empty, or says
    why rules must leave the object alone ("encrypted", "template", "patch"): it counts as present, but nothing in it is
    to be judged.
    """

    __slots__ = (
        "_annotations",
        "_positions",
        "api_version",
        "extent",
        "generated",
        "group",
        "kind",
        "manifest",
        "name",
        "namespace",
        "prefix",
        "unjudged",
    )

    def __init__(self, manifest: dict[str, Any], extent: Extent, positions: Positions, prefix: Path = ()) -> None:
        self.manifest = manifest
        self.extent = extent
        self._positions = positions
        self._annotations: dict[str, str] | None = None
        self.prefix = prefix
        self.unjudged = ""
        self.api_version: str = manifest["apiVersion"]
        self.group: str = self.api_version.rpartition("/")[0]
        self.kind: str = manifest["kind"]
        metadata = manifest.get("metadata")
        if metadata.__class__ is not dict:
            metadata = {}
        name, namespace = metadata.get("name"), metadata.get("namespace")
        self.generated = False
        if name is None or name == "":
            name = metadata.get("generateName")
            self.generated = name is not None
        self.name: str = name if name.__class__ is str else "" if name is None else str(name)
        self.namespace: str | None = namespace if namespace.__class__ is str else str(namespace) if namespace else None

    def __repr__(self) -> str:
        return f"<{self.api_version} {self.ref} in {self.file}>"

    @property
    def source(self) -> Source:
        """The text that the object was read from."""
        return self.extent.source

    @property
    def file(self) -> str:
        """The file's name as the user gave it, `<stdin>` for standard input."""
        return self.extent.source.file

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations with string values, as the API server takes them."""
        if self._annotations is None:
            self._annotations = strings(self.manifest, "metadata", "annotations")
        return self._annotations

    @property
    def version(self) -> str:
        """The version without its group: `v1beta2`."""
        return self.api_version.rpartition("/")[2]

    @property
    def identity(self) -> Identity:
        """(group, kind, namespace, name), as `KubernetesObject.identity`."""
        return (self.group, self.kind, self.namespace or "", self.name)

    @property
    def ref(self) -> ObjectRef:
        """The object as findings name it."""
        return ObjectRef(self.api_version, self.kind, self.namespace, self.name)

    @property
    def judged(self) -> bool:
        """Whether rules may judge the object."""
        return not self.unjudged

    def place(self, path: Path = (), *, value: bool = False) -> Place:
        """Where the field at `path` stands: its key, or its value. For a missing field: the nearest parent there is.

        The first call for a document costs one more reading of it (about 0.02 ms for ten lines).
        """
        return self._positions.place(self.extent, self.prefix + path, value)

    def has(self, path: Path) -> bool:
        """Whether the field at `path` is written."""
        node: Any = self.manifest
        for part in path:
            inside = part in node if isinstance(node, dict) else isinstance(node, list) and _is_index(part, node)
            if not inside:
                return False
            node = node[part]
        return True

    def raw(self, path: Path) -> Spelling | None:
        """How the scalar at `path` is spelled; None where there is no scalar or the text cannot be read again."""
        return self._positions.spelling(self.extent, self.prefix + path)

    def finding(
        self,
        code: str,
        severity: Severity,
        message: str,
        fix: str = "",
        path: Path = (),
        related: tuple[tuple[str, Place], ...] = (),
        *,
        value: bool = False,
    ) -> Finding:
        """A finding on this object, with the place of `path`."""
        place = self.place(path, value=value)
        return Finding(code, severity, message, fix, self.ref, show_path(path), place, related)


def _is_index(part: str | int, items: list[Any]) -> bool:
    return isinstance(part, int) and 0 <= part < len(items)
