"""Training runtimes, Kubeflow Trainer v2.3.0: the JobSet template and the policies behind TrainJobs.

Rules: the CRD's CEL, `pkg/webhooks/trainingruntime_webhook.go`, and the rules of JobSet that do not need the TrainJob's
name. Trainer does not check the latter: a JobSet that is refused shows as an event on a TrainJob without a status.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.core.container import Container
from trainshed.api.jobset import JobSetSpec, ReplicatedJob
from trainshed.api.meta import TemplateMeta
from trainshed.api.types import Bool, Int32, Int64, Str, keyed_by, unique
from trainshed.faults import nearest

ANCESTOR_LABEL: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
#: The container that a job with the ancestor label must have, by the label's value (T3).
CONTAINER_OF_ANCESTOR: Final = {
    "trainer": "node",
    "dataset-initializer": "dataset-initializer",
    "model-initializer": "model-initializer",
}
UNCHECKED_LABEL: Final = "trainer.kubeflow.org/webhook-validation"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"

ContainerNames = Annotated[list[Annotated[Str, Field(max_length=63)]], Field(min_length=1, max_length=8), unique]


class EnvInjectionTarget(Model):
    """Containers of one job that get torchrun's variables as well."""

    job_name: Annotated[Str, Field(min_length=1, max_length=253)]
    container_names: ContainerNames

    def rules(self) -> Iterator[Broken]:
        """The CRD's rule: the main container gets them anyway."""
        if "node" in self.container_names:
            yield Broken("containerNames", '"node" gets the variables anyway', "leave it out")


class EnvInjection(Model):
    """Which other containers get torchrun's variables."""

    targets: Annotated[list[EnvInjectionTarget], Field(max_length=16), keyed_by("job_name")] | None = None


class TorchPolicy(Model):
    """Sets PET_NNODES, PET_NODE_RANK, PET_NPROC_PER_NODE, PET_MASTER_ADDR and PET_MASTER_PORT for torchrun."""

    env_injection: EnvInjection | None = None


class MpiPolicy(Model):
    """Runs `mpirun` in the job `launcher` over the pods of the job `node`, by SSH.

    Defaults: one process per node, OpenMPI, keys at `/root/.ssh`, the launcher is not a node.
    """

    num_proc_per_node: Int32 | None = None
    mpi_implementation: Literal["OpenMPI", ""] | None = None
    ssh_auth_mount_path: Annotated[Str, Field(max_length=4096)] | None = None
    run_launcher_as_node: Bool | None = None


class FluxPolicy(Model):
    """Starts the processes with Flux, one per node unless said."""

    num_proc_per_node: Annotated[Int32, Field(ge=1)] | None = None


class JaxPolicy(Model):
    """Sets the variables of `jax.distributed`. No settings."""


class XGBoostPolicy(Model):
    """Sets the variables of XGBoost's tracker. No settings."""


class MLPolicy(Model):
    """How processes find each other. Without a framework, nothing is set."""

    num_nodes: Int32 | None = None
    torch: TorchPolicy | None = None
    mpi: MpiPolicy | None = None
    flux: FluxPolicy | None = None
    jax: JaxPolicy | None = None
    xgboost: XGBoostPolicy | None = None

    def rules(self) -> Iterator[Broken]:
        """The CRD's rule: at most one framework."""
        names = [name for name in ("torch", "mpi", "flux", "jax", "xgboost") if getattr(self, name) is not None]
        if len(names) > 1:
            yield Broken(names[1], f"{names[0]} is written as well, and only one policy is allowed", "keep one of them")


class CoschedulingPolicy(Model):
    """A PodGroup of the coscheduling plugin; pods wait together for 60 s unless said."""

    schedule_timeout_seconds: Int32 | None = None


class NetworkTopology(Model):
    """How near the pods are: within `highest_tier_allowed` (default 1); a must (hard, default) or a wish (soft)."""

    mode: Literal["hard", "soft"] | None = None
    highest_tier_allowed: Int64 | None = None


class VolcanoPolicy(Model):
    """A PodGroup of Volcano. The queue is an annotation of the template; the pods need a schedulerName as well."""

    network_topology: NetworkTopology | None = None


class PodGroupPolicy(Model):
    """Gang scheduling. It sets no schedulerName."""

    coscheduling: CoschedulingPolicy | None = None
    volcano: VolcanoPolicy | None = None


class JobSetTemplate(Model):
    """The JobSet that each TrainJob becomes."""

    metadata: TemplateMeta | None = None
    spec: JobSetSpec | None = None

    def rules(self) -> Iterator[Broken]:
        """The CRD's minProperties, and what would be refused in any JobSet made from here."""
        if all(getattr(self, name) is None for name in type(self).model_fields):
            yield Broken("", "is empty", "add spec")
        for index, job in enumerate(self.spec.jobs if self.spec else []):
            at = f"spec.replicatedJobs[{index}]"
            if error := naming.dns1035_label_error(f"t-{job.name}-0"):
                yield Broken(f"{at}.name", f'"{job.name}" cannot be part of a Job\'s name: {error}')
            if (job_spec := job.template.spec) is not None:
                for broken in job_spec.created_rules("Indexed", "OnFailure"):
                    # Trainer writes parallelism and completions itself.
                    if broken.field not in ("completions", "parallelism"):
                        yield Broken(f"{at}.template.spec.{broken.field}", broken.message, broken.fix)
        policy = self.spec.failure_policy if self.spec else None
        for index, rule in enumerate((policy and policy.rules_) or []):
            if not rule.name:
                at = f"spec.failurePolicy.rules[{index}].name"
                yield Broken(at, "is missing, and only JobSets get a default", "add a name")


class TrainingRuntimeSpec(Model):
    """The desired state."""

    ml_policy: MLPolicy | None = None
    pod_group_policy: PodGroupPolicy | None = None
    template: JobSetTemplate | None = None

    @property
    def jobs(self) -> list[ReplicatedJob]:
        """The replicated jobs of the template."""
        return self.template.spec.jobs if self.template and self.template.spec else []

    def rules(self) -> Iterator[Broken]:
        """The CRD's minProperties; T5 (targets exist); T11 (a written Volcano queue is not empty)."""
        if all(getattr(self, name) is None for name in type(self).model_fields):
            yield Broken("", "is empty", "add template")
        torch = self.ml_policy.torch if self.ml_policy else None
        for index, target in enumerate((torch and torch.env_injection and torch.env_injection.targets) or []):
            yield from self._target_rules(target, f"mlPolicy.torch.envInjection.targets[{index}]")
        annotations = (self.template and self.template.metadata and self.template.metadata.annotations) or {}
        if self.pod_group_policy and self.pod_group_policy.volcano and annotations.get(VOLCANO_QUEUE) == "":
            at = f"template.metadata.annotations[{VOLCANO_QUEUE}]"
            yield Broken(at, "is empty", "name a queue, or leave the annotation out")

    def step_rules(self) -> Iterator[Broken]:
        """T3 (webhook): a job that is a step of TrainJobs has one replica and the container that Trainer changes."""
        for index, job in enumerate(self.jobs):
            step = ((job.template.metadata and job.template.metadata.labels) or {}).get(ANCESTOR_LABEL)
            wanted = CONTAINER_OF_ANCESTOR.get(step or "")
            if wanted is None:
                continue
            at = f"template.spec.replicatedJobs[{index}]"
            if job.count != 1:
                yield Broken(
                    f"{at}.replicas", f"is {job.count}, and the step {step} has 1", "use numNodes for more pods"
                )
            pod = job.template.spec.template.spec if job.template.spec else None
            names = [container.name for container in pod.containers] if pod else []
            if wanted not in names:
                where = f"{at}.template.spec.template.spec.containers"
                yield Broken(where, f'the step {step} needs a container called "{wanted}"', f'name it "{wanted}"')

    def _target_rules(self, target: EnvInjectionTarget, at: str) -> Iterator[Broken]:
        job = next((one for one in self.jobs if one.name == target.job_name), None)
        if job is None:
            names = [one.name for one in self.jobs]
            yield Broken(
                f"{at}.jobName", f'"{target.job_name}" is not a job of the template', nearest(target.job_name, names)
            )
            return
        known = {container.name for container in _containers(job)}
        for index, name in enumerate(target.container_names):
            if name not in known and name != "node":
                text = f'"{name}" is not a container of "{job.name}"'
                yield Broken(f"{at}.containerNames[{index}]", text, nearest(name, known))


class _Runtime(KubernetesObject):
    spec: TrainingRuntimeSpec

    def rules(self) -> Iterator[Broken]:
        """T3, unless the label `trainer.kubeflow.org/webhook-validation: disabled` switches it off."""
        if (self.metadata.labels or {}).get(UNCHECKED_LABEL) != "disabled":
            for broken in self.spec.step_rules():
                yield Broken(f"spec.{broken.field}", broken.message, broken.fix)


class TrainingRuntime(_Runtime):
    """A runtime for the TrainJobs of its namespace. A running TrainJob keeps the version it started with."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["trainer.kubeflow.org/v1alpha1"] = "trainer.kubeflow.org/v1alpha1"
    kind: Literal["TrainingRuntime"] = "TrainingRuntime"


class ClusterTrainingRuntime(_Runtime):
    """A runtime for the TrainJobs of all namespaces."""

    namespaced: ClassVar[bool] = False

    api_version: Literal["trainer.kubeflow.org/v1alpha1"] = "trainer.kubeflow.org/v1alpha1"
    kind: Literal["ClusterTrainingRuntime"] = "ClusterTrainingRuntime"


def _containers(job: ReplicatedJob) -> list[Container]:
    pod = job.template.spec.template.spec if job.template.spec else None
    return [*pod.containers, *(pod.init_containers or [])] if pod else []
