"""What all four ways to run a job have in common: the defaults that keep a run alive, cheap and harmless."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.oracle.dist import object_errors
from tests.synthesis import Manifest, new_cluster, synth, told
from tests.training.given import (
    FORMS,
    environment,
    manifests,
    outermost,
    pod_templates,
    trained,
    training,
)
from trainshed.api.core.affinity import Toleration
from trainshed.tenancy import (
    NodePool,
    Tenant,
    WorkloadPriorityClass,
    nodes,
)
from trainshed.training import IndexedJob, JobSet, Mount, SecretEnv, TopologyRequest, TrainJob

KUEUE = tuple(form for form in FORMS if form != "VolcanoJob")
each_form = pytest.mark.parametrize("form", FORMS)
kueue_forms = pytest.mark.parametrize("form", KUEUE)


def keys(node: Any) -> set[str]:
    """Every field name in a manifest."""
    if isinstance(node, dict):
        return set(node) | {key for value in node.values() for key in keys(value)}
    return {key for item in node for key in keys(item)} if isinstance(node, list) else set()


def container(template: Manifest) -> Manifest:
    (found,) = template["spec"]["containers"]
    return dict(found)


@each_form
def test_snapshot(form: str, snapshot: SnapshotAssertion) -> None:
    assert manifests(form) == snapshot


@each_form
def test_snapshot_with_everything(form: str, snapshot: SnapshotAssertion) -> None:
    kueue: dict[str, Any] = {"deadline": 86400, "topology": TopologyRequest(level="cloud.example.com/row")}
    made = manifests(
        form,
        args=["--epochs", "3"],
        env={"NCCL_DEBUG": "INFO", "TOKEN": SecretEnv(secret="hub", key="token")},
        resources={"cpu": 88, "memory": "1Ti", "rdma/hca": 4},
        shared_memory="64Gi",
        volumes=[Mount(claim="data", path="/data", read_only=True), Mount(claim="out", path="/out", sub_path="a")],
        checkpoint=Mount(claim="checkpoints", path="/checkpoints/"),
        grace_period=300,
        retries=5,
        tolerations=[Toleration(key="a", operator="Exists")],
        node_selector={"example.com/rack": "r1"},
        service_account="trainer",
        image_pull_secrets=["registry"],
        image_pull_policy="IfNotPresent",
        user=2000,
        **(kueue if form != "VolcanoJob" else {}),
    )
    assert made == snapshot


@each_form
def test_shared_memory_is_sized(form: str) -> None:
    """64 MiB, the default of containers, ends in bus errors."""
    for template in pod_templates(form, manifests(form)):
        mounts = {mount["mountPath"]: mount["name"] for mount in container(template)["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
        assert volumes[mounts["/dev/shm"]]["emptyDir"] == {"medium": "Memory", "sizeLimit": "32Gi"}
        assert volumes[mounts["/tmp"]]["emptyDir"] == {}


@each_form
def test_requests_equal_limits(form: str) -> None:
    made = manifests(form, resources={"cpu": "88000m", "memory": "1024Gi", "rdma/hca": 4})
    for holder in trained(form, made):
        resources = holder["resourcesPerNode" if form == "TrainJob" else "resources"]
        assert resources["requests"] == resources["limits"]
        assert resources["limits"] == {"cpu": "88", "memory": "1Ti", "rdma/hca": "4", "nvidia.com/gpu": "8"}


@each_form
def test_the_pod_is_harmless(form: str) -> None:
    for template in pod_templates(form, manifests(form, user=2000)):
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        assert spec["securityContext"] == {
            "fsGroup": 2000,
            "fsGroupChangePolicy": "OnRootMismatch",
            "runAsGroup": 2000,
            "runAsNonRoot": True,
            "runAsUser": 2000,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert container(template)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        assert "ports" not in container(template)


@each_form
def test_there_is_time_to_save(form: str) -> None:
    """torchrun gives up before the kubelet does; its default of 30 seconds would win otherwise."""
    made = manifests(form, grace_period=300)
    for template in pod_templates(form, made):
        assert template["spec"]["terminationGracePeriodSeconds"] == 300
        assert template["spec"]["restartPolicy"] == "Never"
    for holder in trained(form, made):
        assert environment(holder)["PET_SHUTDOWN_TIMEOUT"] == "285"
        assert environment(holder)["TRAINSHED_GRACE_PERIOD"] == "300"


@each_form
def test_nothing_that_a_controller_owns(form: str) -> None:
    made = manifests(form)
    assert all("status" not in item for item in made)
    written = keys(made)
    assert not written & {"suspend", "managedBy", "ttlSecondsAfterFinished", "creationTimestamp", "uid"}


@each_form
def test_a_run_is_pruned_only_when_confirmed_and_comes_last(form: str) -> None:
    *before, last = manifests(form)
    wave = "argocd.argoproj.io/sync-wave"
    assert "Prune=confirm" in last["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
    assert last["metadata"]["annotations"][wave] == "10"
    assert all(int(item["metadata"]["annotations"][wave]) < 10 for item in before)


@each_form
def test_the_checkpoint_is_keyed_by_the_run(form: str) -> None:
    """A restarted gang finds what its predecessor saved; another run does not."""
    made = manifests(form, checkpoint=Mount(claim="checkpoints", path="/checkpoints/"))
    name = made[-1]["metadata"]["name"]
    for holder in trained(form, made):
        variables = environment(holder)
        assert variables["TRAINSHED_CHECKPOINT_DIR"] == f"/checkpoints/{name}"
        assert variables["TRAINSHED_RUN"] == name
        assert variables["HOME"] == "/tmp"
    for template in pod_templates(form, made):
        assert {"name": "claim-0", "mountPath": "/checkpoints/"} in container(template)["volumeMounts"]
        claim = template["spec"]["volumes"][-1]["persistentVolumeClaim"]
        assert claim == {"claimName": "checkpoints"}


@each_form
def test_secrets_and_texts_in_the_environment(form: str) -> None:
    for holder in trained(form, manifests(form, env={"A": "1", "TOKEN": SecretEnv(secret="hub", key="token")})):
        assert holder["env"][-2:] == [
            {"name": "A", "value": "1"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        ]


@kueue_forms
def test_the_queue_stands_on_the_outermost_object_only(form: str) -> None:
    made = manifests(form)
    labels = made[-1]["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/queue-name"] == "llm"
    assert "kueue.x-k8s.io/queue-name" not in str(made[:-1]) + str(made[-1]["spec"])


def test_a_volcano_job_has_no_kueue_label() -> None:
    made = outermost("VolcanoJob")
    assert "kueue.x-k8s.io" not in str(made)
    assert made["spec"]["queue"] == "llm"


@kueue_forms
@pytest.mark.parametrize(("required", "word"), [(True, "required"), (False, "preferred")])
def test_the_topology_request_stands_on_the_pod_template(form: str, required: bool, word: str) -> None:
    made = manifests(form, topology=TopologyRequest(level="rack", required=required))
    key = f"kueue.x-k8s.io/podset-{word}-topology"
    (template,) = pod_templates(form, made)
    assert template["metadata"]["annotations"] == {key: "topology.trainshed.dev/rack"}
    assert all(key not in item["metadata"].get("annotations", {}) for item in made)


@kueue_forms
def test_priority_is_kueues_and_the_runs_before_the_tenants(form: str) -> None:
    cluster = new_cluster()
    pool = NodePool(cluster, "p", nodes=2, per_node={"cpu": 1})
    tenant = Tenant(cluster, "a", namespaces=["n"], guarantee={pool: nodes(1)}, priority="low")
    WorkloadPriorityClass(cluster, "urgent", value=5000)
    kinds: Any = {"IndexedJob": IndexedJob, "JobSet": JobSet, "TrainJob": TrainJob}
    kinds[form](cluster, "plain", training(), queue=tenant.queue("n"))
    kinds[form](cluster, "urgent", training(priority="urgent"), queue=tenant.queue("n"))
    found = {
        item["metadata"]["labels"]["trainshed.dev/run"]: item["metadata"]["labels"]["kueue.x-k8s.io/priority-class"]
        for item in synth(cluster, "a")
        if item["metadata"].get("labels")
    }
    assert found == {"plain": "low", "urgent": "urgent"}
    assert told(cluster) == []


@each_form
@pytest.mark.usefixtures("shared")
def test_the_api_server_takes_it(form: str) -> None:
    made = manifests(
        form,
        env={"TOKEN": SecretEnv(secret="hub", key="token")},
        volumes=[Mount(claim="data", path="/data", read_only=True)],
        tolerations=[Toleration(key="a", operator="Exists")],
        image_pull_secrets=["registry"],
        **({"deadline": 60, "topology": TopologyRequest(level="rack")} if form != "VolcanoJob" else {}),
    )
    assert [error for item in made for error in object_errors(item)] == []
