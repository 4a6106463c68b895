"""A selector is compared with the labels that pods really have, those from controllers among them."""

from __future__ import annotations

import pytest

from tests.fleet.given import POD, workload
from trainshed.fleet.pod_labels import pod_labels

TEMPLATE = f"{{metadata: {{labels: {{app: a}}}}, spec: {POD}}}"
JOB = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: run}}, spec: {{template: {TEMPLATE}}}}}"
CRON_SPEC = f"{{jobTemplate: {{spec: {{template: {TEMPLATE}}}}}}}"
CRON = f"{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: run}}, spec: {CRON_SPEC}}}"
JOB_SET = (
    "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: run},"
    " spec: {replicatedJobs: [{name: w, replicas: %d, template: {spec: {template: " + TEMPLATE + "}}}]}}"
)
VOLCANO = (
    "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: run},"
    " spec: {tasks: [{name: w, replicas: 1, template: " + TEMPLATE + "}]}}"
)
LWS = (
    "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: run},"
    " spec: {leaderWorkerTemplate: {size: 2, workerTemplate: " + TEMPLATE + "}}}"
)


@pytest.mark.parametrize(
    ("text", "selector", "expected"),
    [
        (JOB, {"app": "a"}, True),
        (JOB, {"app": "b"}, False),
        (JOB, {}, False),
        (JOB, {"job-name": "run"}, True),
        (JOB, {"batch.kubernetes.io/job-name": "run", "app": "a"}, True),
        (JOB, {"batch.kubernetes.io/job-name": "other"}, False),
        (JOB, {"batch.kubernetes.io/job-completion-index": "0"}, None),
        (CRON, {"job-name": "run"}, None),
        (JOB_SET % 1, {"jobset.sigs.k8s.io/jobset-name": "run", "job-name": "run-w-0"}, True),
        (JOB_SET % 2, {"jobset.sigs.k8s.io/replicatedjob-name": "w"}, True),
        (JOB_SET % 2, {"job-name": "run-w-0"}, None),
        (JOB_SET % 2, {"jobset.sigs.k8s.io/jobset-name": "other"}, False),
        (VOLCANO, {"volcano.sh/job-name": "run", "volcano.sh/task-spec": "w"}, True),
        (VOLCANO, {"volcano.sh/queue-name": "default"}, True),
        (LWS, {"leaderworkerset.sigs.k8s.io/name": "run"}, True),
        (LWS, {"leaderworkerset.sigs.k8s.io/worker-index": "0"}, None),
    ],
)
def test_selected(text: str, selector: dict[str, str], expected: bool | None) -> None:
    """None where only some of the pods are taken."""
    found = workload(text)
    assert pod_labels(found, found.pod_sets[0]).selected(selector) is expected
