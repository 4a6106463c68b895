"""What checks produce: one finding, its object, its place and the places that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from trainshed.faults import Place, shown_path

Severity = Literal["error", "warning", "info"]

#: The most severe first.
RANK: Final[dict[Severity, int]] = {"error": 0, "warning": 1, "info": 2}


class ObjectRef(NamedTuple):
    """Which object a finding is about. `namespace` is None where the manifest names none."""

    api_version: str
    kind: str
    namespace: str | None
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)

    def to_json(self) -> dict[str, str | None]:
        """The object as the JSON report names it."""
        return {"apiVersion": self.api_version, "kind": self.kind, "namespace": self.namespace, "name": self.name}


@dataclass(frozen=True)
class Finding:
    """One thing to tell a person.

    `code` is stable and kebab-case. `message` says what is wrong and `fix` what would be right, both without a full
    stop. `path` is the field's path in the object as `paths.show_path` writes it (`spec.template.spec.containers[0]`).
    `related` gives labelled places of other objects that the finding speaks of. Findings sort by place, then severity.
    """

    code: str
    severity: Severity
    message: str
    fix: str = ""
    object: ObjectRef | None = None
    path: str = ""
    place: Place | None = None
    related: tuple[tuple[str, Place], ...] = ()

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """File, line, column, severity, code, path, message: a total order that does not depend on the run."""
        place = self.place or Place("")
        return (place.file, place.line, place.column, RANK[self.severity], self.code, self.path, self.message)

    def __lt__(self, other: Finding) -> bool:
        return self.sort_key < other.sort_key

    def to_json(self) -> dict[str, Any]:
        """The finding as the JSON report's contract has it; `line` and `column` are null where unknown."""
        place = self.place
        return {
            "code": self.code,
            "severity": self.severity,
            "object": self.object.to_json() if self.object else None,
            "path": self.path,
            "message": self.message,
            "fix": self.fix,
            "file": shown_path(place.file) if place else None,
            "line": (place.line or None) if place else None,
            "column": (place.column or None) if place else None,
            "related": [
                {"label": label, "file": shown_path(at.file), "line": at.line or None, "column": at.column or None}
                for label, at in self.related
            ],
        }
