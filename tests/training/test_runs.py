"""A run's name, its home, and what is refused before it can hang in a cluster."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.synthesis import new_cluster, only, synth, told
from tests.training.given import FORMS, QUEUE, manifests, outermost, run, training
from trainshed.api.core.affinity import Toleration
from trainshed.checks.engine import check
from trainshed.checks.options import Options
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
from trainshed.training import Container, JobSet, Mount, Scratch, TopologyRequest, TrainJob, VolcanoJob

each_form = pytest.mark.parametrize("form", FORMS)


@each_form
def test_equal_runs_have_equal_names(form: str) -> None:
    assert outermost(form)["metadata"]["name"] == outermost(form)["metadata"]["name"]
    assert outermost(form) == outermost(form)


CHANGES: list[dict[str, Any]] = [
    {"nodes": 3},
    {"gpus_per_node": 4},
    {"image": "registry.example.com/trainer:2"},
    {"script": "/opt/other.py"},
    {"launcher": "trainshed"},
    {"launcher": "trainshed", "doctor": True},
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
    {"volumes": [Scratch(path="/scratch", size="1Ti")]},
    {"pod_labels": {"app": "llm"}},
    {"pod_annotations": {"sidecar.istio.io/inject": "false"}},
    {"init_containers": [Container(name="fetch", image="a:1")]},
    {"sidecars": [Container(name="fetch", image="a:1")]},
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


@each_form
def test_labels_and_annotations_stand_on_the_run_alone_and_make_no_new_one(form: str) -> None:
    plain, marked = new_cluster(), new_cluster()
    run(plain, form)
    run(marked, form, labels={"team": "vision"}, annotations={"example.com/ticket": "T 1"})
    before, after = synth(plain, "runs"), synth(marked, "runs")
    written = after[-1]["metadata"]
    assert (written["labels"].pop("team"), written["annotations"].pop("example.com/ticket")) == ("vision", "T 1")
    assert after == before


@each_form
def test_keys_of_controllers_are_refused_on_runs(form: str) -> None:
    cluster = new_cluster()
    labels = {"kueue.x-k8s.io/queue-name": "other", "trainshed.dev/run": "x", "a b": "c"}
    annotations = {"trainshed.dev/allow": "a", "argocd.argoproj.io/sync-wave": "1", "alpha.jobset.sigs.k8s.io/x": "1"}
    title = run(cluster, form, labels=labels, annotations=annotations).title
    wrong = [
        'labels[kueue.x-k8s.io/queue-name]: the key is wrong: "kueue.x-k8s.io/queue-name" is Kueue\'s; pass the queue',
        'labels[trainshed.dev/run]: the key is wrong: "trainshed.dev/run" is Trainshed\'s; leave it out',
        'labels[a b]: the key is wrong: "a b" is not a qualified name: letters, digits, "-", "_" and ".", alphanumeric '
        "at both ends",
        'annotations[trainshed.dev/allow]: the key is wrong: "trainshed.dev/allow" is Trainshed\'s; '
        'call .allow("<code>") on the component',
        'annotations[argocd.argoproj.io/sync-wave]: the key is wrong: "argocd.argoproj.io/sync-wave" is Argo CD\'s; '
        "leave it out",
        'annotations[alpha.jobset.sigs.k8s.io/x]: the key is wrong: "alpha.jobset.sigs.k8s.io/x" is JobSet\'s; '
        "leave it out",
    ]
    assert told(cluster) == [f"{title}, {line}" for line in wrong]


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
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("image", ["eval", "eval:latest", "r.example.com/eval"])
def test_an_image_that_moves_is_told_of_every_run(form: str, count: int, image: str) -> None:
    """A run is named after its image, so that another image makes another run; by a tag that moves it would not."""
    rendered = "\n---\n".join(json.dumps(made) for made in manifests(form, nodes=count, image=image))
    options = Options(select=("torchrun-image-moves",))
    (found,) = check(["-"], options, stdin=io.BytesIO(rendered.encode())).findings
    assert f'container "node" runs {image}' in found.message
