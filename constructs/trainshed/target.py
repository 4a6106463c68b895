"""The versions of Kubernetes and its extensions that the output is made for."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Target:
    """Release of each system, as in its own tag without the leading `v`."""

    kubernetes: str = "1.36"
    kueue: str = "0.19.2"
    jobset: str = "0.12.0"
    trainer: str = "2.3.0"
    volcano: str = "1.15.1"
    argocd: str = "3.5.1"


TARGET = Target()

#: Of each extension the (major, first minor, last minor) releases that serve an API which the checks can read. Those of
#: Kubernetes are the ones with schemas (`checks.schema_core.releases`).
KNOWN: Final[dict[str, tuple[tuple[int, int, int], ...]]] = {
    "kueue": ((0, 3, 19),),
    "jobset": ((0, 2, 12),),
    "trainer": ((2, 0, 3),),
    "volcano": ((1, 0, 15),),
    "argocd": ((2, 0, 14), (3, 0, 5)),
}


def known_releases(system: str) -> str:
    """The releases of `system` that a target may name, for a sentence; empty where another list decides."""
    return " and ".join(f"{major}.{first} to {major}.{last}" for major, first, last in KNOWN.get(system, ()))


def is_known(system: str, release: str) -> bool:
    """Whether a target may name this release: `0.19` or any patch of it. Systems with a list elsewhere have all."""
    if system not in KNOWN:
        return True
    major, minor, *_ = (*(int(part) for part in release.split(".")), -1, -1)
    return any(major == known and first <= minor <= last for known, first, last in KNOWN[system])
