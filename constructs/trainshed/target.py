"""The versions of Kubernetes and its extensions that the output is made for."""

from dataclasses import dataclass


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
