"""Trainshed: the tenants of `trainshed_side.py`, each with one training run; what `bench.check` judges."""

import os
import sys
from pathlib import Path

from trainshed.gitops import App, Cluster
from trainshed.gitops.tree import write_tree
from trainshed.tenancy import Cohort, NodePool, Tenant, nodes
from trainshed.training import IndexedJob, JobSet, Training, TrainJob

RUNS = (TrainJob, JobSet, IndexedJob)


class Bench(Cluster):
    """One pool, one cohort, `tenants` tenants with two namespaces and one two-node run each."""

    def __init__(self, app: App, tenants: int) -> None:
        super().__init__(app, "bench")
        pool = NodePool(
            self,
            "h100",
            nodes=2 * tenants,
            per_node={"cpu": 96, "memory": "400G", "nvidia.com/gpu": 8},
            labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
        )
        shared = Cohort(self, "shared")
        for number in range(tenants):
            name = f"tenant-{number:04}"
            tenant = Tenant(
                self,
                name,
                namespaces=[f"{name}-research", f"{name}-production"],
                owners=[f"{name}-owners"],
                cohort=shared,
                guarantee={pool: nodes(2)},
                borrow={pool: nodes(1)},
                priority="normal",
            )
            run = Training(
                nodes=2,
                gpus_per_node=8,
                image="registry.example.com/llm/trainer:1.4.2",
                script="/opt/trainer/train.py",
                args=["--seed", str(number)],
                resources={"cpu": 64, "memory": "300G"},
            )
            RUNS[number % len(RUNS)](self, f"{name}-run", run, queue=tenant.queue(f"{name}-research"))


app = App()
Bench(app, int(sys.argv[1]))
write_tree(Path(os.environ["CDK8S_OUTDIR"]), app.files())
