"""Three nodes, one queue, three jobs of two nodes: only one fits at a time, the others wait whole."""

from __future__ import annotations

from stacks.hardware import LABELS, PER_NODE, whole_nodes
from trainshed.gitops import App, Cluster
from trainshed.tenancy import ClusterQueue, LocalQueue, Namespace, NodePool, nodes
from trainshed.training import IndexedJob


class Playground(Cluster):
    """Kueue's parts, written one by one."""

    def __init__(self, app: App) -> None:
        super().__init__(app, "playground")
        pool = NodePool(self, "h100", nodes=3, per_node=PER_NODE, labels=LABELS)
        Namespace(self, "playground", pod_security="restricted")
        queue = ClusterQueue(self, "clusterq-playground", quota={pool: nodes(3)}, namespaces=["playground"])
        llm = LocalQueue(self, "playground-llm-queue", namespace="playground", cluster_queue=queue)
        for number in (1, 2, 3):
            IndexedJob(self, f"llm-job-{number}", whole_nodes(2, run__seed=number), queue=llm)
