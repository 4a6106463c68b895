"""What was read from a cluster is judged as that, not as a file of Git."""

from __future__ import annotations

import io

import pytest

from trainshed.checks.engine import check
from trainshed.checks.options import Options

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: run, namespace: a, labels: {kueue.x-k8s.io/queue-name: train}UID}
spec:
  suspend: false
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: "i:1"}]}}
"""


@pytest.mark.parametrize(("uid", "told"), [("", True), (", uid: 4e0c0f6a-0000-4000-8000-000000000000", False)])
def test_suspend_is_told_for_manifests_and_not_for_dumps(uid: str, told: bool) -> None:
    report = check(["-"], Options(), stdin=io.BytesIO(JOB.replace("UID", uid).encode()))
    assert ("kueue-suspend-in-git" in {finding.code for finding in report.findings}) == told
