"""Job and CronJob: each rule refuses what the API server refuses, and lets the neighbour pass."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.told import changed, told
from tests.oracle.core import core_errors
from trainshed.api.batch import CronJob, Job, JobSpec, JobTemplateSpec

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "a"}], "restartPolicy": "Never"}}},
}
INDEXED = changed(JOB, spec__completionMode="Indexed", spec__completions=4, spec__parallelism=4)
CRON: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "nightly"},
    "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": JOB["spec"]}},
}


def on_codes(action: str = "FailJob", **codes: Any) -> dict[str, Any]:
    """A pod failure policy of one rule on exit codes."""
    return {"rules": [{"action": action, "onExitCodes": {"operator": "In", "values": [1, 42], **codes}}]}


def on_condition(**more: Any) -> dict[str, Any]:
    return {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}], **more}]}


NEIGHBOURS = [
    JOB,
    INDEXED,
    changed(JOB, spec__template__spec__restartPolicy="OnFailure"),
    changed(JOB, spec__completionMode="Indexed"),
    changed(INDEXED, spec__podFailurePolicy=on_codes(containerName="main")),
    changed(INDEXED, spec__podFailurePolicy=on_codes(operator="NotIn", values=[0, 1])),
    changed(INDEXED, spec__podFailurePolicy=on_condition(), spec__podReplacementPolicy="Failed"),
    changed(INDEXED, spec__podFailurePolicy=on_codes("FailIndex"), spec__backoffLimitPerIndex=1),
    changed(INDEXED, spec__backoffLimitPerIndex=1, spec__maxFailedIndexes=4),
    changed(INDEXED, spec__successPolicy={"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 3}]}),
    changed(INDEXED, metadata__name="a" * 61),
    changed(JOB, metadata__name="a" * 63),
    changed(JOB, metadata__name="a.b"),
    changed(JOB, spec__managedBy="kueue.x-k8s.io/multikueue"),
    changed(JOB, spec__selector={"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}}),
    changed(
        JOB,
        spec__manualSelector=True,
        spec__selector={"matchLabels": {"a": "b"}},
        spec__template__metadata={"labels": {"a": "b"}, "creationTimestamp": None},
    ),
    changed(
        INDEXED, spec__completions=100_001, spec__parallelism=10_000, spec__backoffLimitPerIndex=1,
        spec__maxFailedIndexes=10_000,
    ),
]  # fmt: skip

BROKEN = [
    (
        changed(JOB, spec__template__spec__restartPolicy=None),
        ': spec.template.spec.restartPolicy: is missing, and a Job has no default; write "Never" or "OnFailure"',
    ),
    (
        changed(JOB, spec__template__spec__restartPolicy="Always"),
        'spec: template.spec.restartPolicy: a Job cannot restart its pods for ever; write "Never" or "OnFailure"',
    ),
    (
        changed(INDEXED, spec__completions=None),
        ": spec.completions: is missing, and an Indexed Job needs it; write 4",
    ),
    (
        changed(INDEXED, spec__parallelism=100_001),
        "spec: parallelism: is 100001; an Indexed Job has at most 100000",
    ),
    (
        changed(JOB, spec__backoffLimitPerIndex=1),
        ': spec.backoffLimitPerIndex: works only in Indexed Jobs; write completionMode: "Indexed"',
    ),
    (
        changed(JOB, spec__completionMode="NonIndexed", spec__successPolicy={"rules": [{"succeededCount": 1}]}),
        'spec: successPolicy: works only in Indexed Jobs; write completionMode: "Indexed"',
    ),
    (
        changed(INDEXED, spec__maxFailedIndexes=1),
        "spec: maxFailedIndexes: works only with backoffLimitPerIndex; add backoffLimitPerIndex",
    ),
    (
        changed(INDEXED, spec__backoffLimitPerIndex=1, spec__maxFailedIndexes=5),
        "spec: maxFailedIndexes: is 5, more than the 4 completions",
    ),
    (
        changed(INDEXED, spec__completions=200_000, spec__backoffLimitPerIndex=1),
        "spec: maxFailedIndexes: is missing, and needed beyond 100000 completions with backoffLimitPerIndex; "
        "write at most 10000",
    ),
    (
        changed(
            INDEXED, spec__completions=200_000, spec__backoffLimitPerIndex=1, spec__maxFailedIndexes=10_001,
        ),
        "spec: maxFailedIndexes: is 10001; at most 10000 are allowed beyond 100000 completions with "
        "backoffLimitPerIndex",
    ),
    (
        changed(
            INDEXED, spec__completions=200_000, spec__parallelism=10_001, spec__backoffLimitPerIndex=1,
            spec__maxFailedIndexes=1,
        ),
        "spec: parallelism: is 10001; at most 10000 is allowed beyond 100000 completions with backoffLimitPerIndex",
    ),
    (
        changed(
            INDEXED, spec__completions=100_001, spec__backoffLimitPerIndex=1, spec__maxFailedIndexes=100_001,
        ),
        "spec: maxFailedIndexes: is 100001; at most 100000 are allowed; maxFailedIndexes: is 100001; at most 10000 "
        "are allowed beyond 100000 completions with backoffLimitPerIndex",
    ),
    (
        changed(JOB, spec__managedBy="multikueue"),
        'spec: managedBy: "multikueue" is not a domain, "/" and a path; write a domain, "/" and a path, such as '
        '"kueue.x-k8s.io/multikueue"',
    ),
    (
        changed(JOB, spec__managedBy=f"a.b/{'c' * 60}"),
        "spec.managedBy: String should have at most 63 characters",
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_codes(), spec__template__spec__restartPolicy="OnFailure"),
        'spec: template.spec.restartPolicy: is OnFailure; podFailurePolicy works only with Never; write "Never"',
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_codes(), spec__podReplacementPolicy="TerminatingOrFailed"),
        'spec: podReplacementPolicy: must be Failed when podFailurePolicy is set; write "Failed"',
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_codes("FailIndex")),
        "spec: podFailurePolicy.rules[0].action: FailIndex works only with backoffLimitPerIndex; "
        "add backoffLimitPerIndex",
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_codes(containerName="other")),
        'spec: podFailurePolicy.rules[0].onExitCodes.containerName: "other" is not a container of the pod template; '
        "write one of main",
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_codes(values=[0, 1])),
        "spec.podFailurePolicy.rules.0.onExitCodes: values: 0 is success and cannot be a failure; "
        'leave 0 out, or use the operator "NotIn"',
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_codes(values=[3, 2])),
        "spec.podFailurePolicy.rules.0.onExitCodes: values: the exit codes are out of order; write [2, 3]",
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_codes(values=[2, 2])),
        "spec.podFailurePolicy.rules.0.onExitCodes: values: an exit code is listed twice; name each exit code once",
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_codes(values=[])),
        "spec.podFailurePolicy.rules.0.onExitCodes.values: List should have at least 1 item after validation, not 0",
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_codes(values=list(range(1, 257)))),
        "spec.podFailurePolicy.rules.0.onExitCodes.values: List should have at most 255 items after validation, "
        "not 256",
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_condition(onExitCodes={"operator": "In", "values": [1]})),
        "spec.podFailurePolicy.rules.0: onExitCodes and onPodConditions exclude each other; write two rules",
    ),
    (
        changed(JOB, spec__podFailurePolicy=on_condition(onPodConditions=[])),
        "spec.podFailurePolicy.rules.0: the rule matches nothing; add onExitCodes or onPodConditions",
    ),
    (
        changed(JOB, spec__podFailurePolicy={"rules": on_codes()["rules"] * 21}),
        "spec.podFailurePolicy.rules: List should have at most 20 items after validation, not 21",
    ),
    (
        changed(INDEXED, spec__successPolicy={"rules": []}),
        "spec.successPolicy.rules: List should have at least 1 item after validation, not 0",
    ),
    (
        changed(INDEXED, spec__successPolicy={"rules": [{}]}),
        "spec.successPolicy.rules.0: the rule asks for nothing; add succeededIndexes or succeededCount",
    ),
    (
        changed(INDEXED, spec__successPolicy={"rules": [{"succeededIndexes": "3,1"}]}),
        'spec.successPolicy.rules.0: succeededIndexes: "1" is out of order; '
        'write rising indexes and ranges, such as "0,2-5"',
    ),
    (
        changed(INDEXED, spec__successPolicy={"rules": [{"succeededIndexes": "a"}]}),
        'spec.successPolicy.rules.0: succeededIndexes: "a" is neither an index nor a range; '
        'write rising indexes and ranges, such as "0,2-5"',
    ),
    (
        changed(INDEXED, spec__successPolicy={"rules": [{"succeededIndexes": "0-1", "succeededCount": 3}]}),
        "spec.successPolicy.rules.0: succeededCount: is 3, but succeededIndexes names only 2 indexes",
    ),
    (
        changed(INDEXED, spec__successPolicy={"rules": [{"succeededIndexes": "0-4"}]}),
        "spec: successPolicy.rules[0].succeededIndexes: index 4 does not exist: the last of 4 completions is 3",
    ),
    (
        changed(INDEXED, spec__successPolicy={"rules": [{"succeededCount": 5}]}),
        "spec: successPolicy.rules[0].succeededCount: is 5, more than the 4 completions",
    ),
    (
        changed(INDEXED, metadata__name="a" * 62),
        f': metadata.name: the last pod would have the host name "{"a" * 62}-3", and it has 64 characters, '
        "1 more than the 63 allowed",
    ),
    (
        changed(JOB, metadata__name="a" * 64),
        ": metadata.name: it becomes the label job-name of the pods, and it has 64 characters, "
        "1 more than the 63 allowed",
    ),
    (
        changed(JOB, spec__selector={"matchLabels": {"a": "b"}}),
        ": spec.selector: the server generates it; leave it out, or write manualSelector: true",
    ),
    (
        changed(JOB, spec__manualSelector=True),
        ": spec.selector: is missing, and manualSelector is true; add it, or leave manualSelector out",
    ),
    (
        changed(JOB, spec__manualSelector=True, spec__selector={"matchLabels": {"a": "b"}}),
        ": spec.selector: does not select the Job's own pods: their template has no label a=b; "
        "add it to spec.template.metadata.labels",
    ),
    (
        changed(JOB, spec__template__metadata={"labels": {"a b": "c"}}),
        'spec.template.metadata: labels[a b]: "a b" is not a qualified name: letters, digits, "-", "_" and ".", '
        "alphanumeric at both ends",
    ),
]  # fmt: skip

CRON_BROKEN = [
    (changed(CRON, metadata__name="a" * 53), ": metadata.name: has 53 characters; a CronJob may have 52"),
    (
        changed(CRON, spec__schedule="0 3 * *"),
        'spec: schedule: "0 3 * *" has 4 fields, not 5; '
        'write five fields, such as "0 3 * * 1-5", or a word such as "@daily"',
    ),
    (
        changed(CRON, spec__schedule="@fortnightly"),
        'spec: schedule: "@fortnightly" is not a known word; '
        'write five fields, such as "0 3 * * 1-5", or a word such as "@daily"',
    ),
    (
        changed(CRON, spec__schedule="0 3 * * mo;"),
        'spec: schedule: "mo;" is not a cron field; '
        'write five fields, such as "0 3 * * 1-5", or a word such as "@daily"',
    ),
    (
        changed(CRON, spec__schedule="TZ=UTC 0 3 * * *"),
        "spec: schedule: it holds a time zone, which belongs into timeZone; "
        'write five fields, such as "0 3 * * 1-5", or a word such as "@daily"',
    ),
    (
        changed(CRON, spec__timeZone="local"),
        'spec: timeZone: "local" depends on the machine; write a name from the IANA list, such as "Europe/Berlin"',
    ),
    (
        changed(CRON, spec__timeZone="Europe//Berlin"),
        'spec: timeZone: "Europe//Berlin" is not the name of a time zone; '
        'write a name from the IANA list, such as "Europe/Berlin"',
    ),
    (
        changed(CRON, spec__concurrencyPolicy="Skip"),
        "spec.concurrencyPolicy: Input should be 'Allow', 'Forbid' or 'Replace'",
    ),
    (changed(CRON, spec__jobTemplate={}), "spec: jobTemplate.spec: is missing"),
    (
        changed(CRON, spec__jobTemplate__spec__selector={}),
        "spec: jobTemplate.spec.selector: the server generates it; leave it out",
    ),
    (
        changed(CRON, spec__jobTemplate__spec__manualSelector=True),
        "spec: jobTemplate.spec.manualSelector: cannot be true in a CronJob; leave it out",
    ),
    (
        changed(CRON, spec__jobTemplate__spec__template__spec__restartPolicy=None),
        "spec: jobTemplate.spec.template.spec.restartPolicy: is missing, and a Job has no default; "
        'write "Never" or "OnFailure"',
    ),
    (
        changed(CRON, spec__jobTemplate__spec__completionMode="Indexed", spec__jobTemplate__spec__parallelism=2),
        "spec: jobTemplate.spec.completions: is missing, and an Indexed Job needs it; write 2",
    ),
]  # fmt: skip


@pytest.mark.parametrize("manifest", NEIGHBOURS, ids=range(len(NEIGHBOURS)))
def test_a_good_job_passes_and_reads_back(manifest: dict[str, Any]) -> None:
    assert told(Job, manifest) == []
    job = Job.parse(manifest)
    assert Job.parse(job.manifest()) == job
    assert core_errors(job.manifest()) == []


@pytest.mark.parametrize(("manifest", "message"), BROKEN, ids=[message[:60] for _, message in BROKEN])
def test_a_broken_job_is_refused_with_its_one_mistake(manifest: dict[str, Any], message: str) -> None:
    assert told(Job, manifest) == [message]


@pytest.mark.parametrize("field", ["parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished"])
def test_counts_are_not_negative(field: str) -> None:
    assert told(Job, changed(JOB, **{f"spec__{field}": 0})) == []
    assert told(Job, changed(JOB, **{f"spec__{field}": -1})) == [
        f"spec.{field}: Input should be greater than or equal to 0"
    ]


@pytest.mark.parametrize("schedule", ["*/15 0-6,22 1 JAN,feb MON-FRI", "@hourly", "@every 1h30m", "0 0 ? * 6"])
def test_a_good_schedule_passes(schedule: str) -> None:
    assert told(CronJob, changed(CRON, spec__schedule=schedule, spec__timeZone="America/Argentina/Ushuaia")) == []


def test_a_cron_job_of_52_characters_passes() -> None:
    assert told(CronJob, changed(CRON, metadata__name="a" * 52)) == []


@pytest.mark.parametrize(("manifest", "message"), CRON_BROKEN, ids=[message[:60] for _, message in CRON_BROKEN])
def test_a_broken_cron_job_is_refused_with_its_one_mistake(manifest: dict[str, Any], message: str) -> None:
    assert told(CronJob, manifest) == [message]


def test_a_template_leaves_to_its_host_what_the_host_fills_in() -> None:
    """JobSet makes Jobs Indexed and restarts OnFailure where the template is silent; runtimes set completions."""
    spec = changed(INDEXED["spec"], completionMode=None, completions=None, backoffLimitPerIndex=1)
    spec = changed(spec, template__spec__restartPolicy=None)
    assert told(JobTemplateSpec, {"metadata": {"labels": {"a": "b"}}, "spec": spec}) == []


def test_created_rules_tell_what_the_host_s_defaults_break() -> None:
    spec = JobSpec.model_validate(
        changed(INDEXED["spec"], completionMode=None, completions=None, template__spec__restartPolicy=None)
    )
    assert [str(broken) for broken in spec.created_rules("Indexed", "OnFailure")] == [
        "completions: is missing, and an Indexed Job needs it; write 4"
    ]
    guarded = JobSpec.model_validate(
        changed(JOB["spec"], podFailurePolicy=on_codes(), template__spec__restartPolicy=None)
    )
    assert [str(broken) for broken in guarded.created_rules("Indexed", "OnFailure")] == [
        'template.spec.restartPolicy: is OnFailure; podFailurePolicy works only with Never; write "Never"'
    ]
