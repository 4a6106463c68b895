"""What a training run is, whichever way it is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, cast

from pydantic import Field

from trainshed.addresses import image_error
from trainshed.api.base import Broken
from trainshed.api.core.affinity import Toleration
from trainshed.api.core.container import Container
from trainshed.api.core.resources import container_resource_error, device_error, is_extended
from trainshed.api.core.shapes import env_name_error
from trainshed.api.types import Bool, DnsSubdomain, Int32, LabelKey, LabelValue, Str, shaped, unique
from trainshed.gitops.keys import OwnAnnotation, OwnLabel
from trainshed.gitops.values import Value, read_as
from trainshed.quantity import Quantity
from trainshed.tenancy.pool import Level
from trainshed.tenancy.shares import AnyAmount, unit_rules
from trainshed.training.containers import container_rules
from trainshed.training.variables import AnyEnv, ConfigMapEnv, FieldEnv, SecretEnv
from trainshed.training.volumes import OWN_PATHS, AnyMount, Mount, Text, described, volumes

#: /dev/shm of one process unless said otherwise: NCCL's buffers and a DataLoader's batches.
SHARED_MEMORY_PER_PROCESS = Quantity("4Gi")

#: Pods of an Indexed Job at once (Kubernetes 1.36, `maxParallelismForIndexedJob`); restarts of all of them together
#: have to stay below an int32.
MAX_NODES: Final = 100_000
MAX_RETRIES: Final = 10_000
#: More than any machine has; a number beyond is a slip.
MAX_GPUS: Final = 1024

EnvName = Annotated[Str, shaped(env_name_error)]
ContainerResource = Annotated[Str, shaped(container_resource_error), shaped(device_error)]


class TopologyRequest(Value):
    """Where Kueue places the pods of one run: all in one domain of `level` (a level's node label, or its short word).

    `required` waits for such a domain; otherwise it is preferred and Kueue widens the search.
    """

    level: Level
    required: Bool = True


class Training(Value):
    """A distributed PyTorch run on `nodes` machines with `gpus_per_node` GPUs each.

    `launcher` starts `script` on each node: `torchrun` of any image with PyTorch, or `trainshed`, the launcher in this
    project's trainer image (`python -m trainer launch`), which takes the same options and keeps exit codes. With it the
    policies tell a preemption, a refused config and a sick node apart; behind torchrun every failure is exit code 1.

    One process per GPU, so `processes_per_node` defaults to `gpus_per_node` (1 without GPUs) and must equal it.
    `resources` are per node, without GPUs; requests equal limits, so that a node's share is really its own. With
    `ephemeral-storage` among them the kubelet bounds what a node's pod may write to /tmp, its logs included.
    `shared_memory` sizes /dev/shm (default 4Gi a process); it counts towards the memory limit. `checkpoint` is mounted
    like a volume and its path handed over as TRAINSHED_CHECKPOINT_DIR. `grace_period` is the time in seconds between
    SIGTERM and SIGKILL in which a preempted run saves. `retries` restart the whole gang after a failure of its own;
    disruptions such as preemption do not count. `deadline` bounds the run in seconds. `doctor` looks at each node
    before the run (the trainer's `doctor`, an init container of the same image); a sick one fails its pod, and counts.

    `volumes` are claims (`Mount`), ConfigMaps, Secrets and scratch space, and values in `env` may stand in a Secret, a
    ConfigMap or a field of the pod. `init_containers` run before the training, in their order, and after the doctor;
    `sidecars` start before them and run beside it, until it ends. What such a container leaves out of mounts and
    security context it has in common with the one that trains; the pod's volumes are called `shm`, `tmp`, and
    `claim-0`, `config-map-1`, … by their place. `pod_labels` and `pod_annotations` stand on the pods; keys of
    controllers are refused. For whatever else a pod may have, write the object itself beside the other runs: the API
    object (`trainshed.api`) in `render()` of a `Component` of your own, or cdk8s' `ApiObject` in an `Application`.
    `trainshed check` judges both alike.

    A variant is a copy, judged like any other: `training.model_copy(update={"nodes": 4})`.
    """

    example: ClassVar[str] = 'Training(nodes=2, gpus_per_node=8, image="…", script="…", resources={…})'

    nodes: Annotated[Int32, Field(ge=1, le=MAX_NODES)]
    gpus_per_node: Annotated[Int32, Field(ge=0, le=MAX_GPUS)]
    image: Annotated[Str, shaped(image_error), Field(max_length=500)]
    script: Annotated[Text, Field(min_length=1)]
    launcher: Literal["torchrun", "trainshed"] = "torchrun"
    args: Annotated[Sequence[str], read_as(list[Text])] = []
    env: Annotated[Mapping[str, AnyEnv], read_as(dict[EnvName, Text | SecretEnv | ConfigMapEnv | FieldEnv])] = {}
    resources: Annotated[Mapping[str, AnyAmount], read_as(dict[ContainerResource, Quantity])] = Field(
        default_factory=dict
    )
    processes_per_node: Annotated[Int32, Field(ge=1)] | None = None
    gpu_resource: ContainerResource = "nvidia.com/gpu"
    shared_memory: Annotated[AnyAmount, read_as(Quantity)] | None = None
    volumes: Annotated[Sequence[AnyMount], read_as(list[AnyMount])] = []
    checkpoint: Mount | None = None
    grace_period: Annotated[Int32, Field(ge=30)] = 120
    retries: Annotated[Int32, Field(ge=0, le=MAX_RETRIES)] = 3
    deadline: Annotated[Int32, Field(ge=1)] | None = None
    priority: DnsSubdomain | None = None
    topology: TopologyRequest | None = None
    tolerations: Annotated[Sequence[Toleration | Mapping[str, Any]], read_as(list[Toleration])] = []
    node_selector: Annotated[Mapping[str, str], read_as(dict[LabelKey, LabelValue])] = {}
    service_account: DnsSubdomain | None = None
    image_pull_secrets: Annotated[Sequence[str], read_as(Annotated[list[DnsSubdomain], unique])] = []
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    port: Annotated[Int32, Field(ge=1024, le=65535)] = 29500
    user: Annotated[Int32, Field(ge=1)] = 10001
    doctor: Bool = False
    pod_labels: Annotated[Mapping[str, str], read_as(dict[OwnLabel, LabelValue])] = {}
    pod_annotations: Annotated[Mapping[str, str], read_as(dict[OwnAnnotation, Text])] = {}
    init_containers: Annotated[Sequence[Container | Mapping[str, Any]], read_as(list[Container])] = []
    sidecars: Annotated[Sequence[Container | Mapping[str, Any]], read_as(list[Container])] = []

    @property
    def processes(self) -> int:
        """Processes that torchrun starts on each node."""
        return self.processes_per_node or self.gpus_per_node or 1

    @property
    def keeps_exit_codes(self) -> bool:
        """Whether policies may wait for exit codes of the training processes."""
        return self.launcher == "trainshed"

    @property
    def shm(self) -> Quantity:
        """The size of /dev/shm."""
        if self.shared_memory is None:
            return SHARED_MEMORY_PER_PROCESS * self.processes
        return cast("Quantity", self.shared_memory)

    @property
    def amounts(self) -> dict[str, Quantity]:
        """What a node's container asks for besides GPUs: `resources` as they are read."""
        return cast("dict[str, Quantity]", self.resources)

    @property
    def node_resources(self) -> dict[str, Quantity]:
        """Requests and limits of a node's container, GPUs included."""
        gpus = {self.gpu_resource: Quantity(self.gpus_per_node)} if self.gpus_per_node else {}
        return {**self.amounts, **gpus}

    @property
    def mounts(self) -> list[AnyMount]:
        """All volumes of the person's own, the checkpoint's among them."""
        return [*self.volumes, *([self.checkpoint] if self.checkpoint else [])]

    def rules(self) -> Iterator[Broken]:
        """What would leave a run pending, idle or dead, and is known before it starts (workload reference, S7-S26)."""
        if self.processes_per_node and self.gpus_per_node and self.processes_per_node != self.gpus_per_node:
            yield Broken(
                "processesPerNode",
                f"is {self.processes_per_node}, but a node has {self.gpus_per_node} GPUs",
                f"write {self.gpus_per_node}, or leave it out",
            )
        if self.gpu_resource in self.resources:
            yield Broken(f"resources[{self.gpu_resource}]", "is given as gpus_per_node already", "leave it out")
        if self.doctor and self.launcher != "trainshed":
            yield Broken("doctor", "is part of the trainer's image", 'write launcher="trainshed", or leave it out')
        if not is_extended(self.gpu_resource):
            yield Broken("gpuResource", f'"{self.gpu_resource}" is no device', 'write for example "nvidia.com/gpu"')
        yield from self._amount_rules()
        yield from self._mount_rules()
        names = [volume.name for volume in volumes(self.mounts, self.shm)]
        before, along = cast("list[Container]", self.init_containers), cast("list[Container]", self.sidecars)
        yield from container_rules(before, along, names, doctor=self.doctor)
        for name in self.env:
            if name in RESERVED_ENV:
                yield Broken(f"env[{name}]", "is set by the torchrun wiring", "leave it out")

    def _amount_rules(self) -> Iterator[Broken]:
        for name, amount in self.amounts.items():
            if amount <= Quantity(0):
                yield Broken(f"resources[{name}]", f"{amount} is not above 0", "write what a node needs")
            else:
                yield from unit_rules(name, amount, f"resources[{name}]")
        if self.shm <= Quantity(0):
            yield Broken("sharedMemory", f"{self.shm} is not above 0", "write a size such as 64Gi")
        units = list(unit_rules("memory", self.shm, "sharedMemory"))
        yield from units
        memory = self.amounts.get("memory")
        if memory is None:
            yield Broken("resources[memory]", "is missing", 'write what a node needs, such as "360G"')
        elif self.shm >= memory and not units and not list(unit_rules("memory", memory, "")):
            yield Broken(
                "sharedMemory",
                f"is {self.shm}, which counts towards the memory limit of {memory}",
                "give less than the memory",
            )
        if "cpu" not in self.resources:
            yield Broken("resources[cpu]", "is missing", 'write what a node needs, such as "88"')

    def _mount_rules(self) -> Iterator[Broken]:
        seen = dict(OWN_PATHS)
        for mount in self.mounts:
            if mount.path in seen:
                yield Broken("volumes", f'"{mount.path}" is mounted already for {seen[mount.path]}', "use another path")
            seen[mount.path] = described(mount)
        if self.checkpoint is not None and self.checkpoint.read_only:
            yield Broken("checkpoint.readOnly", "a checkpoint directory is written to", "leave readOnly out")


#: Variables that decide who a process is; a second value would win or lose by its position in the list.
RESERVED_ENV = frozenset(
    {
        "PET_NNODES",
        "PET_NPROC_PER_NODE",
        "PET_NODE_RANK",
        "PET_MASTER_ADDR",
        "PET_MASTER_PORT",
        "PET_SHUTDOWN_TIMEOUT",
        "MASTER_ADDR",
        "MASTER_PORT",
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "TRAINSHED_RUN",
        "TRAINSHED_CHECKPOINT_DIR",
        "TRAINSHED_GRACE_PERIOD",
    }
)
