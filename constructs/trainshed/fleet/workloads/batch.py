"""batch/v1 Job and CronJob, and JobSet."""

from __future__ import annotations

from trainshed.fleet.access import Node, mapping, mappings, text, whole
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.workloads.at import At, counted


def job_pods(spec: Node) -> tuple[int, str]:
    """How many pods a JobSpec runs at once, and the field that says so: parallelism, or fewer completions (kueue.md
    5.3: `pkg/controller/jobs/job`, v0.19)."""
    parallelism = counted(spec, "parallelism")
    completions = whole(spec, "completions")
    if completions is not None and completions < parallelism:
        return max(completions, 0), "completions"
    return parallelism, "parallelism"


def job(at: At) -> Workload:
    """A Job: one pod set `main`."""
    spec = mapping(at.manifest, "spec")
    count, field = job_pods(spec)
    place = (*at.path, "spec")
    pod_set = at.pod_set(
        "main",
        count,
        "spec",
        "template",
        count_path=("spec", field),
        item=spec,
        item_path=place,
        job=spec,
        job_path=place,
    )
    return at.workload("Job", [pod_set])


def cron_job(at: At) -> Workload:
    """A CronJob is judged as the Job that it makes; Kueue reads the job template's labels."""
    return job(at.inside("spec", "jobTemplate"))


def job_set(at: At) -> Workload:
    """A JobSet: one pod set for each replicatedJob."""
    jobs = mappings(at.manifest, "spec", "replicatedJobs")
    return at.workload("JobSet", [replicated_job(at, index, item) for index, item in jobs])


def replicated_job(at: At, index: int, item: Node) -> PodSet:
    """The pod set of one replicatedJob: replicas times min(parallelism, completions), its name in lower case."""
    place: Path = ("spec", "replicatedJobs", index)
    spec = mapping(item, "template", "spec")
    each, field = job_pods(spec)
    replicas = counted(item, "replicas")
    count_path: Path = ("replicas",) if replicas != 1 and each <= 1 else ("template", "spec", field)
    return at.pod_set(
        text(item, "name").lower(),
        replicas * each,
        *place,
        "template",
        "spec",
        "template",
        count_path=(*place, *count_path),
        item=item,
        item_path=at.path + place,
        job=spec,
        job_path=(*at.path, *place, "template", "spec"),
        replicas=replicas,
    )
