"""Each rule of Volcano's kinds: a valid object passes, and one edit gives one exact sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.refusals import ABSENT, edited, refusals
from tests.api.volcano import broken_jobs, broken_queues, broken_tasks
from tests.api.volcano.valid import LONG, POD, VALID
from trainshed.api.base import KubernetesObject
from trainshed.api.volcano import Job, PodGroup, Queue

BROKEN = [*broken_jobs.BROKEN, *broken_tasks.BROKEN, *broken_queues.BROKEN]


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
