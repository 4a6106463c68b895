"""Three nodes under Volcano: one queue over all of them, and three gangs."""

from __future__ import annotations

from stacks.hardware import PER_NODE, whole_nodes
from trainshed.gitops import App, Cluster
from trainshed.tenancy import Namespace, NodePool, VolcanoQueue, VolcanoScheduler, nodes
from trainshed.training import VolcanoJob


class Batch(Cluster):
    """Volcano instead of Kueue: the scheduler places gangs itself."""

    def __init__(self, app: App) -> None:
        super().__init__(app, "batch")
        pool = NodePool(self, "h100", nodes=3, per_node=PER_NODE, flavor=False)
        VolcanoScheduler(self)
        queue = VolcanoQueue(self, "test", capability={pool: nodes(3)})
        Namespace(self, "batch", pod_security="restricted")
        VolcanoJob(self, "job-1", whole_nodes(1), queue=queue, namespace="batch")
        VolcanoJob(self, "job-2", whole_nodes(2), queue=queue, namespace="batch")
        VolcanoJob(self, "job-3", whole_nodes(1, run__seed=3), queue=queue, namespace="batch")
