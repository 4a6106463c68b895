"""Kubeflow Trainer's TrainJob, v2.3.0, `trainer.kubeflow.org/v1alpha1`: one training run.

Rules: the CRD's CEL, and what the webhook (`pkg/webhooks`, `pkg/runtime`) can tell without the runtime. T1 to T12 are
numbered as in the tests.
"""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.core.env import EnvVar
from trainshed.api.core.refs import LocalObjectReference
from trainshed.api.core.resources import ResourceRequirements
from trainshed.api.shapes import domain_prefixed_path_error
from trainshed.api.trainer.patches import RuntimePatch
from trainshed.api.types import Bool, CrdQuantity, Int32, Int64, Str, keyed_by
from trainshed.faults import nearest
from trainshed.naming_budgets import trainjob_name_errors, worst

GROUP: Final = "trainer.kubeflow.org"
RUNTIME_KINDS: Final = ("ClusterTrainingRuntime", "TrainingRuntime")
MANAGERS: Final = ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue")
#: Variables that Trainer writes itself, by the policy of the runtime (T4, T7); `spec.trainer.env` must not hold them.
RESERVED_ENV: Final[dict[str, tuple[str, ...]]] = {
    "torch": ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"),
    "mpi": (
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_plm_rsh_args",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
    ),
    "xgboost": ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"),
}
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+")

Env = Annotated[list[EnvVar], Field(max_length=128), keyed_by("name")]
Words = Annotated[list[Annotated[Str, Field(max_length=1_048_576)]], Field(max_length=128)]


class RuntimeRef(Model):
    """The runtime. Without `kind` it is a ClusterTrainingRuntime; a TrainingRuntime is in the TrainJob's namespace."""

    name: Annotated[Str, Field(min_length=1, max_length=253)]
    api_group: Annotated[Str, Field(max_length=253)] | None = None
    kind: Annotated[Str, Field(max_length=253)] | None = None

    @property
    def resolved_kind(self) -> str:
        """The kind, the default included."""
        return "ClusterTrainingRuntime" if self.kind is None else self.kind

    def rules(self) -> Iterator[Broken]:
        """T2 (webhook): Trainer knows two kinds of runtime."""
        if self.api_group not in (None, GROUP):
            yield Broken(
                "apiGroup", f'"{self.api_group}" has no training runtimes', f'write "{GROUP}", or leave it out'
            )
        if self.resolved_kind not in RUNTIME_KINDS:
            fix = nearest(self.resolved_kind, RUNTIME_KINDS) or f"write one of {', '.join(RUNTIME_KINDS)}"
            yield Broken("kind", f'"{self.kind}" is not a kind of training runtime', fix)


class InitializerSource(Model):
    """What is downloaded before training: a URI such as `hf://org/name` or `s3://bucket/path`."""

    storage_uri: Annotated[Str, Field(max_length=2048)] | None = None
    env: Env | None = None
    secret_ref: LocalObjectReference | None = None

    def rules(self) -> Iterator[Broken]:
        """The CRD's rule: empty, or `scheme://…`."""
        if self.storage_uri and not _URI.fullmatch(self.storage_uri):
            text = f'"{self.storage_uri}" is not a URI'
            yield Broken("storageUri", text, 'write a scheme in front, such as "hf://" or "s3://"')


class DatasetInitializer(InitializerSource):
    """Downloads the dataset; the runtime has a job and container called `dataset-initializer` (T8)."""


class ModelInitializer(InitializerSource):
    """Downloads the model; the runtime has a job and container called `model-initializer` (T8)."""


class Initializer(Model):
    """What is downloaded before training. Immutable as a whole."""

    dataset: DatasetInitializer | None = None
    model: ModelInitializer | None = None


class ResourcesPerNode(ResourceRequirements):
    """The resources of the container `node`, merged into those of the runtime. Say all of them in one place."""

    limits: dict[str, CrdQuantity] | None = None
    requests: dict[str, CrdQuantity] | None = None

    def rules(self) -> Iterator[Broken]:
        """As for any container, but a limit (or cpu, next to huge pages) that is missing may stand in the runtime."""
        known = self.model_copy(update={"limits": {**(self.requests or {}), **(self.limits or {})}})
        yield from (broken for broken in super(ResourcesPerNode, known).rules() if broken.field)


class Trainer(Model):
    """The training processes. Immutable as a whole.

    `num_nodes` is the number of pods, `num_proc_per_node` the processes in each; without them the runtime and the
    resources decide. Without a `trainer`, the torch policy sets no PET_ variables at all.
    """

    image: Annotated[Str, Field(max_length=500)] | None = None
    command: Words | None = None
    args: Words | None = None
    env: Env | None = None
    num_nodes: Int32 | None = None
    resources_per_node: ResourcesPerNode | None = None
    num_proc_per_node: Int32 | None = None


class TrainJobSpec(Model):
    """The desired state. Kueue writes `suspend`, `managed_by` and a runtime patch: keep the first two out of Git."""

    runtime_ref: RuntimeRef
    initializer: Initializer | None = None
    trainer: Trainer | None = None
    runtime_patches: Annotated[list[RuntimePatch], Field(max_length=16), keyed_by("manager")] | None = None
    suspend: Bool | None = None
    managed_by: Annotated[Str, Field(max_length=253)] | None = None
    active_deadline_seconds: Annotated[Int64, Field(ge=1)] | None = None

    def rules(self) -> Iterator[Broken]:
        """The CRD's rule on managers; T9 (webhook, JobSet plugin): who patches is a domain-prefixed path."""
        if self.managed_by is not None and self.managed_by not in MANAGERS:
            yield Broken(
                "managedBy", f'"{self.managed_by}" does not manage TrainJobs', f"write one of {', '.join(MANAGERS)}"
            )
        for index, patch in enumerate(self.runtime_patches or []):
            if error := domain_prefixed_path_error(patch.manager):
                yield Broken(
                    f"runtimePatches[{index}].manager", error, 'write a path such as "example.io/platform-team"'
                )


class TrainJob(KubernetesObject):
    """One training run.

    Immutable: see `IMMUTABLE`; a changed run is a new name. `runtimePatches` may change when the TrainJob is suspended
    before or after, has no active pods, and only in labels, annotations, nodeSelector, affinity, tolerations and
    schedulingGates of entries that stay.
    """

    namespaced: ClassVar[bool] = True
    name_error: ClassVar[Callable[[str], str]] = staticmethod(naming.dns1035_label_error)
    IMMUTABLE: ClassVar[tuple[str, ...]] = (
        "spec.activeDeadlineSeconds",
        "spec.initializer",
        "spec.managedBy",
        "spec.runtimeRef",
        "spec.trainer",
    )

    api_version: Literal["trainer.kubeflow.org/v1alpha1"] = "trainer.kubeflow.org/v1alpha1"
    kind: Literal["TrainJob"] = "TrainJob"
    spec: TrainJobSpec

    def name_rules(
        self, jobs: Collection[str] = ("node",), num_nodes: int | None = None, claims: Collection[str] = ()
    ) -> Iterator[Broken]:
        """Whether pods can be named, given the `jobs`, `num_nodes` and volume `claims` of the runtime.

        Our own `numNodes` wins; without any it is 1. Not among `rules`, since only the runtime knows its jobs. The API
        server takes longer names: the failure is an event on a TrainJob without a status.
        """
        own = self.spec.trainer.num_nodes if self.spec.trainer else None
        nodes = next((count for count in (own, num_nodes) if count is not None), 1)
        for error in worst(trainjob_name_errors(self.metadata.name or "", nodes, tuple(jobs), claims)):
            yield Broken("metadata.name", error, "shorten it" if "more than" in error else "")
