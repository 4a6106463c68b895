"""What Kueue's manager is told in its configuration, where that is in the input.

The Configuration is a file in a ConfigMap (`kueue-manager-config`, key `controller_manager_config.yaml`); reference:
Kueue v0.19.2, `apis/config/v1beta2/configuration_types.go` and `defaults.go`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from trainshed.fleet.access import Node, dig, items, mapping, mappings, strings, text
from trainshed.fleet.compose import Limits, Refused, compose
from trainshed.fleet.document import Document
from trainshed.fleet.nodes import Builder
from trainshed.fleet.paths import Path
from trainshed.quantity import Quantity

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_GROUP: Final = "config.kueue.x-k8s.io/"
#: The integration of every kind that Kueue queues (Kueue v0.19.2, `pkg/controller/jobs/`).
FRAMEWORKS: Final = {
    ("batch", "Job"): "batch/job",
    ("batch", "CronJob"): "batch/job",
    ("jobset.x-k8s.io", "JobSet"): "jobset.x-k8s.io/jobset",
    ("trainer.kubeflow.org", "TrainJob"): "trainer.kubeflow.org/trainjob",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "leaderworkerset.x-k8s.io/leaderworkerset",
    ("ray.io", "RayJob"): "ray.io/rayjob",
    ("ray.io", "RayCluster"): "ray.io/raycluster",
    ("ray.io", "RayService"): "ray.io/rayservice",
    ("kubeflow.org", "MPIJob"): "kubeflow.org/mpijob",
    ("kubeflow.org", "PyTorchJob"): "kubeflow.org/pytorchjob",
    ("kubeflow.org", "TFJob"): "kubeflow.org/tfjob",
    ("kubeflow.org", "XGBoostJob"): "kubeflow.org/xgboostjob",
    ("kubeflow.org", "PaddleJob"): "kubeflow.org/paddlejob",
    ("kubeflow.org", "JAXJob"): "kubeflow.org/jaxjob",
    ("workload.codeflare.dev", "AppWrapper"): "workload.codeflare.dev/appwrapper",
    ("sparkoperator.k8s.io", "SparkApplication"): "sparkoperator.k8s.io/sparkapplication",
    ("", "Pod"): "pod",
    ("apps", "Deployment"): "deployment",
    ("apps", "StatefulSet"): "statefulset",
}
_DEFAULT_FRAMEWORKS: Final = ("batch/job",)
_MAX_TEXT: Final = 200_000


class Transformation(NamedTuple):
    """How an amount of one resource becomes amounts of others."""

    outputs: dict[str, Fraction]
    replace: bool
    multiply_by: str = ""


@dataclass
class KueueConfig:
    """The manager's settings. `document` and `path` say where they are written; None when they are not in the input,
    and then every field has Kueue's default."""

    document: Document | None = None
    path: Path = ()
    data: Node = field(default_factory=dict)
    transformations: dict[str, Transformation] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether the settings are in the input."""
        return self.document is not None

    @property
    def ignore_undeclared(self) -> bool:
        """Whether resources that a ClusterQueue does not cover are let through."""
        return text(self.data, "resources", "quotaCheckStrategy") == "IgnoreUndeclared"

    @property
    def excluded_prefixes(self) -> tuple[str, ...]:
        """Resources that begin so are not counted."""
        return tuple(x for x in items(self.data, "resources", "excludeResourcePrefixes") if isinstance(x, str) and x)

    @property
    def manage_without_queue(self) -> bool:
        """Whether jobs without a queue name are taken over."""
        return dig(self.data, "manageJobsWithoutQueueName") is True

    @property
    def namespace_selector(self) -> Node | None:
        """`managedJobsNamespaceSelector`, None where it is not written."""
        found = dig(self.data, "managedJobsNamespaceSelector")
        return found if isinstance(found, dict) else None

    @property
    def namespace(self) -> str:
        """The namespace Kueue runs in."""
        return text(self.data, "namespace") or (self.document.namespace if self.document else None) or "kueue-system"

    @property
    def frameworks(self) -> tuple[str, ...]:
        """The enabled integrations; `batch/job` alone where the settings list none."""
        listed = [x for x in items(self.data, "integrations", "frameworks") if isinstance(x, str)]
        return tuple(listed) or _DEFAULT_FRAMEWORKS

    @property
    def fair_sharing(self) -> bool:
        """Whether preemption follows fair shares."""
        found = dig(self.data, "fairSharing")
        return isinstance(found, dict) and found.get("enable") is not False

    @property
    def admission_fair_sharing(self) -> bool:
        """Whether the order of LocalQueues follows their usage."""
        return isinstance(dig(self.data, "admissionFairSharing"), dict)


def kueue_config(fleet: Fleet) -> KueueConfig:
    """The first Configuration of the fleet: an object of its own, or the text of a ConfigMap's key."""
    for document, path, data in _candidates(fleet):
        if text(data, "apiVersion").startswith(_GROUP) and text(data, "kind") == "Configuration":
            return KueueConfig(document, path, data, dict(_transformations(data)))
    return KueueConfig()


def _candidates(fleet: Fleet) -> Iterator[tuple[Document, Path, Node]]:
    for document in fleet.of(("config.kueue.x-k8s.io", "Configuration")):
        yield document, (), document.manifest
    for document in fleet.of(("", "ConfigMap")):
        for key, value in strings(document.manifest, "data").items():
            if _GROUP in value and len(value) <= _MAX_TEXT:
                yield document, ("data", key), _parsed(value)


def _parsed(value: str) -> Node:
    limits = Limits(depth=60, nodes=20_000, expanded=40_000)
    try:
        for root in compose(value, limits):
            built: Any = Builder(limits).build(root, aliases=True)
            return built if isinstance(built, dict) else {}
    except (yaml.YAMLError, Refused):
        pass
    return {}


def _transformations(data: Node) -> Iterator[tuple[str, Transformation]]:
    for _, entry in mappings(data, "resources", "transformations"):
        outputs: dict[str, Fraction] = {}
        for name, factor in mapping(entry, "outputs").items():
            try:
                outputs[name] = Quantity(factor).value
            except (ValueError, OverflowError):
                continue
        replace = text(entry, "strategy") == "Replace"
        yield text(entry, "input"), Transformation(outputs, replace, text(entry, "multiplyBy"))
