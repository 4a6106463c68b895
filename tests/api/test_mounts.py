"""Mounts of Jobs and CronJobs name volumes of their pod."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.api.batch import CronJob, Job


def job_spec(volume: str) -> dict[str, Any]:
    """A Job spec whose container mounts the volume `shm` and whose pod has one called `volume`."""
    container = {"name": "node", "image": "trainer", "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}
    pod = {"restartPolicy": "Never", "containers": [container], "volumes": [{"name": volume, "emptyDir": {}}]}
    return {"template": {"spec": pod}}


def test_a_job_refuses_a_mount_of_a_volume_that_its_pod_lacks() -> None:
    """The API server refuses such a Job; JobSet's webhook sees it too."""
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "run"}, "spec": job_spec("tmp")}
    Job.parse({**manifest, "spec": job_spec("shm")})

    with pytest.raises(ValidationError, match=r'spec\.template\.spec\.containers\[0\]\.volumeMounts\[0\].*"shm"'):
        Job.parse(manifest)


def test_a_cron_job_refuses_it_too() -> None:
    """The same rule below jobTemplate."""
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": job_spec("tmp")}}

    with pytest.raises(ValidationError, match=r'jobTemplate\.spec\.template\.spec\.containers\[0\].*"shm"'):
        CronJob.parse({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "run"}, "spec": spec})
