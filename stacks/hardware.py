"""What the reference clusters have in common: one kind of node, one image, one script."""

from __future__ import annotations

from trainshed.training import Mount, Training

#: What one 8-GPU node offers to pods: its allocatable.
PER_NODE: dict[str, int | str] = {"cpu": 96, "memory": "400G", "nvidia.com/gpu": 8}
#: What a run takes of it besides the GPUs. The rest is for the pods that every node has (network, metrics, drivers):
#: a pod as large as the node would fit on none.
PER_RUN: dict[str, int | str] = {"cpu": 88, "memory": "360G"}
LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}

IMAGE = "registry.example.com/trainshed/trainer:0.1.0"
SCRIPT = "/opt/trainshed/ddp.py"
CONFIG = "/opt/trainshed/configs/124m.toml"


def whole_nodes(nodes: int, **settings: object) -> Training:
    """A run of the trainer on `nodes` whole machines; `settings` such as `run__seed=1` override its configuration, in
    which 8 GPUs take 64 rows each of a batch of 512."""
    settings = {"batch__micro_rows": 64 // nodes, **settings}
    overrides = [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
    return Training(
        nodes=nodes,
        gpus_per_node=8,
        image=IMAGE,
        script=SCRIPT,
        launcher="trainshed",
        args=["--config", CONFIG, *overrides],
        resources=PER_RUN,
        shared_memory="32Gi",
        volumes=[Mount(claim="data", path="/workspace/data", read_only=True)],
        checkpoint=Mount(claim="checkpoints", path="/workspace/run"),
    )
