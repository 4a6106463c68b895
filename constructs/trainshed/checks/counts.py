"""The numbers of one check."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trainshed.target import Target


@dataclass(frozen=True)
class CheckCounts:
    """`unknown` objects are of a kind without a schema here (`unknown_kinds` counts them by kind); `unjudged` ones are
    templates, patches or encrypted. `allowed` findings are not reported; `internal_errors` are rules that failed."""

    target: Target
    errors: int = 0
    warnings: int = 0
    infos: int = 0
    allowed: int = 0
    files: int = 0
    objects: int = 0
    unjudged: int = 0
    unknown: int = 0
    unknown_kinds: dict[str, int] = field(default_factory=dict)
    not_kubernetes: int = 0
    skipped_files: int = 0
    chart_templates: int = 0
    internal_errors: int = 0

    def to_json(self) -> dict[str, Any]:
        """The summary of the JSON report."""
        return {
            "errors": self.errors,
            "warnings": self.warnings,
            "infos": self.infos,
            "allowed": self.allowed,
            "files": self.files,
            "objects": self.objects,
            "unjudged": self.unjudged,
            "unknown": self.unknown,
            "unknownKinds": self.unknown_kinds,
            "notKubernetes": self.not_kubernetes,
            "skippedFiles": self.skipped_files,
            "chartTemplates": self.chart_templates,
            "internalErrors": self.internal_errors,
            "target": vars(self.target),
        }
