"""Eight 8-GPU nodes, two tenants; idle GPUs are lent and come back on demand."""

from __future__ import annotations

from pathlib import Path

from stacks.hardware import LABELS, PER_NODE, whole_nodes
from trainshed.gitops import App, Cluster
from trainshed.inputs import load_tenants
from trainshed.tenancy import Cohort, NodePool, Tenant, nodes
from trainshed.training import JobSet, TopologyRequest, TrainJob


class Lab(Cluster):
    """A high-priority tenant with 24 GPUs; a low-priority one with 40, which may borrow the others' idle ones."""

    def __init__(self, app: App) -> None:
        super().__init__(app, "lab")
        pool = NodePool(self, "h100", nodes=8, per_node=PER_NODE, labels=LABELS, topology=["block", "rack", "host"])
        shared = Cohort(self, "lab")
        high = Tenant(
            self,
            "high",
            namespaces=["namespace-1"],
            owners=["research"],
            cohort=shared,
            guarantee={pool: nodes(3)},
            priority="high",
        )
        low = load_tenants(self, Path(__file__).parent / "tenants")["low"]
        ddp = whole_nodes(2).model_copy(update={"topology": TopologyRequest(level="rack")})
        TrainJob(self, "model-training", ddp, queue=high.queue("namespace-1"), runtime="pytorch-ddp-runtime")
        JobSet(self, "model-training", ddp, queue=low.queue("namespace-2"))
