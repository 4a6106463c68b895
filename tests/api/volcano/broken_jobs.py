"""One edit of a Job or PodGroup, and the sentence about it: tasks, plugins, policies, names (VJ1 to VJ11)."""

from __future__ import annotations

from typing import Any

from tests.api.refusals import ABSENT
from tests.api.volcano.valid import ACTIONS, EVENTS, LONG
from trainshed.api.base import KubernetesObject
from trainshed.api.volcano import Job, PodGroup

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
]
