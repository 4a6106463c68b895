"""What the reference clusters have in common: one kind of node, one image, one script."""

from __future__ import annotations

from trainshed.quantity import Quantity
from trainshed.training import Training

#: What one 8-GPU node offers to pods.
PER_NODE: dict[str, int | str | Quantity] = {"cpu": 96, "memory": "400G", "nvidia.com/gpu": 8}
LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}

IMAGE = "registry.example.com/trainshed/trainer:0.1.0"
SCRIPT = "/opt/trainshed/ddp.py"


def whole_nodes(nodes: int, *args: str) -> Training:
    """A run of the trainer on `nodes` whole machines."""
    return Training(
        nodes=nodes,
        gpus_per_node=8,
        image=IMAGE,
        script=SCRIPT,
        args=list(args),
        resources={"cpu": 96, "memory": "400G"},
        shared_memory="32Gi",
    )
