"""Runtimes that do not do what a TrainJob asks of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.checks.trainer_common import ANCESTOR, STEPS, Job, jobs, policy_of, runtimes, train_jobs, users
from trainshed.fleet.access import dig, mapping, strings, text
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "trainer"
_ADDRESSED: Final = ("torch", "jax", "xgboost")


@rule("trainer-ancestor-label", severity="error", family=FAMILY, targets=("trainer",))
def ancestor_label(fleet: Fleet) -> Iterator[Issue]:
    """A runtime has no job that Trainer takes for the training job.

    Why: Trainer puts image, command, env, resources and numNodes into the replicatedJob whose Job template has the
    label `trainer.kubeflow.org/trainjob-ancestor-step: trainer`. Without it they are ignored, and nobody is told: one
    pod runs what the runtime says.
    Fix: Add the label to `replicatedJobs[].template.metadata.labels` (the Job's template, not the pod's).
    """
    using = users(fleet)
    for runtime in runtimes(fleet):
        found = jobs(runtime)
        for job in found:
            if job.step and job.step not in STEPS:
                near = near_miss(job.step, STEPS) or "trainer"
                message = f'"{job.step}" is not a step that Trainer knows, so the label {ANCESTOR} says nothing'
                at = (*job.path, "template", "metadata", "labels", ANCESTOR)
                yield Issue(runtime, at, message, f"write {near}")
        if not found or any(job.step == "trainer" or near_miss(job.step, ["trainer"]) for job in found):
            continue
        asking = [job for job in using.get(id(runtime), []) if mapping(job.manifest, "spec", "trainer")]
        if not policy_of(runtime) and not asking:
            continue
        job = next((job for job in found if job.name in ("node", "launcher")), found[-1])
        message = f"no job has {ANCESTOR}: trainer on its template, so what a TrainJob says in spec.trainer is ignored"
        if place := _misplaced(job):
            message += f"; the label on {place} does not count"
        related = (("a TrainJob that says something", asking[0], ("spec", "trainer")),) if asking else ()
        at = (*job.path, "template", "metadata", "labels")
        yield Issue(runtime, at, message, f"add {ANCESTOR}: trainer to template.metadata.labels", None, related)


def _misplaced(job: Job) -> str:
    if ANCESTOR in strings(job.item, "template", "spec", "template", "metadata", "labels"):
        return "the pod template"
    if ANCESTOR in strings(job.item, "template", "metadata", "annotations"):
        return "annotations"
    return "the replicatedJob" if ANCESTOR in strings(job.item, "metadata", "labels") else ""


@rule("trainer-address", severity="error", family=FAMILY, targets=("trainer",))
def address(fleet: Fleet) -> Iterator[Issue]:
    """The address that Trainer gives the processes of a TrainJob names no pod of it.

    Why: Trainer always writes `<trainjob>-node-0-0.<trainjob>`, whatever the runtime says: the job must be called
    `node`, and the JobSet's network must keep its default subdomain and host names. Otherwise all nodes wait for a
    name that does not resolve, and fail after 10 minutes.
    Fix: Call the job `node`; remove `network.subdomain` and `enableDNSHostnames: false`.
    """
    for runtime in runtimes(fleet):
        if policy_of(runtime) not in _ADDRESSED:
            continue
        for job in jobs(runtime):
            if job.step == "trainer" and job.name != "node":
                message = f'the training job is called "{job.name}", and the address is <trainjob>-node-0-0.<trainjob>'
                yield Issue(runtime, (*job.path, "name"), message, "call it node")
        network = mapping(runtime.manifest, "spec", "template", "spec", "network")
        at = ("spec", "template", "spec", "network")
        if text(network, "subdomain"):
            message = (
                f'the subdomain is "{text(network, "subdomain")}", and the address is <trainjob>-node-0-0.<trainjob>'
            )
            yield Issue(runtime, (*at, "subdomain"), message, "remove subdomain")
        if network.get("enableDNSHostnames") is False:
            message = "host names are off, and the processes meet at <trainjob>-node-0-0.<trainjob>"
            yield Issue(runtime, (*at, "enableDNSHostnames"), message, "remove enableDNSHostnames: false")


@rule("trainer-no-ml-policy", severity="error", family=FAMILY, targets=("trainer",))
def no_ml_policy(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob sets numbers that a runtime without mlPolicy drops.

    Why: Without `mlPolicy` Trainer ignores numNodes, numProcPerNode and resourcesPerNode, and injects no variables; no
    error, one pod.
    Fix: Add mlPolicy to the runtime.
    """
    for workload, runtime in train_jobs(fleet):
        if runtime is None or policy_of(runtime):
            continue
        for field in ("numNodes", "numProcPerNode", "resourcesPerNode"):
            if dig(workload.document.manifest, "spec", "trainer", field) is not None:
                message = f'{field} is dropped: {runtime.kind} "{runtime.name}" has no mlPolicy'
                related = (("the runtime", runtime, ("spec",)),)
                at = ("spec", "trainer", field)
                yield Issue(workload.document, at, message, "add mlPolicy to the runtime", None, related)
