"""The write half's spine: App, Cluster, Application, Component, Argo CD objects, and the writer of `dist/`.

The names are imported when they are asked for: `trainshed synth` needs the writer, but not Node and cdk8s, in the
process that judges and writes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trainshed.gitops.node import use_packaged_node

use_packaged_node()  # jsii picks its Node on import

if TYPE_CHECKING:
    from trainshed.gitops.app import App, Repository
    from trainshed.gitops.application import Access, Application
    from trainshed.gitops.cluster import Cluster
    from trainshed.gitops.component import Component
    from trainshed.gitops.failures import faults_reported

__all__ = ["Access", "App", "Application", "Cluster", "Component", "Repository", "faults_reported"]

_HOMES = {
    "Access": "application",
    "App": "app",
    "Application": "application",
    "Cluster": "cluster",
    "Component": "component",
    "Repository": "app",
    "faults_reported": "failures",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
