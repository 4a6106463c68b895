"""What a person may choose about a check: codes, severities, versions, CRDs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from trainshed.fleet.finding import Severity
from trainshed.target import TARGET, Target

RANK: Final[dict[Severity, int]] = {"error": 0, "warning": 1, "info": 2}


class CannotCheck(Exception):  # noqa: N818  (reads as what happened)
    """The check cannot start: a wrong option, an unusable configuration, a baseline that is not there. Exit code 2."""


@dataclass(frozen=True)
class Options:
    """`select` and `ignore` hold codes or their first words (`kueue` means every `kueue-…`); an empty `select` selects
    all. `severity` is the lowest that is reported. `crds` are files and folders of CustomResourceDefinitions."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Severity = "info"
    target: Target = field(default=TARGET)
    crds: tuple[str, ...] = ()

    def wants(self, code: str) -> bool:
        """Whether findings of `code` are asked for."""
        return (not self.select or _among(code, self.select)) and not self.ignores(code)

    def ignores(self, code: str) -> bool:
        """Whether findings of `code` are not to be told."""
        return _among(code, self.ignore)

    def shows(self, severity: Severity) -> bool:
        """Whether findings of `severity` are reported."""
        return RANK[severity] <= RANK[self.severity]


def _among(code: str, words: tuple[str, ...]) -> bool:
    return any(code == word or code.startswith(f"{word}-") for word in words)
