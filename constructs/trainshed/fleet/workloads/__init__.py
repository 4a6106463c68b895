"""Every workload of a fleet with its pod sets: one function for each kind that makes pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from trainshed.fleet.access import mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.requests import overhead_of, pod_requests
from trainshed.fleet.workload import Workload
from trainshed.fleet.workloads import apps, appwrapper, batch, kubeflow, pods, ray, spark, trainjob, volcano
from trainshed.fleet.workloads.at import At

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

KINDS: Final[dict[tuple[str, str], Callable[[At], Workload]]] = {
    ("", "Pod"): pods.pod,
    ("apps", "DaemonSet"): apps.daemon_set,
    ("apps", "Deployment"): apps.deployment,
    ("apps", "ReplicaSet"): apps.deployment,
    ("apps", "StatefulSet"): apps.stateful_set,
    ("batch", "CronJob"): batch.cron_job,
    ("batch", "Job"): batch.job,
    ("batch.volcano.sh", "CronJob"): volcano.volcano_cron_job,
    ("batch.volcano.sh", "Job"): volcano.volcano_job,
    ("flow.volcano.sh", "JobFlow"): volcano.job_flow,
    ("jobset.x-k8s.io", "JobSet"): batch.job_set,
    ("kubeflow.org", "JAXJob"): kubeflow.replica_job("jaxReplicaSpecs"),
    ("kubeflow.org", "MPIJob"): kubeflow.replica_job("mpiReplicaSpecs", workers=0),
    ("kubeflow.org", "PaddleJob"): kubeflow.replica_job("paddleReplicaSpecs"),
    ("kubeflow.org", "PyTorchJob"): kubeflow.replica_job("pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): kubeflow.replica_job("tfReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): kubeflow.replica_job("xgbReplicaSpecs"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): apps.leader_worker_set,
    ("ray.io", "RayCluster"): ray.ray_cluster,
    ("ray.io", "RayJob"): ray.ray_job,
    ("ray.io", "RayService"): ray.ray_service,
    ("sparkoperator.k8s.io", "SparkApplication"): spark.spark_application,
    ("trainer.kubeflow.org", "TrainJob"): trainjob.train_job,
}
KINDS["workload.codeflare.dev", "AppWrapper"] = appwrapper.app_wrapper(KINDS)


def workloads_of(fleet: Fleet) -> Iterator[Workload]:
    """The workloads in input order, requests filled in. Left out are objects that another object of the input owns
    (`ownerReferences`, as in a kubectl dump): their owner stands for them."""
    found: list[Workload] = []
    groups: dict[tuple[str, str], Workload] = {}
    for document in fleet.documents:
        make = KINDS.get((document.group, document.kind))
        if make is None or not document.judged or _owned(fleet, document):
            continue
        workload = make(At(fleet, document, document.manifest))
        workload.namespace = fleet.namespaces.of(document)
        if make is not pods.pod or not pods.joined(workload, groups):
            found.append(workload)
    for workload in found:
        fill_requests(fleet, workload)
        yield workload


def templates_of(fleet: Fleet) -> Iterator[Workload]:
    """What describes pods without making any: runtimes and Volcano JobTemplates that no workload of the input uses,
    and PodTemplates. Counts are as written there."""
    used = {id(pod_set.document) for workload in fleet.workloads for pod_set in workload.pod_sets}
    for document in fleet.documents:
        make = _TEMPLATES.get((document.group, document.kind))
        if make is not None and document.judged and id(document) not in used:
            workload = make(At(fleet, document, document.manifest))
            workload.namespace = fleet.namespaces.of(document)
            fill_requests(fleet, workload)
            yield workload


def _pod_template(at: At) -> Workload:
    return at.workload("PodTemplate", [at.pod_set("main", 1, "template", count_path=("template",))])


_TEMPLATES: Final[dict[tuple[str, str], Callable[[At], Workload]]] = {
    ("", "PodTemplate"): _pod_template,
    ("flow.volcano.sh", "JobTemplate"): volcano.volcano_job,
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): trainjob.runtime_template,
    ("trainer.kubeflow.org", "TrainingRuntime"): trainjob.runtime_template,
}


def fill_requests(fleet: Fleet, workload: Workload) -> None:
    """Sets the requests of each pod set, with the LimitRanges of the workload's namespace."""
    defaults = fleet.limit_ranges.of(workload.namespace)
    for pod_set in workload.pod_sets:
        spec = pod_set.spec
        pod_set.requests = pod_requests(spec, defaults, overhead_of(fleet, spec))


def _owned(fleet: Fleet, document: Document) -> bool:
    metadata = document.manifest.get("metadata")
    if not isinstance(metadata, dict) or "ownerReferences" not in metadata:
        return False
    for _, owner in mappings(metadata, "ownerReferences"):
        group = text(owner, "apiVersion").rpartition("/")[0]
        if fleet.find(group, text(owner, "kind"), document.namespace, text(owner, "name")):
            return True
    return False
