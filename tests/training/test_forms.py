"""What all four ways to run a job have in common: the defaults that keep a run alive, cheap and harmless."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.oracle.dist import object_errors
from tests.synthesis import Manifest, new_cluster, only, synth, told
from tests.training.given import (
    FORMS,
    QUEUE,
    environment,
    manifests,
    outermost,
    pod_templates,
    run,
    trained,
    training,
)
from trainshed.api.core.affinity import Toleration
from trainshed.gitops import Cluster
from trainshed.tenancy import (
    External,
    LocalQueue,
    NodePool,
    QueueRef,
    Taint,
    Tenant,
    VolcanoQueue,
    WorkloadPriorityClass,
    nodes,
)
from trainshed.training import IndexedJob, JobSet, Mount, SecretEnv, TopologyRequest, TrainJob, VolcanoJob

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
def test_equal_runs_have_equal_names(form: str) -> None:
    assert outermost(form)["metadata"]["name"] == outermost(form)["metadata"]["name"]
    assert outermost(form) == outermost(form)


CHANGES: list[dict[str, Any]] = [
    {"nodes": 3},
    {"gpus_per_node": 4},
    {"image": "registry.example.com/trainer:2"},
    {"script": "/opt/other.py"},
    {"args": ["--seed", "1"]},
    {"env": {"A": "1"}},
    {"resources": {"cpu": 95, "memory": "400G"}},
    {"shared_memory": "16Gi"},
    {"volumes": [Mount(claim="data", path="/data")]},
    {"checkpoint": Mount(claim="data", path="/data")},
    {"grace_period": 121},
    {"retries": 4},
    {"tolerations": [Toleration(key="a", operator="Exists")]},
    {"node_selector": {"a": "b"}},
    {"service_account": "trainer"},
    {"image_pull_secrets": ["registry"]},
    {"image_pull_policy": "Always"},
    {"user": 2000},
    {"priority": "urgent"},
]
OWN: dict[str, list[dict[str, Any]]] = {
    "IndexedJob": [{"port": 29501}, {"deadline": 60}, {"topology": TopologyRequest(level="rack")}],
    "JobSet": [{"port": 29501}, {"deadline": 60}, {"topology": TopologyRequest(level="rack")}],
    "TrainJob": [{"deadline": 60}, {"topology": TopologyRequest(level="rack")}],
    "VolcanoJob": [{"port": 29501}],
}


@each_form
def test_any_change_makes_a_new_name(form: str) -> None:
    """A run in Git is append-only: what is rendered otherwise is another run."""
    names = [outermost(form, **change)["metadata"]["name"] for change in [{}, *CHANGES, *OWN[form]]]
    assert len(set(names)) == len(names)
    assert all(name.startswith("llm-") and len(name) == len("llm-") + 8 for name in names)


def test_another_queue_or_namespace_makes_a_new_name() -> None:
    cluster = new_cluster()
    queues = [QUEUE, QueueRef("other", "research"), QueueRef("llm", "elsewhere")]
    names = {JobSet(cluster, f"a{number}", training(), queue=queue).name[3:] for number, queue in enumerate(queues)}
    assert len(names) == 3


@each_form
@pytest.mark.parametrize("size", [2, 100, 1000])
def test_each_derived_name_has_room(form: str, size: int) -> None:
    """The longest name that is said to fit does, and one letter more does not."""

    def about_names(length: int) -> list[str]:
        cluster = new_cluster()
        run(cluster, form, training(nodes=size), id="x" * length)
        return [text for text in told(cluster) if ", name: " in text]

    (fault,) = about_names(60)
    called = "x" * 60 + "-00000000"
    assert fault.startswith(f'{form} "{"x" * 60}", name: with its hash it is called "{called}": it')
    longest = int(fault.rpartition("use at most ")[2].split()[0])
    assert (about_names(longest), len(about_names(longest + 1))) == ([], 1)


def test_a_run_stands_with_its_queue() -> None:
    cluster = new_cluster()
    local = LocalQueue(cluster, "llm", namespace="n", cluster_queue=External("elsewhere"), runs="experiments")
    JobSet(cluster, "a", training(), queue=local)
    assert [item["kind"] for item in synth(cluster, "experiments")] == ["JobSet"]


def test_a_queue_of_another_cluster_is_refused() -> None:
    cluster = new_cluster()
    other = Cluster(cluster.app, "other")
    JobSet(cluster, "a", training(), queue=LocalQueue(other, "llm", namespace="n", cluster_queue=External("elsewhere")))
    VolcanoJob(cluster, "b", training(), queue=VolcanoQueue(other, "v"), namespace="n")
    fix = 'use one of cluster "lab", or External("…") for an object that exists there already'
    assert told(cluster) == [
        f'JobSet "a", queue: LocalQueue "llm" belongs to cluster "other", this is cluster "lab"; {fix}',
        f'VolcanoJob "b", queue: VolcanoQueue "v" belongs to cluster "other", this is cluster "lab"; {fix}',
    ]


def test_what_the_cluster_does_not_have_is_told() -> None:
    cluster = new_cluster()
    pool = NodePool(cluster, "h100", nodes=9, per_node={"cpu": 1}, labels={"a": "b"}, topology=["block", "rack"])
    tenant = Tenant(cluster, "t", namespaces=["n"], guarantee={pool: nodes(1)}, workload_kinds=["Job"])
    JobSet(cluster, "a", training(priority="urgnt", topology=TopologyRequest(level="rak")), queue=tenant.queue("n"))
    WorkloadPriorityClass(cluster, "urgent", value=1)
    assert told(cluster) == [
        'JobSet "a", topology: no node pool of cluster "lab" has a level "rak"; did you mean "rack"?',
        'JobSet "a", queue: Tenant "t" does not allow JobSet; it allows Job',
        'JobSet "a", priority: "urgnt" is no WorkloadPriorityClass of cluster "lab"; it has urgent',
    ]


def test_what_a_form_cannot_do_is_told() -> None:
    cluster = new_cluster()
    taint = Taint(key="a", effect="NoSchedule")
    NodePool(cluster, "h100", nodes=1, per_node={"cpu": 1}, labels={"a": "b"}, taints=[taint])
    queue = VolcanoQueue(cluster, "v")
    VolcanoQueue(cluster, "child", parent=queue)
    topology = TopologyRequest(level="a.example.com/rack")
    VolcanoJob(cluster, "a", training(deadline=60, topology=topology), queue=queue, namespace="n")
    TrainJob(cluster, "b", training(port=29501, tolerations=[Toleration(key="a", operator="Exists")]), queue=QUEUE)
    assert told(cluster) == [
        'VolcanoJob "a", topology: is Kueue\'s, and has no effect on a Volcano Job; leave it out',
        'VolcanoJob "a", deadline: has no effect on a Volcano Job; leave it out',
        'VolcanoJob "a", queue: queue "v" has children, and only leaf queues take jobs; use child',
        'TrainJob "b", port: is 29501, but Trainer uses 29500 always; leave it out',
        'TrainJob "b", tolerations: would be lost: Kueue replaces them by those of pool h100; '
        "leave them out: Kueue adds the pool's when it admits the run",
    ]


def test_equal_runtimes_are_shared() -> None:
    cluster = new_cluster()
    for name, seed in (("a", "1"), ("b", "2")):
        TrainJob(cluster, name, training(args=["--seed", seed]), queue=QUEUE, runtime="ddp")
    TrainJob(cluster, "c", training(nodes=4), queue=QUEUE, runtime="ddp")
    made = synth(cluster, "runs")
    assert [item["kind"] for item in made] == ["TrainingRuntime", "TrainJob", "TrainJob", "TrainingRuntime", "TrainJob"]
    runtimes = {item["metadata"]["name"] for item in made if item["kind"] == "TrainingRuntime"}
    assert {item["spec"]["runtimeRef"]["name"] for item in made if item["kind"] == "TrainJob"} == runtimes
    assert told(cluster) == []


def test_a_tenants_runs_stand_in_its_own_application() -> None:
    cluster = new_cluster()
    pool = NodePool(cluster, "p", nodes=1, per_node={"cpu": 1})
    tenant = Tenant(cluster, "a", namespaces=["n"], guarantee={pool: nodes(1)}, local_queue="q")
    JobSet(cluster, "run", training(), queue=tenant.queue("n"))
    made = only(synth(cluster, "a"), "JobSet")
    assert made["metadata"]["namespace"] == "n"
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "q"


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
