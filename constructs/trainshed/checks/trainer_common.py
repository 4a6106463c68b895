"""TrainJobs with their runtimes, as Kubeflow Trainer v2.3 puts them together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.fleet.access import Node, mapping, mappings, strings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

GROUP: Final = "trainer.kubeflow.org"
ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
STEPS: Final = ("trainer", "dataset-initializer", "model-initializer")
RUNTIMES: Final = ((GROUP, "ClusterTrainingRuntime"), (GROUP, "TrainingRuntime"))
JOBS: Final[Path] = ("spec", "template", "spec", "replicatedJobs")
POLICIES: Final = ("torch", "mpi", "jax", "xgboost", "flux")
#: Cluster-scoped runtimes that Trainer v2.3 ships.
SHIPPED: Final = {
    "torch-distributed": "torch",
    "torch-distributed-with-cache": "torch",
    "deepspeed-distributed": "mpi",
    "mlx-distributed": "mpi",
    "jax-distributed": "jax",
    "xgboost-distributed": "xgboost",
    "flux-distributed": "flux",
    "torchtune-llama3.2-1b": "torch",
    "torchtune-llama3.2-3b": "torch",
    "torchtune-qwen2.5-1.5b": "torch",
}


class Job(NamedTuple):
    """A replicatedJob of a runtime: where it is, its name and step, its pod spec."""

    path: Path
    item: Node
    name: str
    step: str
    spec: Node

    @property
    def spec_path(self) -> Path:
        """Where the pod spec stands in the runtime."""
        return (*self.path, "template", "spec", "template", "spec")


def runtimes(fleet: Fleet) -> list[Document]:
    """The runtimes of the input."""
    return fleet.of(*RUNTIMES)


def jobs(runtime: Document) -> list[Job]:
    """The replicatedJobs of a runtime."""
    found = []
    for index, item in mappings(runtime.manifest, *JOBS):
        step = strings(item, "template", "metadata", "labels").get(ANCESTOR, "")
        spec = mapping(item, "template", "spec", "template", "spec")
        found.append(Job((*JOBS, index), item, text(item, "name"), step, spec))
    return found


def policy_of(runtime: Document) -> str:
    """Which framework the mlPolicy is for; `plain` for one without, empty where there is no mlPolicy."""
    spec = mapping(runtime.manifest, "spec")
    if "mlPolicy" not in spec:
        return ""
    policy = mapping(spec, "mlPolicy")
    return next((name for name in POLICIES if isinstance(policy.get(name), dict)), "plain")


def train_jobs(fleet: Fleet) -> Iterator[tuple[Workload, Document | None]]:
    """The TrainJobs of the input, each with its runtime where the input has it."""
    for workload in fleet.workloads:
        if workload.kind == "TrainJob" and workload.document.group == GROUP:
            yield workload, workload.runtime


def users(fleet: Fleet) -> dict[int, list[Document]]:
    """The TrainJobs that use each runtime, by the runtime's identity as an object."""
    found: dict[int, list[Document]] = {}
    for workload, runtime in train_jobs(fleet):
        if runtime is not None:
            found.setdefault(id(runtime), []).append(workload.document)
    return found


def nodes_of(job: Document, runtime: Document | None) -> int | None:
    """numNodes of a TrainJob, else of its runtime, else 1; None where the runtime is not in the input."""
    own = whole(job.manifest, "spec", "trainer", "numNodes")
    if own is not None:
        return own
    if runtime is None:
        return None
    default = whole(runtime.manifest, "spec", "mlPolicy", "numNodes")
    return 1 if default is None else default
