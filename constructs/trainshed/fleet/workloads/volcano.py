"""Volcano's Job, CronJob, JobTemplate and JobFlow."""

from __future__ import annotations

from trainshed.fleet.access import Node, mappings, strings, text
from trainshed.fleet.workload import PodSet, Workload
from trainshed.fleet.workloads.at import At, counted


def volcano_job(at: At) -> Workload:
    """A Volcano Job: one pod set for each task; one without a name is called `default<index>` (schedulers.md 3.1)."""
    tasks = mappings(at.manifest, "spec", "tasks")
    return at.workload("Job", [_task(at, index, task) for index, task in tasks])


def _task(at: At, index: int, task: Node) -> PodSet:
    place = ("spec", "tasks", index)
    return at.pod_set(
        text(task, "name") or f"default{index}",
        counted(task, "replicas", 0),
        *place,
        "template",
        count_path=(*place, "replicas"),
        item=task,
        item_path=at.path + place,
    )


def volcano_cron_job(at: At) -> Workload:
    """A Volcano CronJob is judged as the Job that it makes."""
    return volcano_job(at.inside("spec", "jobTemplate"))


def job_flow(at: At) -> Workload:
    """A JobFlow: the JobTemplates of its flows in the same namespace, as far as they are in the input."""
    parts: list[Workload] = []
    known = True
    for _, flow in mappings(at.manifest, "spec", "flows"):
        name = text(flow, "name")
        template = at.fleet.namespaces.find("flow.volcano.sh", "JobTemplate", at.namespace, name)
        if template is None or not template.judged:
            known = False
            continue
        parts.append(volcano_job(At(at.fleet, template, template.manifest)))
        known = known and not isinstance(flow.get("patch"), dict)
    pod_sets = [pod_set for part in parts for pod_set in part.pod_sets]
    workload = at.workload("JobFlow", pod_sets, parts=parts, parts_known=known)
    workload.labels = strings(at.manifest, "metadata", "labels")
    return workload
