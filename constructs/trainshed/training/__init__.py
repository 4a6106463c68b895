"""Components for training runs: one job description, one module per way to run it."""

from trainshed.api.core.affinity import Toleration
from trainshed.api.core.container import Container
from trainshed.training.description import TopologyRequest, Training
from trainshed.training.indexed_job import IndexedJob
from trainshed.training.jobset import JobSet
from trainshed.training.trainjob import TrainJob
from trainshed.training.variables import ConfigMapEnv, FieldEnv, SecretEnv
from trainshed.training.volcano_job import VolcanoJob
from trainshed.training.volumes import ConfigMapMount, Mount, Scratch, SecretMount

__all__ = [
    "ConfigMapEnv",
    "ConfigMapMount",
    "Container",
    "FieldEnv",
    "IndexedJob",
    "JobSet",
    "Mount",
    "Scratch",
    "SecretEnv",
    "SecretMount",
    "Toleration",
    "TopologyRequest",
    "TrainJob",
    "Training",
    "VolcanoJob",
]
