"""Changes: what cannot be updated, and what is missed once it is gone."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.checks.gitops.worlds import HOOK, KINDS, NAMESPACE, OPTIONS, Manifest, codes, findings, job, made, pod

KUEUE = "kueue.x-k8s.io/v1beta2"


def changed(manifest: Manifest, path: str, value: Any) -> Manifest:
    """A copy with `value` at `path` (`spec.template.0.x`)."""
    found = copy.deepcopy(manifest)
    node: Any = found
    *parents, last = path.split(".")
    for part in parents:
        node = node[int(part)] if isinstance(node, list) else node[part]
    node[int(last) if isinstance(node, list) else last] = value
    return found


def platform(kind: str, name: str, spec: Manifest, **fields: Any) -> Manifest:
    return made(KUEUE, kind, spec, name, namespace=None, **fields)


def cluster_queue(flavor: str = "h100", **spec: Any) -> Manifest:
    flavors = [{"name": flavor, "resources": [{"name": "cpu", "nominalQuota": "12"}]}]
    group = {"coveredResources": ["cpu"], "flavors": flavors}
    return platform("ClusterQueue", "gpus", {"namespaceSelector": {}, "resourceGroups": [group]} | spec)


def local_queue(target: str = "gpus", name: str = "train") -> Manifest:
    return made(KUEUE, "LocalQueue", {"clusterQueue": target}, name)


def claim(name: str = "ckpt", storage: str = "2Ti", **fields: Any) -> Manifest:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": storage}}}
    return made("v1", "PersistentVolumeClaim", spec, name, **fields)


FLAVOR = platform("ResourceFlavor", "h100", {"nodeLabels": {"a": "b"}})
#: (object, path, new value): what the API server or a webhook refuses to update.
FIXED: dict[str, tuple[Manifest, str, Any]] = {
    "Job image": (job(), "spec.template.spec.containers.0.image", "registry.example.com/trainer:2"),
    "Job environment": (job(), "spec.template.spec.containers.0.env", [{"name": "A", "value": "1"}]),
    "Job selector": (job(), "spec.completionMode", "Indexed"),
    "JobSet": (KINDS["JobSet"](pod())[0], "spec.replicatedJobs.0.template.spec.parallelism", 4),
    "Volcano Job": (KINDS["VolcanoJob"](pod())[0], "spec.tasks.0.template.spec.containers.0.image", "x:2"),
    "TrainJob": (KINDS["TrainJob"](pod())[1], "spec.runtimeRef.name", "other"),
    "LocalQueue": (local_queue(), "spec.clusterQueue", "others"),
    "Topology": (platform("Topology", "t", {"levels": [{"nodeLabel": "a/x"}]}), "spec.levels.0.nodeLabel", "a/block"),
    "flavor with topology": (
        platform("ResourceFlavor", "h100", {"nodeLabels": {"a": "b"}, "topologyName": "t"}), "spec.nodeLabels.a", "c"
    ),
    "AdmissionCheck": (
        platform("AdmissionCheck", "c", {"controllerName": "kueue.x-k8s.io/provisioning-request"}),
        "spec.controllerName",
        "kueue.x-k8s.io/multikueue",
    ),
    "Deployment selector": (KINDS["Deployment"](pod())[0], "spec.selector.matchLabels", {"app": "other"}),
    "StatefulSet service": (KINDS["StatefulSet"](pod())[0], "spec.serviceName", "other"),
    "claim class": (claim(), "spec.storageClassName", "fast"),
    "claim modes": (claim(), "spec.accessModes", ["ReadWriteOnce"]),
    "Service address": (
        made("v1", "Service", {"clusterIP": "None", "selector": {"app": "sft"}}), "spec.clusterIP", "10.0.0.7"
    ),
    "PriorityClass": (
        made("scheduling.k8s.io/v1", "PriorityClass", name="low", namespace=None, value=1), "value", 2
    ),
    "roleRef": (
        made(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "research"}],
        ),
        "roleRef.name",
        "edit",
    ),
    "immutable ConfigMap": (made("v1", "ConfigMap", data={"a": "1"}, immutable=True), "data.a", "2"),
    "StorageClass": (
        made("storage.k8s.io/v1", "StorageClass", name="fast", namespace=None, provisioner="csi.example.com"),
        "provisioner",
        "csi.example.org",
    ),
}  # fmt: skip
#: (object, path, new value): what may change.
FREE: dict[str, tuple[Manifest, str, Any]] = {
    "Job parallelism": (job(more={"parallelism": 1}), "spec.parallelism", 2),
    "Job suspend": (job(more={"suspend": True}), "spec.suspend", False),
    "Job label": (job(labels={"a": "b"}), "metadata.labels", {"a": "c"}),
    "Volcano minAvailable": (KINDS["VolcanoJob"](pod())[0], "spec.tasks.0.replicas", 1),
    "Deployment image": (KINDS["Deployment"](pod())[0], "spec.template.spec.containers.0.image", "x:2"),
    "CronJob image": (
        KINDS["CronJob"](pod())[0], "spec.jobTemplate.spec.template.spec.containers.0.image", "x:2"
    ),
    "flavor without topology": (FLAVOR, "spec.nodeLabels", {"a": "c"}),
    "quota": (cluster_queue(), "spec.resourceGroups.0.flavors.0.resources.0.nominalQuota", "24"),
    "claim grows": (claim(), "spec.resources.requests.storage", "3Ti"),
    "ConfigMap": (made("v1", "ConfigMap", data={"a": "1"}), "data.a", "2"),
    "the same amount": (
        job(pod(box={"resources": {"limits": {"memory": "1Gi"}}})),
        "spec.template.spec.containers.0.resources.limits.memory",
        "1024Mi",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FIXED)
def test_what_cannot_change(what: str) -> None:
    before, path, value = FIXED[what]
    after = changed(before, path, value)
    assert "change-immutable-field" in codes(after, before=[before])
    if before["kind"] in ("Job", "JobSet", "LocalQueue"):
        after["metadata"]["annotations"] = {OPTIONS: "Force=true,Replace=true"}
        assert "change-immutable-field" not in codes(after, before=[before])


@pytest.mark.parametrize("what", FREE)
def test_what_can_change(what: str) -> None:
    before, path, value = FREE[what]
    assert "change-immutable-field" not in codes(changed(before, path, value), before=[before])


def test_a_hook_is_made_anew() -> None:
    before = job(annotations={HOOK: "PreSync"})
    after = changed(before, "spec.template.spec.containers.0.image", "x:2")
    assert codes(after, before=[before]) == set()


def test_a_new_name_is_a_new_object() -> None:
    assert codes(job(name="sft-2"), before=[job(name="sft-1")]) == set()


def test_a_claim_shrinks() -> None:
    assert codes(claim(storage="1Ti"), before=[claim()]) == {"change-shrunk-claim"}


#: (what is removed, what still names it)
NAMED: dict[str, tuple[Manifest, list[Manifest]]] = {
    "flavor": (FLAVOR, [cluster_queue()]),
    "topology": (
        platform("Topology", "t", {"levels": [{"nodeLabel": "a/rack"}]}),
        [platform("ResourceFlavor", "h100", {"nodeLabels": {"a": "b"}, "topologyName": "t"})],
    ),
    "check": (
        platform("AdmissionCheck", "prov", {"controllerName": "kueue.x-k8s.io/provisioning-request"}),
        [FLAVOR, cluster_queue(admissionChecksStrategy={"admissionChecks": [{"name": "prov"}]})],
    ),
    "local queue": (local_queue(), [job(labels={"kueue.x-k8s.io/queue-name": "train"})]),
    "runtime": (KINDS["TrainJob"](pod())[0], KINDS["TrainJob"](pod())[1:]),
    "ConfigMap": (
        made("v1", "ConfigMap", name="it"), [job(pod(box={"envFrom": [{"configMapRef": {"name": "it"}}]}))]
    ),
    "Secret": (
        made("v1", "Secret", name="it"), KINDS["JobSet"](pod(volumes=[{"name": "v", "secret": {"secretName": "it"}}]))
    ),
    "account": (made("v1", "ServiceAccount", name="it"), KINDS["CronJob"](pod(serviceAccountName="it"))),
    "priority": (
        made("scheduling.k8s.io/v1", "PriorityClass", name="low", namespace=None, value=1),
        KINDS["LeaderWorkerSet"](pod(priorityClassName="low")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", NAMED)
def test_what_is_still_named_is_missed(what: str) -> None:
    gone, users = NAMED[what]
    assert "change-removes-referenced" in codes(*users, before=[gone, *users])
    assert "change-removes-referenced" not in codes(gone, *users, before=[gone, *users])
    assert "change-removes-referenced" not in codes(before=[gone], text="# nothing\n")
    assert "change-removes-referenced" not in codes(*users, before=users)


def test_a_queue_is_drained_before_it_goes() -> None:
    other = platform("ResourceFlavor", "h100", {"nodeLabels": {"a": "b"}})
    assert "change-removed-queue" in codes(other, before=[other, cluster_queue(), local_queue()])
    drained = cluster_queue(stopPolicy="HoldAndDrain")
    assert "change-removed-queue" not in codes(other, before=[other, drained, local_queue()])
    assert "change-removed-queue" not in codes(other, before=[other, cluster_queue()])


class TestClaims:
    mounting = job(pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "ckpt"}}]))

    def test_that_are_still_mounted(self) -> None:
        found = findings(self.mounting, before=[claim(), self.mounting])
        assert [(item.code, item.severity) for item in found if item.severity != "info"] == [
            ("change-removed-claim", "error")
        ]

    @pytest.mark.parametrize("kind", ["JobSet", "TrainJob", "VolcanoJob", "PyTorchJob", "Deployment"])
    def test_in_every_kind(self, kind: str) -> None:
        users = KINDS[kind](pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "ckpt"}}]))
        assert "change-removed-claim" in codes(*users, before=[claim(), *users])

    def test_that_nobody_mounts(self) -> None:
        assert codes(job(), before=[claim(), job()]) == {"change-removed-claim"}
        kept = claim(annotations={OPTIONS: "Prune=false"})
        assert codes(job(), before=[kept, job()]) == set()

    def test_under_a_new_name(self) -> None:
        old, new = claim("runs-ckpt-c8f1a2b3"), claim("runs-ckpt-c86b90d4", "3Ti")
        assert codes(new, before=[old]) == {"change-renamed-claim"}
        old["metadata"]["annotations"] = {OPTIONS: "Prune=confirm"}
        assert codes(new, before=[old]) == set()

    def test_of_another_namespace_are_others(self) -> None:
        old = claim("a-12345", namespace="team-b", annotations={OPTIONS: "Prune=false"})
        assert codes(claim("a-54321"), before=[old]) == set()


class TestNamespaces:
    namespace = made("v1", "Namespace", name=NAMESPACE, namespace=None)
    other = made("v1", "Namespace", name="zebra", namespace=None)

    def test_with_something_in_it(self) -> None:
        found = findings(self.other, job(), before=[self.other, self.namespace, job()])
        assert [(item.code, item.severity) for item in found if item.severity != "info"] == [
            ("change-removed-namespace", "error")
        ]

    def test_that_are_pruned_with_all_they_hold(self) -> None:
        assert codes(self.other, before=[self.other, self.namespace]) == {"change-removed-namespace"}

    def test_whose_pruning_is_confirmed_by_hand(self) -> None:
        kept = self.namespace | {"metadata": {"name": NAMESPACE, "annotations": {OPTIONS: "Prune=confirm"}}}
        assert codes(self.other, before=[self.other, kept]) == set()


def test_a_definition_goes_with_all_its_objects() -> None:
    names = {"kind": "Widget", "plural": "widgets"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    crd = made("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec, "widgets.example.com", namespace=None)
    widget = made("example.com/v1", "Widget", {})
    (told,) = [item for item in findings(widget, before=[crd, widget]) if item.code == "change-removed-definition"]
    assert told.severity == "error"
    (told,) = [item for item in findings(job(), before=[crd, job()]) if item.code == "change-removed-definition"]
    assert told.severity == "warning"


def test_fewer_gpus_strand_a_run() -> None:
    run = job(pod(box={"resources": {"requests": {"cpu": "10"}}}), labels={"kueue.x-k8s.io/queue-name": "train"})
    after = changed(cluster_queue(), "spec.resourceGroups.0.flavors.0.resources.0.nominalQuota", "8")
    before = [FLAVOR, cluster_queue(), local_queue(), run]
    assert "change-strands-workload" in codes(FLAVOR, after, local_queue(), run, before=before)
    assert codes(FLAVOR, cluster_queue(), local_queue(), run, before=before) == set()


def test_a_default_that_is_no_longer_written_is_no_change() -> None:
    before = job(more={"completionMode": "NonIndexed"})
    assert codes(job(), before=[before]) == set()
    (run,) = KINDS["JobSet"](pod())
    indexed = changed(run, "spec.replicatedJobs.0.template.spec.completionMode", "Indexed")
    assert codes(run, before=[indexed]) == set()
    plain = changed(run, "spec.replicatedJobs.0.template.spec.completionMode", "NonIndexed")
    assert codes(run, before=[plain]) == {"change-immutable-field"}


def test_what_only_the_cluster_wrote_is_no_change() -> None:
    live = job(pod(dnsPolicy="ClusterFirst", schedulerName="kube"), uid="8d0b1c5a-0000-4000-8000-000000000000")
    live["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": "8d0b1c5a"}}
    live["spec"]["template"]["metadata"] = {"labels": {"job-name": "sft"}}
    assert codes(job(), before=[live]) == set()
    other = changed(job(), "spec.template.spec.containers.0.image", "registry.example.com/trainer:2")
    assert codes(other, before=[live]) == {"change-immutable-field"}
