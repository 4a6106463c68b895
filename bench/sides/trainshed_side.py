"""Trainshed: a stack of N tenants, `render`ed and written as the other sides do it, or `synth`esized: judged, too."""

import os
import sys
from pathlib import Path

from trainshed.gitops import App, Cluster
from trainshed.gitops.tree import write_tree
from trainshed.tenancy import Cohort, NodePool, Tenant, nodes


class Bench(Cluster):
    """One pool, one cohort, and `tenants` tenants with two namespaces each."""

    def __init__(self, app: App, tenants: int) -> None:
        super().__init__(app, "bench")
        pool = NodePool(
            self,
            "h100",
            nodes=tenants,
            per_node={"cpu": 96, "memory": "400G", "nvidia.com/gpu": 8},
            labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
        )
        shared = Cohort(self, "shared")
        for number in range(tenants):
            name = f"tenant-{number:04}"
            Tenant(
                self,
                name,
                namespaces=[f"{name}-research", f"{name}-production"],
                owners=[f"{name}-owners"],
                cohort=shared,
                guarantee={pool: nodes(1)},
                borrow={pool: nodes(1)},
                priority="normal",
            )


app = App()
Bench(app, int(sys.argv[2]))
if sys.argv[1] == "synth":
    app.synth()
else:
    write_tree(Path(os.environ["CDK8S_OUTDIR"]), app.files())
