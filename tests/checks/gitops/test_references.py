"""Names that one object gives another: slips are found in every kind, the members of a series are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.gitops.worlds import KINDS, PATCHED, Manifest, codes, findings, job, made, pod

RBAC = "rbac.authorization.k8s.io/v1"
every_kind = pytest.mark.parametrize("kind", KINDS)


def claim(name: str = "checkpoints", **fields: Any) -> Manifest:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "2Ti"}}}
    return made("v1", "PersistentVolumeClaim", spec, name, **fields)


def mounting(name: str) -> Manifest:
    return pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])


def role(**fields: Any) -> Manifest:
    rules = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]}]
    return made(RBAC, "Role", name="run-owner", **({"rules": rules} | fields))


def binding(kind: str = "Role", name: str = "run-owner", **fields: Any) -> Manifest:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "research"}]
    return made(RBAC, "RoleBinding", name="owners", **({"roleRef": reference, "subjects": subjects} | fields))


#: (pod spec with a slip, what is there, code)
SLIPS: dict[str, tuple[Manifest, Manifest, str]] = {
    "claim": (mounting("checkponts"), claim(), "reference-volume-source"),
    "ConfigMap volume": (
        pod(volumes=[{"name": "v", "configMap": {"name": "launcehr"}}]), made("v1", "ConfigMap", name="launcher"),
        "reference-volume-source",
    ),
    "projected Secret": (
        pod(volumes=[{"name": "v", "projected": {"sources": [{"secret": {"name": "wandb-key"}}]}}]),
        made("v1", "Secret", name="wandbkey"), "reference-volume-source",
    ),
    "environment": (
        pod(box={"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "wandbb", "key": "k"}}}]}),
        made("v1", "Secret", name="wandb"), "reference-volume-source",
    ),
    "envFrom": (
        pod(box={"envFrom": [{"configMapRef": {"name": "settigns"}}]}), made("v1", "ConfigMap", name="settings"),
        "reference-volume-source",
    ),
    "pull secret": (
        pod(imagePullSecrets=[{"name": "registy"}]), made("v1", "Secret", name="registry"), "reference-volume-source",
    ),
    "account": (
        pod(serviceAccountName="ckpt-writter"), made("v1", "ServiceAccount", name="ckpt-writer"),
        "reference-service-account",
    ),
    "account, old field": (
        pod(serviceAccount="ckpt-writter"), made("v1", "ServiceAccount", name="ckpt-writer"),
        "reference-service-account",
    ),
    "priority": (
        pod(priorityClassName="batch-lwo"),
        made("scheduling.k8s.io/v1", "PriorityClass", name="batch-low", namespace=None, value=1),
        "reference-priority-class",
    ),
    "key": (
        pod(box={"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "epoch"}}}]}),
        made("v1", "ConfigMap", name="settings", data={"epochs": "3"}), "reference-key",
    ),
    "key of a volume": (
        pod(volumes=[{"name": "v", "configMap": {"name": "settings", "items": [{"key": "x", "path": "x"}]}}]),
        made("v1", "ConfigMap", name="settings", data={"epochs": "3"}), "reference-key",
    ),
}  # fmt: skip


@every_kind
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_found_in_every_kind(kind: str, slip: str) -> None:
    spec, there, code = SLIPS[slip]
    assert code in codes(*KINDS[kind](spec), there)


@every_kind
def test_right_names_are_left_alone(kind: str) -> None:
    secret = made("v1", "Secret", name="wandb")
    account = made("v1", "ServiceAccount", name="ckpt-writer")
    priority = made("scheduling.k8s.io/v1", "PriorityClass", name="low", namespace=None, value=1)
    spec = mounting("checkpoints") | {"serviceAccountName": "ckpt-writer", "priorityClassName": "low"}
    spec["imagePullSecrets"] = [{"name": "wandb"}]
    assert codes(*KINDS[kind](spec), claim(), secret, account, priority) == set()


@pytest.mark.parametrize(
    ("written", "there"),
    [
        ("runs-ckpt-c8f1a2b3", "runs-ckpt-c86b90d4"),  # cdk8s
        ("settings-7h2k9m5bt4", "settings-8gd4bck62t"),  # kustomize
        ("settings", "settings-8gd4bck62t"),
        ("settings-8gd4bck62t", "settings"),
    ],
)
def test_a_name_whose_hash_has_changed_is_told(written: str, there: str) -> None:
    spec = pod(box={"envFrom": [{"configMapRef": {"name": written}}]})
    (found,) = findings(job(spec), made("v1", "ConfigMap", name=there))
    assert (found.code, found.severity) == ("reference-volume-source", "error")
    assert f'write "{there}"' in found.fix


@pytest.mark.parametrize("there", [["settings-c8f1a2b3", "settings-c86b90d4"], ["settings-h100"], ["settings-2026"]])
def test_names_that_bear_no_hash_are_others(there: list[str]) -> None:
    spec = pod(box={"envFrom": [{"configMapRef": {"name": "settings-c8000000"}}]})
    assert codes(job(spec), *(made("v1", "ConfigMap", name=name) for name in there)) == set()


@pytest.mark.parametrize("name", ["checkpoints-2", "ckpt", "datasets", "team-b-checkpoints"])
def test_other_names_may_be_elsewhere(name: str) -> None:
    assert codes(job(mounting(name)), claim()) == set()


def test_optional_sources_may_be_missing() -> None:
    spec = pod(box={"envFrom": [{"configMapRef": {"name": "settigns", "optional": True}}]})
    assert codes(job(spec), made("v1", "ConfigMap", name="settings")) == set()


def test_pods_reach_no_other_namespace() -> None:
    there = claim(namespace="team-b"), claim("datasets")
    assert codes(job(mounting("checkpoints")), *there) == {"reference-volume-source"}
    assert codes(job(mounting("checkpoints")), claim(namespace=None)) == set()


def test_a_namespace_without_claims_may_have_one_of_the_same_name_elsewhere() -> None:
    (found,) = findings(job(mounting("checkpoints")), claim(namespace="team-b"))
    assert (found.code, found.severity) == ("reference-volume-source", "info")
    secret = pod(box={"envFrom": [{"secretRef": {"name": "wandb"}}]})
    (found,) = findings(job(secret), made("v1", "Secret", name="wandb", namespace="team-b"))
    assert found.severity == "error"


def test_system_classes_and_default_accounts_are_always_there() -> None:
    spec = pod(priorityClassName="system-cluster-critical", serviceAccountName="default")
    there = made("scheduling.k8s.io/v1", "PriorityClass", name="low", namespace=None, value=1)
    assert codes(job(spec), there, made("v1", "ServiceAccount", name="ckpt-writer")) == set()


class TestRights:
    def test_roles_of_the_namespace(self) -> None:
        assert codes(role(), binding()) == set()
        assert codes(role(), binding(name="run-owners")) == {"reference-role"}
        assert codes(role(namespace="team-b"), binding()) == {"reference-role"}

    def test_cluster_roles_mostly_come_from_elsewhere(self) -> None:
        cluster_role = made(RBAC, "ClusterRole", name="queue-viewer", namespace=None, rules=[])
        assert codes(cluster_role, binding("ClusterRole", "edit")) == set()
        assert codes(cluster_role, binding("ClusterRole", "queue-veiwer")) == {"reference-role"}
        assert codes(binding("ClusterRole", "edit")) == set()

    def test_subjects(self) -> None:
        account = made("v1", "ServiceAccount", name="launcher")
        right = binding(subjects=[{"kind": "ServiceAccount", "name": "launcher", "namespace": "team-a"}])
        assert codes(account, role(), right) == set()
        wrong = binding(subjects=[{"kind": "ServiceAccount", "name": "launhcer", "namespace": "team-a"}])
        assert codes(account, role(), wrong) == {"reference-subject"}
        elsewhere = binding(subjects=[{"kind": "ServiceAccount", "name": "launhcer", "namespace": "team-b"}])
        assert codes(account, role(), elsewhere) == set()

    @pytest.mark.parametrize(
        ("rule", "wrong"),
        [
            ({"apiGroups": ["batch"], "resources": ["job"], "verbs": ["get"]}, True),
            ({"apiGroups": ["batch"], "resources": ["Jobs"], "verbs": ["get"]}, True),
            ({"apiGroups": [""], "resources": ["pod"], "verbs": ["get"]}, True),
            ({"apiGroups": [""], "resources": ["configmap/status"], "verbs": ["get"]}, True),
            ({"apiGroups": ["kueue.x-k8s.io"], "resources": ["localqueue"], "verbs": ["get"]}, True),
            ({"apiGroups": ["kueue.x-k8s.io"], "resources": ["topology"], "verbs": ["get"]}, True),
            ({"apiGroups": ["kueue.x-k8.io"], "resources": ["localqueues"], "verbs": ["get"]}, True),
            ({"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["udpate"]}, True),
            ({"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["Get"]}, True),
            ({"apiGroups": ["batch"], "resources": ["jobs/status", "*"], "verbs": ["*"]}, False),
            ({"apiGroups": ["", "batch"], "resources": ["pods/log", "jobs"], "verbs": ["get", "list"]}, False),
            ({"apiGroups": ["example.com"], "resources": ["widget"], "verbs": ["get"]}, False),
            ({"apiGroups": ["*"], "resources": ["job"], "verbs": ["get"]}, False),
            ({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}, False),
        ],
    )
    def test_words_of_rules(self, rule: Manifest, wrong: bool) -> None:
        assert ("reference-right" in codes(role(rules=[rule]))) is wrong


class TestMounts:
    def test_of_a_runtime(self) -> None:
        spec = pod(box={"volumeMounts": [{"name": "data", "mountPath": "/data"}]})
        assert codes(*KINDS["TrainJob"](spec)) == {"reference-mount"}
        assert codes(*KINDS["TrainingRuntime"](spec)) == set(), "the TrainJob's patches may have the volume"

    def test_that_a_patch_brings(self) -> None:
        spec = pod(
            box={"volumeMounts": [{"name": "data", "mountPath": "/data"}]}, volumes=[{"name": "data", "emptyDir": {}}]
        )
        assert codes(*PATCHED(spec)) == set()

    def test_of_claim_templates(self) -> None:
        (server,) = KINDS["StatefulSet"](pod(box={"volumeMounts": [{"name": "data", "mountPath": "/data"}]}))
        template = {"metadata": {"name": "data"}, "spec": claim()["spec"]}
        server["spec"]["volumeClaimTemplates"] = [template]
        assert codes(server) == set()


@pytest.mark.parametrize(("target", "code"), [("servign", "reference-scale-target"), ("serving", "")])
def test_autoscalers(target: str, code: str) -> None:
    (server,) = KINDS["Deployment"](pod())
    server["metadata"]["name"] = "serving"
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    scaler = made("autoscaling/v2", "HorizontalPodAutoscaler", {"maxReplicas": 4, "scaleTargetRef": reference})
    assert codes(server, scaler) == ({code} if code else set())


def test_storage_classes() -> None:
    shared = made("storage.k8s.io/v1", "StorageClass", name="shared-files", namespace=None, provisioner="x.example.com")
    wrong, right, other = claim("a"), claim("b"), claim("c")
    wrong["spec"]["storageClassName"] = "shared-flies"
    right["spec"]["storageClassName"] = "shared-files"
    other["spec"]["storageClassName"] = "fast-block"
    assert codes(shared, wrong) == {"reference-storage-class"}
    assert codes(shared, right, other) == set()


def test_namespaces() -> None:
    research = made("v1", "Namespace", name="research", namespace=None)
    assert codes(research, claim(namespace="reserach")) == {"reference-namespace"}
    assert codes(research, claim(namespace="research-2"), claim(namespace="argocd")) == set()


def test_namespaces_of_tenants() -> None:
    def queue(namespace: str) -> Manifest:
        return made("kueue.x-k8s.io/v1beta2", "LocalQueue", {"clusterQueue": "gpus"}, "train", namespace=namespace)

    def there(name: str) -> Manifest:
        return made("v1", "Namespace", name=name, namespace=None)

    spec: Manifest = {"namespaceSelector": {}}
    gpus = made("kueue.x-k8s.io/v1beta2", "ClusterQueue", spec, "gpus", namespace=None)
    queues = [queue("team-a"), queue("team-b"), queue("team-c")]
    assert codes(gpus, there("team-a"), there("team-b"), *queues) == {"reference-namespace"}
    assert codes(gpus, there("team-a"), there("team-b"), there("team-c"), *queues) == set()
    assert codes(gpus, there("team-a"), *queues) == set(), "the platform may make the others elsewhere"
