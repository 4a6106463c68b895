"""The same of a Job's tasks: pod templates, partitions, volumes, dependencies (VJ12 and on)."""

from __future__ import annotations

from typing import Any

from tests.api.refusals import ABSENT
from trainshed.api.base import KubernetesObject
from trainshed.api.volcano import Job

BROKEN: list[tuple[str, type[KubernetesObject], dict[str, Any], list[str]]] = [
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
]
