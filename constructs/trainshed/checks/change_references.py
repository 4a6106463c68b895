"""Changes that remove what other objects still refer to, or what others' data lies in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import sync_options
from trainshed.checks.change_removed import removed
from trainshed.checks.gang_common import KAI_QUEUE
from trainshed.checks.pod_references import references
from trainshed.checks.pods import pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "changes"
_KUEUE: Final = "kueue.x-k8s.io"
_TRAINER: Final = "trainer.kubeflow.org"
_VOLCANO: Final = "scheduling.volcano.sh"
_KAI: Final = "scheduling.run.ai"
_CLASS: Final = ("scheduling.k8s.io", "PriorityClass")
#: (group, kind, namespace or None, name) of a named object, and where it is named.
Named = tuple[tuple[str, str], str | None, str, Document, Path]
_KEPT: Final = frozenset({"Prune=false", "Prune=confirm", "Delete=false"})


def kept(document: Document) -> bool:
    """Whether Argo CD does not remove the object by itself when it is gone from Git."""
    return bool(_KEPT.intersection(sync_options(document)))


@rule("change-removes-referenced", severity="error", family=FAMILY, baseline=True)
def removes_referenced(fleet: Fleet) -> Iterator[Issue]:
    """The change removes an object that another one still names.

    Why: Argo CD prunes it, or Kueue holds it until it is not needed, and the sync with it. What still names it stops:
    queues become inactive, pods are refused or wait.
    Fix: Keep it, or change what names it first.
    """
    gone: dict[tuple[str, str, str, str], Document] = {item.identity: item for item in removed(fleet)}
    if not gone:
        return
    for (group, kind), namespace, name, document, path in _all_named(fleet):
        old = gone.get((group, kind, namespace or "", name))
        if old is not None:
            message = f'{kind} "{name}" is removed by this change, and {document.kind} "{document.name}" still names it'
            related = (("the removed object", old, ("metadata", "name")),)
            yield Issue(document, path, message, f"keep {kind} {name}, or name another", None, related)


def _all_named(fleet: Fleet) -> Iterator[Named]:
    yield from _of_queues(fleet)
    yield from _of_runs(fleet)
    for binding in fleet.of(("rbac.authorization.k8s.io", "RoleBinding")):
        kind = text(binding.manifest, "roleRef", "kind")
        role = ("rbac.authorization.k8s.io", kind)
        namespace = binding.namespace if kind == "Role" else None
        yield role, namespace, text(binding.manifest, "roleRef", "name"), binding, ("roleRef", "name")
    for application in fleet.of(("argoproj.io", "Application")):
        name = text(application.manifest, "spec", "project")
        yield ("argoproj.io", "AppProject"), application.namespace, name, application, ("spec", "project")


def _of_queues(fleet: Fleet) -> Iterator[Named]:
    for queue in fleet.of((_KUEUE, "ClusterQueue"), (_KUEUE, "Cohort")):
        for group, covered in mappings(queue.manifest, "spec", "resourceGroups"):
            for index, flavor in mappings(covered, "flavors"):
                path: Path = ("spec", "resourceGroups", group, "flavors", index, "name")
                yield (_KUEUE, "ResourceFlavor"), None, text(flavor, "name"), queue, path
        for index, check in mappings(queue.manifest, "spec", "admissionChecksStrategy", "admissionChecks"):
            path = ("spec", "admissionChecksStrategy", "admissionChecks", index, "name")
            yield (_KUEUE, "AdmissionCheck"), None, text(check, "name"), queue, path
    for item in fleet.of((_KUEUE, "ResourceFlavor")):
        topology = text(item.manifest, "spec", "topologyName")
        yield (_KUEUE, "Topology"), None, topology, item, ("spec", "topologyName")
    for item in fleet.of((_KUEUE, "AdmissionCheck")):
        parameters = mapping(item.manifest, "spec", "parameters")
        kind = (_KUEUE, text(parameters, "kind"))
        yield kind, None, text(parameters, "name"), item, ("spec", "parameters", "name")
    for queue in fleet.of((_VOLCANO, "Queue")):
        yield (_VOLCANO, "Queue"), None, text(queue.manifest, "spec", "parent"), queue, ("spec", "parent")
    for queue in fleet.of((_KAI, "Queue")):
        yield (_KAI, "Queue"), None, text(queue.manifest, "spec", "parentQueue"), queue, ("spec", "parentQueue")


def _of_runs(fleet: Fleet) -> Iterator[Named]:
    for workload in fleet.workloads:
        document = workload.document
        path = workload.labels_path
        if workload.queue_name:
            where = (*path, f"{_KUEUE}/queue-name")
            yield (_KUEUE, "LocalQueue"), workload.namespace, workload.queue_name, document, where
        if priority := workload.labels.get(f"{_KUEUE}/priority-class", ""):
            yield (_KUEUE, "WorkloadPriorityClass"), None, priority, document, (*path, f"{_KUEUE}/priority-class")
        if queue := workload.labels.get(KAI_QUEUE, ""):
            yield (_KAI, "Queue"), None, queue, document, (*path, KAI_QUEUE)
        if (document.group, document.kind) == ("batch.volcano.sh", "Job"):
            yield (_VOLCANO, "Queue"), None, text(document.manifest, "spec", "queue"), document, ("spec", "queue")
        if document.kind == "TrainJob":
            kind = text(document.manifest, "spec", "runtimeRef", "kind") or "ClusterTrainingRuntime"
            namespace = workload.namespace if kind == "TrainingRuntime" else None
            name = text(document.manifest, "spec", "runtimeRef", "name")
            yield (_TRAINER, kind), namespace, name, document, ("spec", "runtimeRef", "name")
    for workload, pod_set in pod_sets(fleet):
        document, path = pod_set.at(("spec", "serviceAccountName"))
        account = text(pod_set.spec, "serviceAccountName")
        yield ("", "ServiceAccount"), workload.namespace, account, document, path
        document, path = pod_set.at(("spec", "priorityClassName"))
        yield _CLASS, None, text(pod_set.spec, "priorityClassName"), document, path
        if queue := pod_set.labels.get(KAI_QUEUE, ""):
            document, path = pod_set.at(("metadata", "labels", KAI_QUEUE))
            yield (_KAI, "Queue"), None, queue, document, path
        for reference in references(pod_set):
            if reference.kind != "PersistentVolumeClaim":  # change-removed-claim tells of those
                document, path = pod_set.at(reference.path)
                yield ("", reference.kind), workload.namespace, reference.name, document, path


@rule("change-removed-namespace", severity="warning", family=FAMILY, baseline=True)
def removed_namespace(fleet: Fleet) -> Iterator[Issue]:
    """The change removes a Namespace.

    Why: When Argo CD prunes it, everything in it goes: running training, claims with their checkpoints, objects that
    are in no repository. An error where the input still has objects in it: the API server refuses them. A note where
    it carries `Prune=confirm`, since somebody is asked, or `Prune=false`.
    Fix: Annotate it with `argocd.argoproj.io/sync-options: Prune=confirm` before it is removed, or keep it.
    """
    for namespace in removed(fleet, ("", "Namespace")):
        inside = next((item for item in fleet.documents if item.namespace == namespace.name), None)
        if inside is not None:
            what = f'{inside.kind} "{inside.name}" is still in it'
            message = f'Namespace "{namespace.name}" is removed by this change, and {what}'
            related = (("the removed Namespace", namespace, ("metadata", "name")),)
            fix = "keep the Namespace, or move what is in it"
            yield Issue(inside, ("metadata", "namespace"), message, fix, None if kept(namespace) else "error", related)
        else:
            message = (
                f'Namespace "{namespace.name}" is removed by this change: pruning it deletes everything in it, its '
                "claims and their data, too"
            )
            fix = "annotate it with argocd.argoproj.io/sync-options: Prune=confirm first, or keep it"
            asked = kept(namespace)
            if asked:
                fix = "look at what is in it (kubectl get all,pvc) before you confirm that"
            yield Issue(namespace, ("metadata", "name"), message, fix, "info" if asked else None)


@rule("change-removed-definition", severity="warning", family=FAMILY, baseline=True)
def removed_definition(fleet: Fleet) -> Iterator[Issue]:
    """The change removes a CustomResourceDefinition.

    Why: Kubernetes deletes every object of its kind with it: all queues, all runs.
    Fix: Annotate CRDs with `argocd.argoproj.io/sync-options: Prune=false`.
    """
    for crd in removed(fleet, ("apiextensions.k8s.io", "CustomResourceDefinition")):
        kind, group = text(crd.manifest, "spec", "names", "kind"), text(crd.manifest, "spec", "group")
        using = fleet.of((group, kind))
        if using or not kept(crd):
            also = f', among them {kind} "{using[0].name}" of this input' if using else ""
            message = f"the CRD of {kind} is removed by this change, and every {kind} of the cluster with it{also}"
            fix = "keep the CRD, or annotate it with argocd.argoproj.io/sync-options: Prune=false first"
            yield Issue(crd, ("metadata", "name"), message, fix, "error" if using else None)
