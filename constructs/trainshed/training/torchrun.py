"""How torchrun learns address, port, world size, node rank and processes per node, for each way to run it.

Every option of torchrun has a default from the environment, `PET_` and its name in capitals; flags win (torch 2.13,
`torch/distributed/run.py`, `argparse_util.env`). All four use the static rendezvous, in which node rank 0 is pod 0,
always. Restarts inside a pod stay off: a failed gang is restarted as a whole by the layer above.

| run as      | node count            | node rank                | master address                | processes |
| ----------- | --------------------- | ------------------------ | ----------------------------- | --------- |
| TrainJob    | injected by Trainer   | injected                 | injected                      | injected |
| JobSet      | PET_NNODES            | completion index         | `<js>-node-0-0.<js>`          | PET_NPROC_PER_NODE |
| Indexed Job | PET_NNODES            | completion index         | `<job>-0.<job>`               | PET_NPROC_PER_NODE |
| Volcano Job | $(WORLD_SIZE) = pods  | $(RANK) of the pod       | $(MASTER_ADDR), pytorch plugin | --nproc-per-node |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trainshed.api.core.env import EnvVar, EnvVarSource
from trainshed.api.core.refs import ObjectFieldSelector
from trainshed.training.containers import NODE
from trainshed.training.description import Training

#: torchrun sends SIGKILL to its workers this long before the kubelet would.
SHUTDOWN_MARGIN_SECONDS: Final = 15
#: In exec form: as PID 1 each gets SIGTERM itself. Both take torchrun's options and PET_ variables.
COMMANDS: Final = {"torchrun": ("torchrun",), "trainshed": ("python", "-m", "trainer", "launch")}
_INDEX: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


@dataclass(frozen=True)
class Wiring:
    """A container's command, arguments, and the environment that goes before the person's own."""

    args: list[str]
    env: list[EnvVar]
    command: tuple[str, ...]


def trainjob(training: Training) -> Wiring:
    """Trainer v2.3.0's torch plugin injects the five PET_ variables into the container `node`; they are reserved."""
    return Wiring([training.script, *training.args], [_shutdown(training)], COMMANDS[training.launcher])


def jobset(training: Training, name: str) -> Wiring:
    """JobSet v0.12.0 injects nothing; its pods are `<jobset>-<job>-<job index>-<pod index>.<jobset>`."""
    return Wiring(
        [training.script, *training.args], _pet(training, f"{name}-{NODE}-0-0.{name}"), COMMANDS[training.launcher]
    )


def indexed_job(training: Training, name: str) -> Wiring:
    """The Job controller names pods `<job>-<index>`; the name resolves below the headless Service of the same name."""
    return Wiring([training.script, *training.args], _pet(training, f"{name}-0.{name}"), COMMANDS[training.launcher])


def volcano_job(training: Training) -> Wiring:
    """Volcano v1.15.1's pytorch plugin appends MASTER_ADDR, MASTER_PORT, WORLD_SIZE (pods, not processes) and RANK (of
    the pod); Kubernetes expands them in the arguments, and torchrun sets the real ones for its workers."""
    flags = [
        "--nnodes=$(WORLD_SIZE)",
        f"--nproc-per-node={training.processes}",
        "--node-rank=$(RANK)",
        "--master-addr=$(MASTER_ADDR)",
        "--master-port=$(MASTER_PORT)",
    ]
    return Wiring([*flags, training.script, *training.args], [_shutdown(training)], COMMANDS[training.launcher])


def _pet(training: Training, master: str) -> list[EnvVar]:
    index = EnvVarSource(field_ref=ObjectFieldSelector(field_path=_INDEX))
    return [
        EnvVar(name="PET_NNODES", value=str(training.nodes)),
        EnvVar(name="PET_NPROC_PER_NODE", value=str(training.processes)),
        EnvVar(name="PET_NODE_RANK", value_from=index),
        EnvVar(name="PET_MASTER_ADDR", value=master),
        EnvVar(name="PET_MASTER_PORT", value=str(training.port)),
        _shutdown(training),
    ]


def _shutdown(training: Training) -> EnvVar:
    return EnvVar(name="PET_SHUTDOWN_TIMEOUT", value=str(training.grace_period - SHUTDOWN_MARGIN_SECONDS))
