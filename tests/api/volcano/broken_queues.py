"""The same of a Queue."""

from __future__ import annotations

from typing import Any

from tests.api.refusals import ABSENT
from trainshed.api.base import KubernetesObject
from trainshed.api.volcano import Queue

BROKEN: list[tuple[str, type[KubernetesObject], dict[str, Any], list[str]]] = [
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
