"""Names that controllers derive from an object's name, and how long that name may therefore be.

`…_name_errors` functions return one sentence for each derived name that breaks, saying which and by how many characters
(an empty list: all fit). `budget_…` functions return the length of the longest name that fits, or a number below 1
when none does. Most of these limits are checked by nobody at admission: the object is accepted, its pods never come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from trainshed.naming import (
    LABEL_MAX,
    dns1035_label_error,
    dns1123_label_error,
    dns1123_subdomain_error,
    label_value_error,
)

TRAINER_JOB: Final = "node"
_POD_HASH: Final = "abcde"
_REVISION_HASH: Final = "0123456789"
_CRON_STAMP: Final = "29000000"
_TOO_LONG: Final = re.compile(r", (\d+) more than the \d+ allowed$")


def worst(errors: Iterable[str]) -> list[str]:
    """Of names that are too long the longest only: what shortens it mends the others. Other errors as they are."""
    found = list(dict.fromkeys(errors))
    over = {error: int(match[1]) for error in found if (match := _TOO_LONG.search(error))}
    most = max(over, key=lambda error: over[error], default="")
    return [error for error in found if error not in over or error == most]


def jobset_name_errors(
    jobset: str, job: str, replicas: int = 1, completions: int | None = None, claims: Iterable[str] = ()
) -> list[str]:
    """What breaks for one replicated job of a JobSet.

    `completions` counts its pods and is None when the job is not Indexed; `claims` are the names of volume claim
    templates. JobSet v0.12.0, `pkg/webhooks/jobset_webhook.go`: Job and pod names are DNS-1035 labels, the JobSet's
    name is by default also its Service's, a claim is `<template>-<jobset>`.
    """
    if error := dns1035_label_error(jobset):
        return [error]
    made = f"{jobset}-{job}-{_last(replicas)}"
    errors = [_derived("Job", made, dns1035_label_error)]
    if completions is not None:
        errors.append(_derived("pod", f"{made}-{_last(completions)}-{_POD_HASH}", dns1035_label_error))
    errors += [_derived("volume claim", f"{claim}-{jobset}", dns1123_label_error) for claim in claims]
    return _found(errors)


def budget_jobset(job: str, replicas: int = 1, completions: int | None = None, claims: Iterable[str] = ()) -> int:
    """The longest JobSet name for one of its replicated jobs; of several, the smallest counts."""
    around = len(job) + 2 + len(_last(replicas))
    if completions is not None:
        around += len(_last(completions)) + 2 + len(_POD_HASH)
    return LABEL_MAX - max([around, *(len(claim) + 1 for claim in claims)])


def trainjob_name_errors(
    trainjob: str, num_nodes: int, jobs: Sequence[str] = (TRAINER_JOB,), claims: Iterable[str] = ()
) -> list[str]:
    """What breaks for a TrainJob whose runtime has `jobs`: the trainer's, `node`, has `num_nodes` pods, others one.

    Kubeflow Trainer v2.3.0 makes a JobSet of the TrainJob's name and checks none of this; the user sees events only.
    """
    if error := dns1035_label_error(trainjob):
        return [error]
    errors = [
        error
        for index, job in enumerate(jobs)
        for error in jobset_name_errors(trainjob, job, 1, _pods(job, num_nodes), claims if index == 0 else ())
    ]
    return list(dict.fromkeys(errors))


def budget_trainjob(num_nodes: int, jobs: Sequence[str] = (TRAINER_JOB,), claims: Iterable[str] = ()) -> int:
    """The longest TrainJob name: 48 for up to 10 nodes without initializers."""
    templates = tuple(claims)
    return min(budget_jobset(job, 1, _pods(job, num_nodes), templates) for job in jobs)


def coordinator_label_errors(
    jobset: str, job: str, job_index: int = 0, pod_index: int = 0, subdomain: str | None = None
) -> list[str]:
    """What breaks for `spec.coordinator`, whose address JobSet v0.12.0 writes as a label value on every pod.

    The default subdomain is the JobSet's name, which then counts twice.
    """
    address = f"{jobset}-{job}-{job_index}-{pod_index}.{subdomain or jobset}"
    return _found([_derived("coordinator label", address, label_value_error)])


def budget_coordinator(job: str, job_index: int = 0, pod_index: int = 0, subdomain: str | None = None) -> int:
    """The longest name of a JobSet with such a coordinator."""
    room = LABEL_MAX - len(f"-{job}-{job_index}-{pod_index}.")
    return room - len(subdomain) if subdomain else room // 2


def indexed_job_name_errors(job: str, completions: int, service: bool = False) -> list[str]:
    """What breaks for a batch/v1 Job in Indexed mode; `service`: a headless Service has the Job's name.

    Kubernetes v1.36, `pkg/apis/batch/validation`: the hostname of its last pod is a DNS-1123 label.
    """
    errors = [_derived("hostname", f"{job}-{_last(completions)}", dns1123_label_error)]
    if service:
        errors.append(_derived("Service", job, dns1035_label_error))
    return _found(errors)


def budget_indexed_job(completions: int) -> int:
    """The longest name of an Indexed Job."""
    return LABEL_MAX - 1 - len(_last(completions))


def cronjob_name_errors(name: str) -> list[str]:
    """What breaks for a CronJob: its Jobs' names end in `-` and ten characters that Kubernetes keeps for the time."""
    if error := dns1123_subdomain_error(name):
        return [error]
    over = len(name) - budget_cronjob()
    made = f"{name}-{_CRON_STAMP}"
    return (
        [f'its Jobs, named like "{made}", leave it {budget_cronjob()} characters: {over} too many'] if over > 0 else []
    )


def budget_cronjob() -> int:
    """The longest name of a CronJob, batch/v1 and Volcano alike: 52."""
    return LABEL_MAX - 11


def lws_name_errors(name: str, replicas: int = 1) -> list[str]:
    """What breaks for a LeaderWorkerSet: the revision label of its last worker StatefulSet, `<name>-<group>-<hash>`.

    Nothing at admission finds it (kubernetes-sigs/lws 410, kubernetes 64023): no worker pod ever appears.
    """
    if error := dns1035_label_error(name):
        return [error]
    revision = f"{name}-{_last(replicas)}-{_REVISION_HASH}"
    return _found([_derived("controller-revision-hash label", revision, label_value_error)])


def budget_lws(replicas: int = 1) -> int:
    """The longest name of a LeaderWorkerSet: 50 for up to 10 groups."""
    return LABEL_MAX - 2 - len(_last(replicas)) - len(_REVISION_HASH)


def volcano_job_name_errors(job: str, tasks: Iterable[tuple[str, int]], service: bool = False) -> list[str]:
    """What breaks for a Volcano Job with `tasks` of (name, replicas).

    `service`: it has the plugin svc, or one that brings it (pytorch, mpi, tensorflow, ray); then the Job's name is a
    Service's and its pods' names are hostnames. Volcano v1.15.1 checks the task's index in place of the replica's
    (`pkg/webhooks/admission/jobs/validate`), so that higher replicas fail only when their pods are created.
    """
    if service and dns1035_label_error(job):
        return [_derived("Service", job, dns1035_label_error)]
    shape = dns1123_label_error if service else dns1123_subdomain_error
    errors = [label_value_error(job)] if job else ["it is empty"]
    for index, (task, replicas) in enumerate(tasks):
        number = max(_last(replicas), str(index), key=len)
        errors.append(_derived("pod", f"{job}-{task}-{number}", shape))
    return _found(errors)


def budget_volcano_job(tasks: Iterable[tuple[str, int]]) -> int:
    """The longest name of a Volcano Job with `tasks` of (name, replicas)."""
    around = [len(task) + 2 + max(len(str(index)), len(_last(count))) for index, (task, count) in enumerate(tasks)]
    return LABEL_MAX - max(around, default=0)


def _pods(job: str, num_nodes: int) -> int:
    return num_nodes if job == TRAINER_JOB else 1


def _last(count: int) -> str:
    return str(max(count - 1, 0))


def _derived(what: str, name: str, error_of: Callable[[str], str]) -> str:
    over = len(name) - LABEL_MAX
    if over > 0:
        return f'its {what} "{name}" has {len(name)} characters, {over} more than the {LABEL_MAX} allowed'
    error = error_of(name)
    return f"its {what} {error}" if error else ""


def _found(errors: Iterable[str]) -> list[str]:
    return [error for error in errors if error]
