"""Each rule of Volcano's kinds: a valid object passes, and one edit gives one exact sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.refusals import ABSENT, edited, refusals
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

BROKEN: list[tuple[str, type[KubernetesObject], dict[str, Any], list[str]]] = [
    ("VJ1 some task", Job, {"spec.tasks": ABSENT}, ["spec.tasks: Field required"]),
    (
        "VJ1 at least one task",
        Job,
        {"spec.tasks": []},
        ["spec.tasks: List should have at least 1 item after validation, not 0"],
    ),
    (
        "VJ2 the mpi master exists",
        Job,
        {"spec.plugins": {"mpi": ["--port=22", "-master", "boss", "--unknown=1", "--master=master"]}},
        ['spec.plugins[mpi]: there is no task "boss" to be the master; name it with --master=<task>'],
    ),
    (
        "VJ3 one way to name a tier (job)",
        Job,
        {"spec.networkTopology.highestTierName": "rack"},
        ["spec.networkTopology.highestTierName: is set beside highestTierAllowed; keep one of them"],
    ),
    (
        "VJ3 one way to name a tier (partitions)",
        Job,
        {"spec.tasks[1].partitionPolicy.networkTopology": {"highestTierAllowed": 0, "highestTierName": "rack"}},
        [
            "spec.tasks[1].partitionPolicy.networkTopology.highestTierName: is set beside highestTierAllowed; keep one "
            "of them"
        ],
    ),
    (
        "VJ3 one way to name a tier (PodGroup)",
        PodGroup,
        {"spec.networkTopology.highestTierAllowed": 1},
        ["spec.networkTopology.highestTierName: is set beside highestTierAllowed; keep one of them"],
    ),
    (
        "VJ3 one way to name a tier (subgroups)",
        PodGroup,
        {"spec.subGroupPolicy[0].networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}},
        ["spec.subGroupPolicy[0].networkTopology.highestTierName: is set beside highestTierAllowed; keep one of them"],
    ),
    (
        "VJ4 a task's minimum is within its replicas",
        Job,
        {"spec.tasks[0].minAvailable": 2},
        ["spec.tasks[0].minAvailable: is 2, more than the 1 replicas; write 1 or less"],
    ),
    (
        "VJ5 task names are unique",
        Job,
        {"spec.tasks[1].name": "master", "spec.tasks[1].dependsOn": ABSENT},
        ['spec.tasks[1].name: "master" is the name of tasks[0] already; rename one'],
    ),
    (
        "VJ5 also the names that the webhook gives",
        Job,
        {"spec.tasks[1].name": ABSENT, "spec.tasks[0].name": "default1", "spec.tasks[1].dependsOn": ABSENT},
        ['spec.tasks[1].name: "default1" is the name of tasks[0] already; rename one'],
    ),
    (
        "VJ6 an event or an exit code, not both",
        Job,
        {"spec.policies[0].exitCode": 1},
        ["spec.policies[0].exitCode: is set beside an event; write two policies"],
    ),
    (
        "VJ6 an event or an exit code, not neither",
        Job,
        {"spec.tasks[0].policies[0].event": ABSENT},
        ["spec.tasks[0].policies[0].event: is missing, and so is exitCode; add one of them"],
    ),
    (
        "VJ7 only users' events",
        Job,
        {"spec.policies[0].event": "PodRunning"},
        [f'spec.policies[0].event: "PodRunning" is for Volcano\'s own use; write one of {EVENTS}'],
    ),
    (
        "VJ7 only users' actions",
        Job,
        {"spec.policies[0].action": "RestrtJob"},
        ['spec.policies[0].action: "RestrtJob" is not an action; did you mean "RestartJob"?'],
    ),
    (
        "VJ7 actions beside an exit code as well (the webhook misses them)",
        Job,
        {"spec.policies[2].action": "EnqueueX"},
        [f'spec.policies[2].action: "EnqueueX" is not an action; write one of {ACTIONS}'],
    ),
    (
        "VJ7 some action",
        Job,
        {"spec.policies[0].action": ABSENT},
        [f"spec.policies[0].action: is missing; write one of {ACTIONS}"],
    ),
    (
        "VJ8 no event in two policies",
        Job,
        {"spec.policies[0].event": "PodEvicted"},
        ['spec.policies[1].event: "PodEvicted" is in policies[0] already; keep one action for each event'],
    ),
    (
        "VJ9 0 is no failure",
        Job,
        {"spec.policies[2].exitCode": 0},
        ["spec.policies[2].exitCode: is 0, which is no failure; write the code of a failure, or event: TaskCompleted"],
    ),
    (
        "VJ9 no exit code twice",
        Job,
        {"spec.policies[3]": {"exitCode": 137, "action": "AbortJob"}},
        ["spec.policies[3].exitCode: 137 is in policies[2] already; keep one action for each exit code"],
    ),
    (
        "VJ10 * stands alone",
        Job,
        {"spec.policies[0].event": "*"},
        ['spec.policies[0].event: "*" takes every event, and PodEvicted, PodPending stands beside it; remove one'],
    ),
    (
        "VJ11 the pod's name by the task's place has at most 63 characters",
        Job,
        {"spec.tasks[0].name": "w" * 56, "spec.plugins": ABSENT, "spec.tasks[1].dependsOn": ABSENT},
        [
            f'spec.tasks[0].name: makes the pod name "train-{"w" * 56}-0" of 64 characters, 1 more than the 63 '
            "allowed; shorten the name of the job or of the task"
        ],
    ),
    (
        "VL6 the last pod's host name has at most 63 characters",
        Job,
        {
            "spec.tasks[1].name": LONG,
            "spec.tasks[1].replicas": 101,
            "spec.tasks[1].partitionPolicy": ABSENT,
        },
        [
            f'spec.tasks[1].name: makes the pod name "train-{LONG}-100" of 64 characters, 1 more than the 63 '
            "allowed; shorten the name of the job or of the task"
        ],
    ),
    (
        "VJ12 a pod has a spec",
        Job,
        {"spec.tasks[0].template.spec": ABSENT},
        ["spec.tasks[0].template.spec: is missing; add the pod's spec"],
    ),
    (
        "VJ12 a pod has containers",
        Job,
        {"spec.tasks[0].template.spec.containers": []},
        ["spec.tasks[0].template.spec.containers: is empty; add a container"],
    ),
    (
        "VJ12 mounts name volumes of the template",
        Job,
        {"spec.tasks[0].template.spec.containers[0].volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]},
        [
            'spec.tasks[0].template.spec.containers[0].volumeMounts[0].name: "shm" is not a volume of the pod; add it '
            "to the volumes"
        ],
    ),
    (
        "the schema drops newer fields of a pod",
        Job,
        {"spec.tasks[0].template.spec.schedulingGroup": {"podGroupName": "g"}},
        [
            "spec.tasks[0].template.spec.schedulingGroup: is dropped by Volcano, whose schema does not have it; leave "
            "it out"
        ],
    ),
    (
        "VJ13 whole CPUs for a NUMA policy",
        Job,
        {"spec.tasks[0].template.spec.containers[0].resources.limits.cpu": "7500m"},
        [
            "spec.tasks[0].template.spec.containers[0].resources: requests 7500m CPU, but topologyPolicy is "
            '"single-numa-node"; request a whole number of CPUs'
        ],
    ),
    (
        "VJ13 limits do not stand in for a missing request among others",
        Job,
        {"spec.tasks[0].template.spec.containers[0].resources.requests": {"memory": "1Gi"}},
        [
            "spec.tasks[0].template.spec.containers[0].resources: requests no CPU, but topologyPolicy is "
            '"single-numa-node"; request a whole number of CPUs'
        ],
    ),
    (
        "VJ13 init containers too",
        Job,
        {"spec.tasks[0].template.spec.initContainers[0].resources": ABSENT},
        [
            "spec.tasks[0].template.spec.initContainers[0].resources: requests no CPU, but topologyPolicy is "
            '"single-numa-node"; request a whole number of CPUs'
        ],
    ),
    (
        "VJ14 replicas fill the partitions",
        Job,
        {"spec.tasks[1].replicas": 5},
        ["spec.tasks[1].replicas: is 5, but 2 partitions of 2 make 4; write 4"],
    ),
    (
        "VJ14 the minimum is whole partitions",
        Job,
        {"spec.tasks[1].minAvailable": 3},
        ["spec.tasks[1].minAvailable: is 3, but 1 partitions of 2 make 2; write 2 or leave it out"],
    ),
    (
        "VJ14 and VJ4: no more partitions than there are",
        Job,
        {"spec.tasks[1].partitionPolicy.minPartitions": 3, "spec.tasks[1].minAvailable": ABSENT},
        ["spec.tasks[1].partitionPolicy.minPartitions: is 3, more than the 2 in totalPartitions"],
    ),
    (
        "VJ14 a partition has pods",
        Job,
        {"spec.tasks[1].partitionPolicy.partitionSize": 0},
        ["spec.tasks[1].partitionPolicy.partitionSize: Input should be greater than or equal to 1"],
    ),
    (
        "VJ15 the job's name has at most 63 characters",
        Job,
        {"metadata.name": "j" * 64, "spec.plugins": ABSENT},
        [
            "metadata.name: has 64 characters, 1 more than the 63 allowed; shorten it",
            f'spec.tasks[0].name: makes the pod name "{"j" * 64}-master-0" of 73 characters, 10 more than the 63 '
            "allowed; shorten the name of the job or of the task",
            f'spec.tasks[1].name: makes the pod name "{"j" * 64}-worker-1" of 73 characters, 10 more than the 63 '
            "allowed; shorten the name of the job or of the task",
        ],
    ),
    (
        "VJ16 the minimum is within all replicas",
        Job,
        {"spec.minAvailable": 6},
        ["spec.minAvailable: is 6, more than the 5 replicas of all tasks; write 5 or less"],
    ),
    (
        "VJ17 plugins are known",
        Job,
        {"spec.plugins": {"pytorh": []}},
        ['spec.plugins[pytorh]: there is no such plugin; did you mean "pytorch"?'],
    ),
    (
        "VJ18 mount paths are unique",
        Job,
        {"spec.volumes[1].mountPath": "/data"},
        ['spec.volumes[1].mountPath: "/data" is mounted already; write another path'],
    ),
    (
        "VJ18 a mount path has no colon",
        Job,
        {"spec.volumes[0].mountPath": "/a:b"},
        ['spec.volumes[0].mountPath: "/a:b" has a ":", which a mount path may not'],
    ),
    (
        "VJ18 some claim",
        Job,
        {"spec.volumes[0].volumeClaimName": ABSENT},
        ["spec.volumes[0]: has neither volumeClaimName nor volumeClaim; add one of them"],
    ),
    (
        "VJ18 one claim",
        Job,
        {"spec.volumes[1].volumeClaimName": "out"},
        ["spec.volumes[1]: has both volumeClaimName and volumeClaim; keep one of them"],
    ),
    (
        "VJ18 a claim's name",
        Job,
        {"spec.volumes[0].volumeClaimName": "A"},
        [
            'spec.volumes[0].volumeClaimName: "A" is not a DNS-1123 subdomain: lower-case letters, digits, "-" and '
            '".", alphanumeric at both ends'
        ],
    ),
    (
        "VJ22 no circle",
        Job,
        {"spec.tasks[0].dependsOn": {"name": ["worker"]}},
        ["spec.tasks: wait for each other: master, worker; break the circle in dependsOn"],
    ),
    (
        "VJ22 not on itself",
        Job,
        {"spec.tasks[0].dependsOn": {"name": ["master"]}},
        ["spec.tasks: wait for each other: master, worker; break the circle in dependsOn"],
    ),
    (
        "VJ22 dependencies exist",
        Job,
        {"spec.tasks[1].dependsOn.name": ["maste"]},
        ['spec.tasks[1].dependsOn.name[0]: there is no task "maste"; did you mean "master"?'],
    ),
    (
        "VJ22 a dependency is listed once",
        Job,
        {"spec.tasks[1].dependsOn.name": ["master", "master"]},
        ['spec.tasks[1].dependsOn.name[1]: "master" is listed already; list each task once'],
    ),
    (
        "VL5 the job names a Service",
        Job,
        {"metadata.name": "1st"},
        [
            'metadata.name: names the Service of plugin "pytorch": "1st" is not a DNS-1035 label: lower-case letters, '
            'digits and "-", starting with a letter; choose another name'
        ],
    ),
    (
        "VL5 ray's Service has a longer name",
        Job,
        {
            "metadata.name": "j" * 55,
            "spec.plugins": {"ray": []},
            "spec.tasks[0].name": "m",
            "spec.tasks[1].name": "w",
            "spec.tasks[1].dependsOn": ABSENT,
        },
        [
            'metadata.name: names the Service of plugin "ray": it has 64 characters, 1 more than the 63 allowed; '
            "shorten it"
        ],
    ),
    (
        "VQ1 amounts are not negative",
        Queue,
        {"spec.capability.cpu": "-1m"},
        ["spec.capability[cpu]: is -1m, below 0; write 0 or more"],
    ),
    (
        "VQ1 extended resources are whole",
        Queue,
        {'spec.capability."nvidia.com/gpu"': "16500m"},
        ["spec.capability[nvidia.com/gpu]: is 16500m, but nvidia.com/gpu comes in whole numbers; write a whole number"],
    ),
    (
        "VQ1 pods are whole",
        Queue,
        {"spec.deserved.pods": "1500m"},
        ["spec.deserved[pods]: is 1500m, but pods comes in whole numbers; write a whole number"],
    ),
    (
        "VQ2 what is guaranteed is deserved",
        Queue,
        {"spec.guarantee.resource.cpu": "401m"},
        ["spec.guarantee.resource[cpu]: is 401m, more than the 400m in deserved; guarantee no more than that"],
    ),
    (
        "VQ2 deserved names what is guaranteed",
        Queue,
        {'spec.deserved."nvidia.com/gpu"': ABSENT},
        [
            "spec.guarantee.resource[nvidia.com/gpu]: is 8, but deserved has no nvidia.com/gpu; add nvidia.com/gpu to "
            "deserved"
        ],
    ),
    (
        "VQ3 what is deserved is within the cap",
        Queue,
        {'spec.deserved."nvidia.com/gpu"': 17},
        ["spec.deserved[nvidia.com/gpu]: is 17, more than the 16 in capability; deserve no more"],
    ),
    (
        "VQ4 a new queue is open or closed",
        Queue,
        {"status": {"state": "Closing"}},
        ['status.state: is "Closing"; write "Open" or "Closed", or leave the status out'],
    ),
    (
        "VQ5 as many weights as parts",
        Queue,
        {'metadata.annotations."volcano.sh/hierarchy-weights"': "1"},
        [
            "metadata.annotations[volcano.sh/hierarchy-weights]: has 1 parts, but volcano.sh/hierarchy has 2; write "
            "one weight a part"
        ],
    ),
    (
        "VQ5 weights are numbers above 0",
        Queue,
        {'metadata.annotations."volcano.sh/hierarchy-weights"': "1/0"},
        ['metadata.annotations[volcano.sh/hierarchy-weights]: "0" is not a number above 0'],
    ),
    (
        "VQ6 a queue is not its own parent",
        Queue,
        {"spec.parent": "high"},
        ["spec.parent: is the queue itself; name another queue, or leave parent out"],
    ),
    ("a weight is at least 1", Queue, {"spec.weight": 0}, ["spec.weight: Input should be greater than or equal to 1"]),
]


@pytest.mark.parametrize("model", VALID, ids=lambda model: model.__name__)
def test_a_valid_object_passes_and_reads_back(model: type[KubernetesObject]) -> None:
    assert refusals(model, VALID[model]) == []
    parsed = model.parse(VALID[model])
    assert model.parse(parsed.manifest()) == parsed


@pytest.mark.parametrize(("model", "edits", "told"), [pytest.param(*rest, id=name) for name, *rest in BROKEN])
def test_a_broken_rule_is_told_in_one_sentence(
    model: type[KubernetesObject], edits: dict[str, Any], told: list[str]
) -> None:
    assert refusals(model, edited(VALID[model], edits)) == told


NEIGHBOURS: list[tuple[str, type[KubernetesObject], dict[str, Any]]] = [
    ("VJ2 the mpi master by its default", Job, {"spec.plugins": {"mpi": []}}),
    ("VJ2 the mpi master by flag", Job, {"spec.plugins": {"mpi": ["--master", "worker", "--worker=master"]}}),
    ("VJ6 event and events together", Job, {"spec.policies[1].event": "PodEvicted"}),
    ("VJ8 the same event in another list", Job, {"spec.tasks[0].policies[0].event": "PodFailed"}),
    ("VJ10 * alone", Job, {"spec.policies": [{"event": "*", "action": "RestartJob"}]}),
    (
        "VL6 a long number without host names",
        Job,
        {"spec.tasks[1]": {"name": LONG, "replicas": 101, "template": POD}, "spec.plugins": {"env": []}},
    ),
    (
        "VL6 a long number with a host name of its own",
        Job,
        {"spec.tasks[1]": {"name": LONG, "replicas": 101, "template": edited(POD, {"spec.hostname": "w"})}},
    ),
    ("VJ12 a restart policy", Job, {"spec.tasks[0].template.spec.restartPolicy": "OnFailure"}),
    (
        "VJ13 no NUMA policy, no whole CPUs",
        Job,
        {
            "spec.tasks[0].topologyPolicy": "none",
            "spec.tasks[0].template.spec.containers[0].resources": {"requests": {"cpu": "500m"}},
        },
    ),
    ("VJ14 the minimum left to the webhook", Job, {"spec.tasks[1].minAvailable": ABSENT}),
    ("VJ18 a live job has the name of its claim", Job, {"metadata.uid": "u", "spec.volumes[1].volumeClaimName": "o"}),
    ("VL5 a digit in front without a Service", Job, {"metadata.name": "1st", "spec.plugins": {"env": []}}),
    ("a generated name", Job, {"metadata.name": ABSENT, "metadata.generateName": "1-"}),
    ("VQ2 nothing guaranteed", Queue, {"spec.guarantee.resource": {"cpu": 0}, "spec.deserved": {}}),
    ("VQ2 a name that Volcano drops", Queue, {"spec.guarantee.resource": {"gpu": 8}}),
    ("VQ3 uncapped memory", Queue, {"spec.deserved.memory": "9Ti"}),
    ("VQ3 no cap", Queue, {"spec.capability": ABSENT}),
    ("VQ4 a live queue may be closing", Queue, {"metadata.uid": "u", "status": {"state": "Closing"}}),
    ("no spec", Queue, {"spec": ABSENT}),
    ("no spec", PodGroup, {"spec": ABSENT}),
]


@pytest.mark.parametrize(("model", "edits"), [pytest.param(*rest, id=name) for name, *rest in NEIGHBOURS])
def test_a_valid_neighbour_passes(model: type[KubernetesObject], edits: dict[str, Any]) -> None:
    assert refusals(model, edited(VALID[model], edits)) == []


def test_what_may_change_in_a_job() -> None:
    """The webhook compares the whole spec but these."""
    assert Job.IMMUTABLE == ("spec",)
    assert set(Job.MUTABLE) == {
        "spec.minAvailable",
        "spec.priorityClassName",
        "spec.tasks[].replicas",
        "spec.tasks[].minAvailable",
    }
