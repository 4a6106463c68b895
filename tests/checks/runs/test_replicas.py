"""Replicas of a replicatedJob: a world each only with an address each; never fewer than none."""

from __future__ import annotations

import io

import pytest

from trainshed.checks.engine import check
from trainshed.checks.options import Options


def findings(code: str, text: str) -> list[str]:
    report = check(["-"], Options(select=(code,)), stdin=io.BytesIO(text.encode()))
    return [f"{finding.path} {finding.message}" for finding in report.findings]


def job_set(replicas: int, nodes: str, address: str) -> str:
    return f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: sft, namespace: team-a}}
spec:
  replicatedJobs:
  - name: node
    replicas: {replicas}
    template:
      spec:
        completions: 2
        parallelism: 2
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: node
              image: registry.example.com/trainer:1
              env:
              - {{name: PET_NNODES, value: "{nodes}"}}
              - {{name: PET_MASTER_ADDR, {address}}}
              - {{name: JOB, valueFrom: {{fieldRef: {{fieldPath: "metadata.labels['jobset.sigs.k8s.io/job-index']"}}}}}}
              command: [torchrun, --node-rank=$(JOB_COMPLETION_INDEX), train.py]
"""


FIXED = "value: sft-node-0-0.sft"
OWN = "value: sft-node-$(JOB)-0.sft"


@pytest.mark.parametrize(
    ("replicas", "nodes", "address", "found"),
    [
        (1, "2", FIXED, 0),
        (2, "2", FIXED, 1),
        (2, "4", FIXED, 0),
        (2, "2:4", FIXED, 0),
        (2, "2", OWN, 0),
        (3, "2", "value: localhost", 0),
    ],
)
def test_replicas_that_meet_at_one_address_are_one_world(replicas: int, nodes: str, address: str, found: int) -> None:
    text = job_set(replicas, nodes, address)
    if address == OWN:  # a variable may use only those before it
        lines = text.splitlines()
        at = next(index for index, line in enumerate(lines) if "PET_MASTER_ADDR" in line)
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
        text = "\n".join(lines)
    assert len(findings("torchrun-nodes", text)) == found


def test_replicas_below_zero_are_refused() -> None:
    [found] = findings("schema-rule", job_set(-1, "2", FIXED))
    assert found.startswith("spec.replicatedJobs[0].replicas replicas is -1: no Job is made of it")


@pytest.mark.parametrize(("count", "found"), [(-1, 1), (0, 0), (2, 0)])
def test_counts_of_kinds_without_a_schema(count: int, found: int) -> None:
    pod = "{spec: {containers: [{name: mpi, image: registry.example.com/a:1}]}}"
    text = (
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a, namespace: b}\n"
        f"spec: {{mpiReplicaSpecs: {{Worker: {{replicas: {count}, template: {pod}}}}}}}\n"
    )
    assert len(findings("pod-count-negative", text)) == found


def test_a_runtime_whose_jobs_have_no_names_is_judged_by_the_name_that_trainer_has() -> None:
    runtime = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: torch, namespace: a}\n"
        "spec: {template: {spec: {replicatedJobs: [{template: {spec: {}}}]}}}\n"
    )
    job = (
        f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: {'x' * 60}, namespace: a}}\n"
        "spec: {runtimeRef: {name: torch, kind: TrainingRuntime}}\n"
    )
    text = f"{runtime}---\n{job}"
    assert findings("internal-error", text) == []
    assert len(findings("trainer-name-too-long", text)) >= 1
