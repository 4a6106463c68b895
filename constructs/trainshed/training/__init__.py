"""Components for training runs: one job description, one module per way to run it."""

from trainshed.api.core.affinity import Toleration
from trainshed.training.description import Mount, SecretEnv, TopologyRequest, Training
from trainshed.training.indexed_job import IndexedJob
from trainshed.training.jobset import JobSet
from trainshed.training.trainjob import TrainJob
from trainshed.training.volcano_job import VolcanoJob

__all__ = [
    "IndexedJob",
    "JobSet",
    "Mount",
    "SecretEnv",
    "Toleration",
    "TopologyRequest",
    "TrainJob",
    "Training",
    "VolcanoJob",
]
