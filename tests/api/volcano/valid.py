"""A valid object of each kind of Volcano, which the rules' tests edit."""

from __future__ import annotations

from typing import Any

from trainshed.api.base import KubernetesObject
from trainshed.api.volcano import Job, PodGroup, Queue

POD = {
    "metadata": {"labels": {"team": "a"}, "creationTimestamp": None},
    "spec": {
        "containers": [{"name": "main", "image": "i", "resources": {"limits": {"cpu": 8, "nvidia.com/gpu": 8}}}],
        "initContainers": [{"name": "init", "image": "i", "resources": {"requests": {"cpu": "1000m"}}}],
    },
}
JOB: dict[str, Any] = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "team"},
    "spec": {
        "minAvailable": 5,
        "queue": "high",
        "plugins": {"pytorch": ["--master=master"], "env": []},
        "policies": [
            {"event": "PodFailed", "action": "RestartJob"},
            {"events": ["PodEvicted", "PodPending"], "action": "RestartPod", "timeout": "10m"},
            {"exitCode": 137, "action": "RestartTask"},
        ],
        "volumes": [
            {"mountPath": "/data", "volumeClaimName": "data"},
            {
                "mountPath": "/out",
                "volumeClaim": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}},
            },
        ],
        "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
        "tasks": [
            {
                "name": "master",
                "replicas": 1,
                "topologyPolicy": "single-numa-node",
                "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}],
                "template": POD,
            },
            {
                "name": "worker",
                "replicas": 4,
                "minAvailable": 2,
                "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1},
                "dependsOn": {"name": ["master"], "iteration": "any"},
                "template": POD,
            },
        ],
    },
}
QUEUE: dict[str, Any] = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {
        "name": "high",
        "annotations": {"volcano.sh/hierarchy": "root/eng", "volcano.sh/hierarchy-weights": "1/2.5"},
    },
    "spec": {
        "weight": 1,
        "parent": "root",
        "capability": {"cpu": "500m", "memory": 0, "nvidia.com/gpu": 16},
        "deserved": {"cpu": "400m", "memory": "1Ti", "nvidia.com/gpu": 8},
        "guarantee": {"resource": {"nvidia.com/gpu": 8}},
        "priority": 5,
        "dequeueStrategy": "fifo",
        "affinity": {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["h100"]}},
        "extendClusters": [{"name": "other", "weight": 1, "capacity": {"cpu": 1}}],
    },
}
PODGROUP: dict[str, Any] = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "gang", "namespace": "team"},
    "spec": {
        "minMember": 4,
        "minTaskMember": {"worker": 3},
        "queue": "high",
        "minResources": {"nvidia.com/gpu": 32},
        "networkTopology": {"highestTierName": "rack"},
        "subGroupPolicy": [
            {"name": "tp", "subGroupSize": 2, "minSubGroups": 2, "matchLabelKeys": ["volcano.sh/partition-id"]}
        ],
    },
}
VALID: dict[type[KubernetesObject], dict[str, Any]] = {Job: JOB, Queue: QUEUE, PodGroup: PODGROUP}

EVENTS = "*, PodFailed, PodEvicted, PodPending, Unknown, TaskCompleted, TaskFailed, JobUpdated"
ACTIONS = "AbortJob, RestartJob, RestartTask, RestartPod, RestartPartition, TerminateJob, CompleteJob, ResumeJob"
LONG = "w" * 54
