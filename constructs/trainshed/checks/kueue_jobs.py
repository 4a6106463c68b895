"""Jobs that Kueue's webhooks refuse, or that ask for what their kind cannot have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import is_live, under_argocd
from trainshed.checks.kueue_common import managed_workloads, queue_path
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, mapping, mappings, text, whole
from trainshed.fleet.kueue_requests import MIN_PARALLELISM
from trainshed.fleet.kueue_tree import KUEUE
from trainshed.fleet.workload import Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue jobs"
EQUAL: Final = f"{KUEUE}/job-completions-equal-parallelism"
MAX_TIME: Final = f"{KUEUE}/max-exec-time-seconds"
ELASTIC: Final = f"{KUEUE}/elastic-job"
_MOST_POD_SETS: Final = 18
_ELASTIC_KINDS: Final = ("Job", "CronJob", "RayCluster", "RayJob", "RayService")


def _number(value: str) -> int | None:
    digits = value.removeprefix("-")
    return int(value) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None


@rule("kueue-partial-admission", severity="error", family=_FAMILY, targets=("kueue",))
def partial_admission(fleet: Fleet) -> Iterator[Issue]:
    """`job-min-parallelism` or `job-completions-equal-parallelism` asks for what is refused or not there.

    Why: Only batch/v1 Jobs can be admitted with fewer pods; on other kinds the annotations have no effect. The least
    parallelism must be a number from 1 and below the number of pods; completions follow the parallelism only of
    Indexed Jobs that have as many completions. The webhook refuses the rest (`pkg/controller/jobs/job`).

    Fix: Write a smaller number, or `completionMode: Indexed` with completions equal to parallelism.
    """
    for workload in managed_workloads(fleet):
        for key in (MIN_PARALLELISM, EQUAL):
            if key not in workload.annotations:
                continue
            if workload.form != "Job" or workload.document.group != "batch":
                message = f"{key} has no effect on a {workload.kind}: only a batch/v1 Job is admitted in part"
                yield Issue(workload.document, (*workload.annotations_path, key), message, "leave it out")
                continue
            wrong = _least(workload) if key == MIN_PARALLELISM else _equal(workload)
            if wrong:
                yield Issue(workload.document, (*workload.annotations_path, key), *wrong)


def _least(workload: Workload) -> tuple[str, str] | None:
    written = workload.annotations[MIN_PARALLELISM]
    least, pods = _number(written), workload.pods
    if least is None or least < 1:
        return f'job-min-parallelism is "{written}", not a number from 1: the webhook refuses the Job', (
            f"write a number from 1 to {max(pods - 1, 1)}"
        )
    if least >= pods:
        message = f"job-min-parallelism is {least}, and the Job runs {pods} pods: the webhook wants fewer"
        return message, f"write a number from 1 to {pods - 1}" if pods > 1 else "leave it out"
    return None


def _equal(workload: Workload) -> tuple[str, str] | None:
    written = workload.annotations[EQUAL]
    if written.lower() in ("false", "0", "f"):
        return None
    if written.lower() not in ("true", "1", "t"):
        return f'job-completions-equal-parallelism is "{written}", not a boolean', 'write "true"'
    spec = mapping(workload.manifest, "spec")
    if text(spec, "completionMode") != "Indexed":
        message = "job-completions-equal-parallelism needs completionMode Indexed: the webhook refuses the Job"
        return message, 'write completionMode: "Indexed", or leave the annotation out'
    parallelism, completions = whole(spec, "parallelism") or 1, whole(spec, "completions")
    if completions != parallelism:
        message = (
            f"job-completions-equal-parallelism needs completions equal to parallelism, and they are {completions} and "
            f"{parallelism}"
        )
        return message, f"write completions: {parallelism}"
    return None


@rule("kueue-max-exec-time", severity="error", family=_FAMILY, targets=("kueue",))
def max_exec_time(fleet: Fleet) -> Iterator[Issue]:
    """The label `max-exec-time-seconds` is not a positive number.

    Why: The webhook refuses the job (rule J2, `pkg/controller/jobframework/validation.go`). The value is in seconds.

    Fix: Write whole seconds.
    """
    for workload in managed_workloads(fleet):
        written = workload.labels.get(MAX_TIME)
        if written is not None and (_number(written) or 0) < 1:
            message = f'max-exec-time-seconds is "{written}", not a number of seconds from 1: the webhook refuses it'
            yield Issue(workload.document, (*workload.labels_path, MAX_TIME), message, 'write seconds such as "7200"')


@rule("kueue-elastic-kind", severity="error", family=_FAMILY, targets=("kueue",))
def elastic_kind(fleet: Fleet) -> Iterator[Issue]:
    """The annotation `elastic-job` stands on a kind that cannot be elastic.

    Why: Only Job, RayCluster, RayJob and RayService can; the webhook refuses others (rule J4).

    Fix: Leave the annotation out.
    """
    for workload in managed_workloads(fleet):
        if workload.annotations.get(ELASTIC, "false") == "true" and workload.kind not in _ELASTIC_KINDS:
            message = f"elastic-job is not for a {workload.kind}: the webhook refuses it"
            yield Issue(workload.document, (*workload.annotations_path, ELASTIC), message, "leave it out")


@rule("kueue-too-many-pod-sets", severity="error", family=_FAMILY, targets=("kueue",))
def too_many_pod_sets(fleet: Fleet) -> Iterator[Issue]:
    """A workload has more than 18 pod sets.

    Why: A Workload holds 18 pod sets at most (10 before Kueue 0.19). For a JobSet with more replicatedJobs nothing is
    refused: no Workload can be made and it stays suspended.

    Fix: Join replicatedJobs that differ only in number, or split the run.
    """
    for workload in managed_workloads(fleet):
        count = len(workload.pod_sets)
        if count > _MOST_POD_SETS and workload.queue_name and workload.kind != "Pod":
            message = f"has {count} pod sets, and a Kueue Workload holds {_MOST_POD_SETS}: it stays suspended"
            yield Issue(workload.document, queue_path(workload), message, "join pod sets, or split the run")


@rule("kueue-ray-refused", severity="error", family=_FAMILY, targets=("kueue",))
def ray_refused(fleet: Fleet) -> Iterator[Issue]:
    """A queued RayJob or RayCluster has a setting that Kueue's webhook refuses.

    Why: A RayJob must end with its cluster (`shutdownAfterJobFinishes: true`) and bring it along (`rayClusterSpec`, no
    `clusterSelector`); autoscaling needs an elastic job (`pkg/controller/jobs/rayjob`, `raycluster`).

    Fix: Change the field named.
    """
    for workload in managed_workloads(fleet):
        if workload.document.group != "ray.io" or not workload.queue_name:
            continue
        spec = mapping(workload.document.manifest, "spec")
        document = workload.document
        cluster = ("spec", "rayClusterSpec") if workload.kind == "RayJob" else ("spec",)
        if workload.kind == "RayJob":
            if spec.get("clusterSelector"):
                message = "clusterSelector is refused for a queued RayJob: Kueue has to start the cluster"
                yield Issue(document, ("spec", "clusterSelector"), message, "write rayClusterSpec instead")
            elif spec.get("shutdownAfterJobFinishes") is not True:
                message = "shutdownAfterJobFinishes is not true: Kueue's webhook refuses the RayJob"
                fix = "write shutdownAfterJobFinishes: true"
                yield Issue(document, ("spec", "shutdownAfterJobFinishes"), message, fix)
        scaled = dig(document.manifest, *cluster, "enableInTreeAutoscaling") is True
        if scaled and workload.kind != "RayService" and workload.annotations.get(ELASTIC) != "true":
            message = "enableInTreeAutoscaling is refused while the job is queued and not elastic"
            fix = f'leave it out, or add annotation {ELASTIC}: "true"'
            yield Issue(document, (*cluster, "enableInTreeAutoscaling"), message, fix)
        for index, group in mappings(document.manifest, *cluster, "workerGroupSpecs"):
            if text(group, "groupName") == "head":
                path = (*cluster, "workerGroupSpecs", index, "groupName")
                yield Issue(document, path, 'a worker group may not be called "head"', "give it another name")


@rule("kueue-suspend-in-git", severity="info", family=_FAMILY, targets=("kueue",))
def suspend_in_git(fleet: Fleet) -> Iterator[Issue]:
    """A queued job's manifest has `suspend`.

    Why: Kueue's webhook suspends the job and its controller resumes it. With `suspend` in Git a GitOps tool that heals
    itself suspends running training and Kueue resumes it, for ever. A warning where the input shows Argo CD.

    Fix: Leave `suspend` out.
    """
    argocd = under_argocd(fleet) if fleet.workloads else False
    for workload in managed_workloads(fleet):
        if not workload.queue_name or is_live(workload.document):
            continue
        inside = "jobTemplate" if workload.kind == "CronJob" else ""
        start = ("spec", inside, "spec") if inside else ("spec",)
        for path in ((*start, "suspend"), (*start, "runPolicy", "suspend")):
            value = dig(workload.document.manifest, *path)
            if isinstance(value, bool):
                yield Issue(
                    workload.document,
                    path,
                    f"suspend is {str(value).lower()} in Git, and Kueue sets it: each sync writes it back",
                    "leave suspend out: Kueue's webhook suspends the job by itself",
                    "warning" if argocd else None,
                )
