"""A TrainJob is judged as the JobSet that Trainer 2.3 makes of it and its runtime."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fleet.given import counts, fleet, place, shown, workload
from trainshed.fleet.access import items, mapping, text
from trainshed.fleet.workload import PodSet, Workload

ANCESTOR = "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: %s}}"
RUNTIME = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainingRuntime
    metadata: {name: ddp, namespace: team}
    spec:
      mlPolicy: {numNodes: 3, torch: {}}
      podGroupPolicy: {volcano: {}}
      template:
        metadata: {labels: {from: runtime}}
        spec:
          replicatedJobs:
          - name: dataset-initializer
            template:
              metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
              spec: {template: {spec: {containers: [{name: dataset-initializer, image: init}]}}}
          - name: node
            template:
              metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
              spec:
                template:
                  metadata: {labels: {a: b}}
                  spec:
                    tolerations: [{key: old, operator: Exists}]
                    nodeSelector: {keep: "yes"}
                    volumes: [{name: shm, emptyDir: {}}]
                    containers:
                    - name: node
                      image: base
                      args: [old]
                      env: [{name: MINE, value: runtime}, {name: PET_NNODES, value: wrong}]
                      resources: {requests: {cpu: 4, memory: 8Gi}, limits: {nvidia.com/gpu: 4}}
"""
TRAIN_JOB = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    metadata: {name: run, namespace: team, labels: {kueue.x-k8s.io/queue-name: q}}
    spec:
      runtimeRef: {kind: TrainingRuntime, name: ddp}
      initializer: {dataset: {storageUri: "hf://a/b", secretRef: {name: token}}}
      trainer:
        image: mine
        numNodes: 2
        numProcPerNode: 8
        command: [torchrun]
        env: [{name: MINE, value: job}, {name: EXTRA, value: x}]
        resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
      runtimePatches:
      - manager: example.io/me
        trainingRuntimeSpec:
          template:
            metadata: {labels: {from: patch}}
            spec:
              replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      metadata: {annotations: {note: m}}
                      spec:
                        tolerations: [{key: new, operator: Exists}]
                        nodeSelector: {pool: h100}
                        volumes: [{name: data, emptyDir: {}}]
"""


def node(found: Workload) -> PodSet:
    """The pod set `node`."""
    return next(pod_set for pod_set in found.pod_sets if pod_set.name == "node")


def env(pod_set: PodSet) -> dict[str, Any]:
    """The variables of the first container, values only."""
    return {item["name"]: item.get("value") for item in items(pod_set.spec, "containers", 0, "env")}


def test_pod_sets_and_counts() -> None:
    """numNodes of the TrainJob, else of the runtime; initializers are pod sets as well."""
    found = workload(RUNTIME, TRAIN_JOB)
    assert counts(found) == {"dataset-initializer": 1, "node": 2}
    assert place(node(found).count_at) == "TrainJob spec.trainer.numNodes"
    assert (found.queue_name, found.form, found.parts_known) == ("q", "JobSet", True)
    fewer = workload(RUNTIME, TRAIN_JOB.replace("        numNodes: 2\n", ""))
    assert counts(fewer)["node"] == 3
    assert place(node(fewer).count_at) == "TrainingRuntime spec.mlPolicy.numNodes"
    assert node(found).job["completions"] == node(found).job["parallelism"] == 2


def test_fields_are_overridden_and_lead_to_their_lines() -> None:
    found = workload(RUNTIME, TRAIN_JOB)
    pod_set = node(found)
    container = pod_set.spec["containers"][0]
    assert (container["image"], container["command"], container["args"]) == ("mine", ["torchrun"], ["old"])
    path = ("spec", "containers", 0)
    assert place(pod_set.at((*path, "image"))) == "TrainJob spec.trainer.image"
    assert place(pod_set.at((*path, "args"))).startswith("TrainingRuntime spec.template.spec.replicatedJobs[1].")
    assert shown(pod_set.requests) == {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "8"}
    limits = (*path, "resources", "limits", "nvidia.com/gpu")
    assert place(pod_set.at(limits)) == "TrainJob spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]"
    assert place(pod_set.at((*path, "resources", "requests", "cpu"))).startswith("TrainingRuntime ")


def test_the_torch_policy_injects_its_environment() -> None:
    """After the user's own variables; a variable of the runtime with one of its names is replaced."""
    pod_set = node(workload(RUNTIME, TRAIN_JOB))
    assert env(pod_set) == {
        "MINE": "job",
        "PET_NNODES": "2",
        "EXTRA": "x",
        "PET_NPROC_PER_NODE": "8",
        "PET_NODE_RANK": None,
        "PET_MASTER_ADDR": "run-node-0-0.run",
        "PET_MASTER_PORT": "29500",
    }
    path = ("spec", "containers", 0, "env")
    assert place(pod_set.at((*path, 0, "value"))) == "TrainJob spec.trainer.env[0].value"
    assert place(pod_set.at((*path, 1))) == "TrainJob spec.trainer.numNodes"
    assert place(pod_set.at((*path, 3))) == "TrainJob spec.trainer.numProcPerNode"
    assert pod_set.spec["containers"][0]["ports"] == [{"containerPort": 29500}]


def test_without_a_trainer_nothing_is_injected() -> None:
    alone = "\n".join(TRAIN_JOB.split("\n")[:6]) + "\n"
    pod_set = node(workload(RUNTIME, alone))
    assert env(pod_set) == {"MINE": "runtime", "PET_NNODES": "wrong"}
    assert pod_set.count == 3


def test_patches_are_merged_strategically() -> None:
    """Lists with a merge key are merged, tolerations are replaced, and each entry leads to where it is written."""
    found = workload(RUNTIME, TRAIN_JOB)
    pod_set = node(found)
    assert pod_set.spec["tolerations"] == [{"key": "new", "operator": "Exists"}]
    assert pod_set.spec["nodeSelector"] == {"keep": "yes", "pool": "h100"}
    assert [item["name"] for item in pod_set.spec["volumes"]] == ["shm", "data"]
    assert pod_set.annotations["note"] == "m"
    assert pod_set.labels == {"a": "b"}
    start = "TrainJob spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template"
    assert place(pod_set.at(("spec", "tolerations", 0, "key"))) == f"{start}.spec.tolerations[0].key"
    assert place(pod_set.at(("spec", "nodeSelector", "pool"))) == f"{start}.spec.nodeSelector.pool"
    assert place(pod_set.at(("spec", "volumes", 1))) == f"{start}.spec.volumes[0]"
    assert place(pod_set.at(("spec", "volumes", 0))).startswith("TrainingRuntime ")
    assert place(pod_set.at(("metadata", "annotations", "note"))) == f"{start}.metadata.annotations.note"
    assert mapping(found.manifest, "metadata", "labels") == {"from": "patch"}


def test_initializers_get_their_settings() -> None:
    pod_set = workload(RUNTIME, TRAIN_JOB).pod_sets[0]
    container = pod_set.spec["containers"][0]
    assert container["env"] == [{"name": "STORAGE_URI", "value": "hf://a/b"}]
    assert container["envFrom"] == [{"secretRef": {"name": "token"}}]
    path = ("spec", "containers", 0)
    assert place(pod_set.at((*path, "env", 0))) == "TrainJob spec.initializer.dataset.storageUri"
    assert place(pod_set.at((*path, "envFrom", 0))) == "TrainJob spec.initializer.dataset.secretRef"


def test_the_gang_is_marked_on_every_pod() -> None:
    for pod_set in workload(RUNTIME, TRAIN_JOB).pod_sets:
        assert pod_set.annotations["scheduling.k8s.io/group-name"] == "run"
        key = ("metadata", "annotations", "scheduling.k8s.io/group-name")
        assert place(pod_set.at(key)) == "TrainingRuntime spec.podGroupPolicy.volcano"


def test_the_rendered_job_set_is_whole_and_the_input_untouched() -> None:
    whole = fleet(RUNTIME, TRAIN_JOB)
    before = repr([document.manifest for document in whole.documents])
    (found,) = whole.workloads
    assert repr([document.manifest for document in whole.documents]) == before
    job_set = found.manifest
    assert (job_set["kind"], job_set["metadata"]["name"]) == ("JobSet", "run")
    rendered = job_set["spec"]["replicatedJobs"][1]
    assert rendered == node(found).item
    assert rendered["template"]["spec"]["template"] is node(found).template
    assert text(rendered, "name") == "node"


@pytest.mark.parametrize(
    ("trainer", "expected"),
    [
        ("numNodes: 2", "auto"),
        ("resourcesPerNode: {requests: {cpu: 2500m}}", "3"),
        ("resourcesPerNode: {requests: {memory: 1Gi}}", "1"),
        ("resourcesPerNode: {limits: {cpu: 6}}", "6"),
        ("resourcesPerNode: {limits: {nvidia.com/gpu: 2}}", "auto"),
        ("resourcesPerNode: {requests: {nvidia.com/gpu: 0, cpu: 5}}", "5"),
        ("resourcesPerNode: {limits: {nvidia.com/mig-1g.10gb: 2}}", "1"),
        ("numProcPerNode: 3", "3"),
    ],
)
def test_processes_per_node(trainer: str, expected: str) -> None:
    """Explicit; else `auto` with GPUs by name; else CPUs, of the TrainJob's block where it has one (trainer#3974)."""
    job = "\n".join(TRAIN_JOB.split("\n")[:6]) + f"\n      trainer: {{{trainer}}}\n"
    assert env(node(workload(RUNTIME, job)))["PET_NPROC_PER_NODE"] == expected


def test_without_an_ml_policy_nodes_and_resources_are_dropped() -> None:
    pod_set = node(workload(RUNTIME.replace("mlPolicy: {numNodes: 3, torch: {}}", "x: y"), TRAIN_JOB))
    assert pod_set.count == 1
    assert shown(pod_set.requests)["nvidia.com/gpu"] == "4"
    assert pod_set.spec["containers"][0]["image"] == "mine"
    assert "PET_MASTER_ADDR" not in env(pod_set)


def test_without_the_ancestor_label_the_trainer_is_ignored() -> None:
    label = "              metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}\n"
    assert label in RUNTIME
    pod_set = node(workload(RUNTIME.replace(label, ""), TRAIN_JOB))
    assert (pod_set.count, pod_set.spec["containers"][0]["image"]) == (1, "base")


MPI = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: ClusterTrainingRuntime
    metadata: {name: mpi}
    spec:
      mlPolicy: {numNodes: 2, mpi: {numProcPerNode: 1, runLauncherAsNode: %s}}
      template:
        spec:
          replicatedJobs:
          - name: node
            template: {spec: {template: {spec: {containers: [{name: node}]}}}}
          - name: launcher
            template:
              metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
              spec: {template: {spec: {containers: [{name: node, resources: {limits: {nvidia.com/gpu: 8}}}]}}}
"""
MPI_JOB = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    metadata: {name: run, namespace: team}
    spec: {runtimeRef: {name: mpi}, trainer: {numNodes: 4}}
"""


def test_mpi_counts_the_job_called_node() -> None:
    """The launcher is one of the nodes where the policy says so. One slot for each GPU by default."""
    found = workload(MPI % "true", MPI_JOB)
    assert counts(found) == {"node": 3, "launcher": 1}
    assert env(found.pod_sets[1])["OMPI_MCA_orte_set_default_slots"] == "8"
    assert counts(workload(MPI % "false", MPI_JOB)) == {"node": 4, "launcher": 1}


def test_a_runtime_that_is_not_there_leaves_what_the_train_job_says() -> None:
    found = workload(TRAIN_JOB)
    assert (found.parts_known, found.runtime, counts(found)) == (False, None, {"node": 2})
    pod_set = found.pod_sets[0]
    assert shown(pod_set.requests) == {"nvidia.com/gpu": "8"}
    assert place(pod_set.at(("spec", "containers", 0, "image"))) == "TrainJob spec.trainer.image"
    gpu = ("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu")
    assert place(pod_set.at(gpu)) == "TrainJob spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]"


def test_the_default_kind_of_a_runtime_is_the_cluster_wide_one() -> None:
    """A TrainingRuntime of that name does not stand in for it; one without a namespace is taken for the job's own."""
    assert workload(RUNTIME, TRAIN_JOB.replace("kind: TrainingRuntime, ", "")).runtime is None
    assert workload(RUNTIME.replace(", namespace: team", ""), TRAIN_JOB).runtime is not None
    assert workload(RUNTIME.replace("namespace: team", "namespace: other"), TRAIN_JOB).runtime is None


def test_an_unused_runtime_is_a_template() -> None:
    found = fleet(RUNTIME, MPI % "true", TRAIN_JOB).templates
    assert [(item.document.name, counts(item)) for item in found] == [("mpi", {"node": 2, "launcher": 1})]
    assert place(found[0].pod_sets[1].at(("spec", "containers", 0, "resources"))).startswith("ClusterTrainingRuntime ")
