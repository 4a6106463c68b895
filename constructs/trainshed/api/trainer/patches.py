"""What a TrainJob, or a controller such as Kueue, changes in its training runtime: `spec.runtimePatches`.

Schema: Kubeflow Trainer v2.3.0, `trainer.kubeflow.org_trainjobs.yaml`. No image, command, resources, ports or probes
can be patched.
"""

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.core.affinity import Affinity, Toleration
from trainshed.api.core.container import VolumeMount
from trainshed.api.core.env import EnvVar
from trainshed.api.core.pod_parts import PodSchedulingGate
from trainshed.api.core.refs import LocalObjectReference
from trainshed.api.core.security import PodSecurityContext, SecurityContext
from trainshed.api.core.volume import Volume
from trainshed.api.meta import TemplateMeta
from trainshed.api.times import Time
from trainshed.api.types import DnsSubdomain, Int64, Str, keyed_by

Name = Annotated[Str, Field(min_length=1, max_length=253)]

#: Containers whose environment is set by `spec.trainer` and `spec.initializer` alone.
RESERVED_CONTAINERS: Final = ("dataset-initializer", "model-initializer", "node")


class ContainerPatch(Model):
    """More environment and mounts for the runtime's container `name`."""

    name: Name
    env: Annotated[list[EnvVar], Field(max_length=128), keyed_by("name")] | None = None
    volume_mounts: Annotated[list[VolumeMount], Field(max_length=128), keyed_by("name")] | None = None
    security_context: SecurityContext | None = None


class PodSpecPatch(Model):
    """Changes of a pod template. The first four fields may change around a suspension, the others never do."""

    node_selector: dict[str, Str] | None = None
    affinity: Affinity | None = None
    tolerations: Annotated[list[Toleration], Field(max_length=128)] | None = None
    scheduling_gates: Annotated[list[PodSchedulingGate], Field(max_length=16), keyed_by("name")] | None = None
    service_account_name: Annotated[DnsSubdomain, Field(max_length=253)] | None = None
    volumes: Annotated[list[Volume], Field(max_length=128), keyed_by("name")] | None = None
    init_containers: Annotated[list[ContainerPatch], Field(max_length=64), keyed_by("name")] | None = None
    containers: Annotated[list[ContainerPatch], Field(max_length=64), keyed_by("name")] | None = None
    image_pull_secrets: Annotated[list[LocalObjectReference], Field(max_length=64), keyed_by("name")] | None = None
    security_context: PodSecurityContext | None = None
    termination_grace_period_seconds: Annotated[Int64, Field(ge=0)] | None = None

    def rules(self) -> Iterator[Broken]:
        """T9 (webhook, JobSet plugin): no environment for the containers that TrainJob's own fields are for."""
        for index, container in enumerate(self.containers or []):
            if container.env and container.name in RESERVED_CONTAINERS:
                owner = "trainer" if container.name == "node" else "initializer"
                yield Broken(
                    f"containers[{index}].env",
                    f'the environment of "{container.name}" cannot be patched',
                    f"write it in spec.{owner}",
                )


class PodTemplatePatch(Model):
    """Labels and annotations of the pods, and changes of their spec."""

    metadata: TemplateMeta | None = None
    spec: PodSpecPatch | None = None


class JobSpecPatch(Model):
    """Changes of a Job's spec: of its pod template only."""

    template: PodTemplatePatch | None = None


class JobTemplatePatch(Model):
    """Labels and annotations of the Jobs, and changes of their spec."""

    metadata: TemplateMeta | None = None
    spec: JobSpecPatch | None = None


class ReplicatedJobPatch(Model):
    """Changes of the runtime's replicated job `name`."""

    name: Name
    template: JobTemplatePatch | None = None


class JobSetSpecPatch(Model):
    """Changes of the JobSet's spec."""

    replicated_jobs: Annotated[list[ReplicatedJobPatch], Field(max_length=100), keyed_by("name")] | None = None


class JobSetTemplatePatch(Model):
    """Labels and annotations of the JobSet, and changes of its spec."""

    metadata: TemplateMeta | None = None
    spec: JobSetSpecPatch | None = None


class TrainingRuntimeSpecPatch(Model):
    """Changes of the runtime: of its template only."""

    template: JobSetTemplatePatch | None = None


class RuntimePatch(Model):
    """The changes that one manager makes.

    `manager` is a path such as `example.io/platform-team`; Kueue's is `kueue.x-k8s.io/manager`. Trainer's webhook
    writes `time`; leave it out of Git.
    """

    manager: Name
    time: Time | None = None
    training_runtime_spec: TrainingRuntimeSpecPatch | None = None
