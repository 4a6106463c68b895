"""A TrainJob as the JobSet that Trainer makes of it and its runtime.

Trainer v2.3.0: `pkg/runtime/core/trainingruntime.go` (pod sets, patches), `pkg/runtime/framework/plugins/jobset`
(overrides), `…/{plainml,torch,mpi,jax,xgboost}` (counts and environment). Summary: workloads.md 2.1, 2.2, 3.6, 4.1.
"""

from __future__ import annotations

from typing import Any, Final

from trainshed.fleet.access import Node, items, mapping, mappings, strings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.workloads.at import At, counted
from trainshed.fleet.workloads.batch import job_pods, job_set
from trainshed.fleet.workloads.merge import Origins, merge
from trainshed.fleet.workloads.trainjob_fields import Draft, override_initializer, override_trainer
from trainshed.fleet.workloads.trainjob_policy import apply_policy, mark_gang

GROUP: Final = "trainer.kubeflow.org"
ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
INITIALIZERS: Final = {"dataset-initializer": "dataset", "model-initializer": "model"}
_JOBS: Final[Path] = ("spec", "template", "spec", "replicatedJobs")


def runtime_of(at: At) -> Document | None:
    """The runtime a TrainJob names, where the input has it. The default kind is ClusterTrainingRuntime."""
    reference = mapping(at.manifest, "spec", "runtimeRef")
    kind = text(reference, "kind") or "ClusterTrainingRuntime"
    group, name = text(reference, "apiGroup") or GROUP, text(reference, "name")
    if kind == "TrainingRuntime":
        found = at.fleet.namespaces.find(group, kind, at.namespace, name)
    else:
        found = at.fleet.find(group, kind, None, name)
    return found if found is not None and found.judged and kind.endswith("TrainingRuntime") else None


def runtime_template(at: At) -> Workload:
    """A runtime by itself: the pod sets of its JobSet, as a TrainJob that says nothing would get them."""
    workload = job_set(at.inside("spec", "template"))
    policy = mapping(at.manifest, "spec", "mlPolicy")
    nodes, mpi = counted(policy, "numNodes"), isinstance(policy.get("mpi"), dict)
    for pod_set in workload.pod_sets:
        ancestor = strings(pod_set.item, "template", "metadata", "labels").get(ANCESTOR, "")
        if policy and (pod_set.name == "node" if mpi else ancestor == "trainer"):
            pod_set.count, pod_set.count_at = nodes, (at.document, (*at.path, "spec", "mlPolicy", "numNodes"))
    return workload


def train_job(at: At) -> Workload:
    """A TrainJob: the pod sets of its rendered JobSet; without its runtime only what the TrainJob itself says."""
    runtime = runtime_of(at)
    if runtime is None:
        return at.workload("TrainJob", [_alone(at)], parts_known=False)
    drafts = [_draft(at, runtime, index, item) for index, item in mappings(runtime.manifest, *_JOBS)]
    _counts(at, runtime, drafts)
    policy = mapping(runtime.manifest, "spec", "mlPolicy")
    for draft in drafts:
        if draft.ancestor in INITIALIZERS:
            override_initializer(at, draft, INITIALIZERS[draft.ancestor])
        elif draft.ancestor == "trainer":
            override_trainer(at, draft, resources="mlPolicy" in mapping(runtime.manifest, "spec"))
    apply_policy(at, policy, drafts)
    mark_gang(at, runtime, drafts)
    pod_sets = [_pod_set(draft, runtime) for draft in drafts]
    workload = at.workload("JobSet", pod_sets, runtime=runtime)
    workload.manifest = _job_set(at, runtime, drafts)
    return workload


def _draft(at: At, runtime: Document, index: int, item: Node) -> Draft:
    """The replicatedJob with the TrainJob's runtimePatches merged in."""
    name = text(item, "name")
    template, origins = mapping(item, "template"), Origins()
    for number, _ in mappings(at.manifest, "spec", "runtimePatches"):
        place: Path = ("spec", "runtimePatches", number, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for position, job in mappings(at.manifest, *place):
            if name and job.get("name") == name and isinstance(job.get("template"), dict):
                source = (at.document, (*at.path, *place, position, "template"))
                template = merge(template, job["template"], (), source, origins)
    ancestor = strings(template, "metadata", "labels").get(ANCESTOR, "")
    spec = mapping(template, "spec")
    count, field = job_pods(spec)
    inside = Origins()
    for path, source in origins.items():
        if path[:2] == ("spec", "template") and len(path) > 2:
            inside.put(path[2:], source)
    return Draft(
        name=name,
        ancestor=ancestor,
        item=item,
        path=(*_JOBS, index),
        metadata=mapping(template, "metadata"),
        job=spec,
        template=mapping(spec, "template"),
        origins=inside,
        count=count,
        count_at=(runtime, (*_JOBS, index, "template", "spec", field)),
        replicas=counted(item, "replicas"),
    )


def _counts(at: At, runtime: Document, drafts: list[Draft]) -> None:
    """numNodes to the training job. Without mlPolicy nothing changes; with MPI the job named `node` gets it, less the
    launcher where that is a node as well."""
    spec = mapping(runtime.manifest, "spec")
    if "mlPolicy" not in spec:
        return
    policy = mapping(spec, "mlPolicy")
    written = whole(at.manifest, "spec", "trainer", "numNodes")
    default = whole(policy, "numNodes")
    nodes = written if written is not None else default if default is not None else 1
    place: tuple[Document, Path] = (runtime, ("spec", "mlPolicy", "numNodes"))
    if written is not None or default is None:
        place = (at.document, (*at.path, "spec", "trainer", "numNodes"))
    mpi = isinstance(policy.get("mpi"), dict)
    shared = mapping(policy, "mpi").get("runLauncherAsNode") is True
    for draft in drafts:
        if mpi and draft.name == "node":
            draft.counted(max(nodes - 1, 1) if shared else nodes, place)
        elif draft.ancestor == "trainer":
            draft.counted(1 if mpi else nodes, place)
        if draft.ancestor:
            draft.replicas = 1


def _pod_set(draft: Draft, runtime: Document) -> PodSet:
    count = max(draft.count, 0) * draft.replicas
    return PodSet(
        draft.name.lower(),
        count,
        draft.template,
        runtime,
        (*draft.path, "template", "spec", "template"),
        origins=draft.origins,
        count_at=draft.count_at,
        item=draft.rendered(),
        item_path=draft.path,
        job=draft.job,
        job_path=(*draft.path, "template", "spec"),
        replicas=draft.replicas,
    )


def _job_set(at: At, runtime: Document, drafts: list[Draft]) -> Node:
    """The JobSet object: named as the TrainJob, with the runtime's and the patches' metadata."""
    template = mapping(runtime.manifest, "spec", "template")
    metadata: Node = {"name": at.name, "namespace": at.namespace}
    for field in ("labels", "annotations"):
        merged = dict(strings(template, "metadata", field))
        for _, patch in mappings(at.manifest, "spec", "runtimePatches"):
            merged.update(strings(patch, "trainingRuntimeSpec", "template", "metadata", field))
        if merged:
            metadata[field] = merged
    spec = {**mapping(template, "spec"), "replicatedJobs": [draft.rendered() for draft in drafts]}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}


def _alone(at: At) -> PodSet:
    """What a TrainJob says of its nodes, when its runtime is not there to say the rest."""
    trainer = mapping(at.manifest, "spec", "trainer")
    container: Node = {"name": "node"}
    place: Path = ("spec", "containers", 0)
    root = (*at.path, "spec", "trainer")
    origins = Origins()
    origins.put(place, (at.document, root))
    fields: dict[str, Any] = {"image": text(trainer, "image"), "env": items(trainer, "env")}
    fields |= {"command": items(trainer, "command"), "args": items(trainer, "args")}
    container |= {field: value for field, value in fields.items() if value}
    if resources := mapping(trainer, "resourcesPerNode"):
        container["resources"] = resources
        origins.put((*place, "resources"), (at.document, (*root, "resourcesPerNode")))
    return PodSet(
        "node",
        counted(trainer, "numNodes"),
        {"spec": {"containers": [container]}},
        at.document,
        root,
        origins=origins,
        count_at=(at.document, (*root, "numNodes")),
    )
