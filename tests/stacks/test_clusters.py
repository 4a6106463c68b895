"""The facts that the three reference clusters are there to show."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.stacks.objects import GPU, Object, of_kind, one, quotas, requests
from trainshed.quantity import Quantity


def amounts(given: dict[str, Any]) -> dict[str, Fraction]:
    return {name: Quantity(amount).value for name, amount in given.items()}


def test_playground_has_one_queue_over_all_24_gpus(objects: list[Object]) -> None:
    (queue,) = of_kind(objects, "playground", "ClusterQueue")
    assert queue.name == "clusterq-playground"
    assert quotas(queue) == amounts({"cpu": 288, "memory": "1200G", GPU: 24})
    assert "cohortName" not in queue.spec
    (local,) = of_kind(objects, "playground", "LocalQueue")
    assert (local.namespace, local.name) == ("playground", "playground-llm-queue")


def test_of_the_three_llm_jobs_only_one_fits_at_a_time(objects: list[Object]) -> None:
    jobs = of_kind(objects, "playground", "Job")
    assert sorted(job.manifest["metadata"]["labels"]["trainshed.dev/run"] for job in jobs) == [
        "llm-job-1",
        "llm-job-2",
        "llm-job-3",
    ]
    available = quotas(one(objects, "playground", "ClusterQueue", "clusterq-playground"))
    for job in jobs:
        assert (job.spec["completionMode"], job.spec["parallelism"], job.spec["completions"]) == ("Indexed", 2, 2)
        asked = requests(job.spec["template"], job.spec["parallelism"])
        assert asked[GPU] == 16
        assert all(amount <= available[name] for name, amount in asked.items()), "one fits"
        assert any(2 * amount > available[name] for name, amount in asked.items()), "two do not"
        assert one(objects, "playground", "Service", job.name).spec["clusterIP"] == "None"
        assert job.manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "playground-llm-queue"


def test_a_pod_of_theirs_takes_all_gpus_of_a_node_and_leaves_room_for_daemons(objects: list[Object]) -> None:
    templates = [job.spec["template"] for job in of_kind(objects, "playground", "Job")]
    templates += [task["template"] for job in of_kind(objects, "batch", "Job") for task in job.spec["tasks"]]
    (jobset,) = of_kind(objects, "lab", "JobSet")
    templates.append(jobset.spec["replicatedJobs"][0]["template"]["spec"]["template"])
    node = amounts({"cpu": 96, "memory": "400G", GPU: 8})
    for template in templates:
        asked = requests(template, 1)
        assert asked[GPU] == node[GPU]
        assert all(asked[name] < node[name] for name in ("cpu", "memory"))


def test_lab_guarantees_24_and_40_gpus_and_low_borrows_24(objects: list[Object]) -> None:
    high, low = (one(objects, "lab", "ClusterQueue", name) for name in ("high", "low"))
    assert [quotas(queue)[GPU] for queue in (high, low)] == [24, 40]
    assert [quotas(queue, "borrowingLimit")[GPU] for queue in (high, low)] == [0, 24]
    assert {queue.spec["cohortName"] for queue in (high, low)} == {"lab"}
    # All of the pool is promised, and what is borrowed comes back.
    assert {name: quotas(high)[name] + quotas(low)[name] for name in quotas(high)} == amounts(
        {"cpu": 8 * 96, "memory": "3200G", GPU: 64}
    )
    assert high.spec["preemption"]["reclaimWithinCohort"] == "Any"


def test_labs_tenants_have_their_namespaces_and_priorities(objects: list[Object]) -> None:
    queues = {(item.namespace, item.name): item.spec["clusterQueue"] for item in of_kind(objects, "lab", "LocalQueue")}
    assert queues == {("namespace-1", "high"): "high", ("namespace-2", "low"): "low", ("namespace-3", "low"): "low"}
    values = {item.name: item.manifest["value"] for item in of_kind(objects, "lab", "WorkloadPriorityClass")}
    assert values["high"] > values["low"]


def test_labs_pool_knows_block_rack_and_host(objects: list[Object]) -> None:
    (topology,) = of_kind(objects, "lab", "Topology")
    assert [level["nodeLabel"] for level in topology.spec["levels"]] == [
        "topology.trainshed.dev/block",
        "topology.trainshed.dev/rack",
        "kubernetes.io/hostname",
    ]
    (flavor,) = of_kind(objects, "lab", "ResourceFlavor")
    assert flavor.spec["topologyName"] == topology.name


def test_model_training_runs_as_trainjob_and_as_jobset(objects: list[Object]) -> None:
    (trainjob,), (jobset,) = of_kind(objects, "lab", "TrainJob"), of_kind(objects, "lab", "JobSet")
    assert {item.manifest["metadata"]["labels"]["trainshed.dev/run"] for item in (trainjob, jobset)} == {
        "model-training"
    }
    assert trainjob.name.startswith("model-training-")
    assert trainjob.spec["runtimeRef"]["name"].startswith("pytorch-ddp-runtime-")
    trainer = trainjob.spec["trainer"]
    assert (trainer["numNodes"], trainer["numProcPerNode"]) == (2, 8)
    assert trainer["resourcesPerNode"]["limits"][GPU] == "8"
    job = jobset.spec["replicatedJobs"][0]["template"]["spec"]
    container = job["template"]["spec"]["containers"][0]
    assert job["parallelism"] == 2
    assert trainer["command"] == container["command"] == ["python", "-m", "trainer", "launch"]
    assert trainer["args"] == container["args"]
    assert trainer["args"][:3] == ["/opt/trainshed/ddp.py", "--config", "/opt/trainshed/configs/124m.toml"]
    required = {"kueue.x-k8s.io/podset-required-topology": "topology.trainshed.dev/rack"}
    assert job["template"]["metadata"]["annotations"] == required


def test_batch_has_a_volcano_queue_of_three_nodes(objects: list[Object]) -> None:
    (queue,) = of_kind(objects, "batch", "Queue")
    assert queue.name == "test"
    assert queue.spec["capability"] == {"cpu": "288", "memory": "1200G", GPU: "24"}
    assert not of_kind(objects, "batch", "ResourceFlavor")
    (configuration,) = of_kind(objects, "batch", "ConfigMap")
    assert "volcano-scheduler.conf" in configuration.manifest["data"]


def test_batch_restarts_evicted_gangs_and_ends_with_the_master(objects: list[Object]) -> None:
    jobs = of_kind(objects, "batch", "Job")
    assert sorted(job.manifest["metadata"]["labels"]["trainshed.dev/run"] for job in jobs) == [
        "job-1",
        "job-2",
        "job-3",
    ]
    for job in jobs:
        assert job.spec["queue"] == "test"
        assert {"event": "PodEvicted", "action": "RestartJob"} in job.spec["policies"]
        master = job.spec["tasks"][0]
        assert {"event": "TaskCompleted", "action": "CompleteJob"} in master["policies"]
        assert job.spec["minAvailable"] == sum(task["replicas"] for task in job.spec["tasks"])
    gangs = [job for job in jobs if len(job.spec["tasks"]) == 2]
    assert [sum(task["replicas"] for task in job.spec["tasks"]) for job in gangs] == [2]
    assert "pytorch" in gangs[0].spec["plugins"]
