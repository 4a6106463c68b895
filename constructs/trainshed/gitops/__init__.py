"""The write half's spine: App, Cluster, Application, Component, Argo CD objects, and the writer of `dist/`."""

from trainshed.gitops.node import use_packaged_node

use_packaged_node()

from trainshed.gitops.app import App, Repository  # noqa: E402  (jsii picks its Node on import)
from trainshed.gitops.application import Access, Application  # noqa: E402
from trainshed.gitops.cluster import Cluster  # noqa: E402
from trainshed.gitops.component import Component  # noqa: E402
from trainshed.gitops.failures import faults_reported  # noqa: E402

__all__ = ["Access", "App", "Application", "Cluster", "Component", "Repository", "faults_reported"]
