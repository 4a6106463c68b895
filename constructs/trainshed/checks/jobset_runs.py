"""JobSets that are accepted and then hang, restart out of step, or lose their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, mapping, mappings, text, whole
from trainshed.fleet.addresses import name_of
from trainshed.fleet.commands import command_words
from trainshed.fleet.document import Document
from trainshed.fleet.pod_environment import environment
from trainshed.fleet.runs import Run
from trainshed.fleet.words import literal
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "jobset"
_SERVERS: Final = frozenset({"sshd", "nginx", "redis-server", "etcd", "sleep infinity", "tail -f /dev/null"})
_STEPS: Final = ("dataset-initializer", "model-initializer")
_ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"


def _sets(fleet: Fleet) -> Iterator[Run]:
    """JobSets, TrainJobs' among them, and runtimes."""
    for run in fleet.runs:
        if run.workload.form == "JobSet":
            yield run


@rule("jobset-subdomain-shared", severity="error", family=FAMILY, targets=("jobset",))
def subdomain_shared(fleet: Fleet) -> Iterator[Issue]:
    """Two JobSets of one namespace have the same subdomain.

    Why: The headless Service of that name belongs to the JobSet that came first and selects its pods alone: the other's
    names do not resolve, and the Service goes with its owner.
    Fix: Give each JobSet a subdomain of its own; without one it is the JobSet's name.
    """
    first: dict[tuple[str | None, str], Document] = {}
    for run in _sets(fleet):
        workload = run.workload
        network = mapping(workload.manifest, "spec", "network")
        name = text(network, "subdomain") or name_of(workload)
        if not run.named or not name or network.get("enableDNSHostnames") is False or workload.document.generated:
            continue
        other = first.setdefault((workload.namespace, name), workload.document)
        if other is not workload.document and other.identity != workload.document.identity:
            document, path = workload.document, (*workload.path, "spec", "network", "subdomain")
            if workload.runtime:
                document, path = workload.runtime, ("spec", "template", "spec", "network", "subdomain")
            message = f'the subdomain "{name}" is also that of {other.kind} "{other.name}", which owns the Service'
            related = (("the other", other, ("metadata", "name")),)
            if not document.has(path):
                document, path = workload.document, ("metadata", "name")
            yield Issue(document, path, message, "give each a subdomain of its own", None, related)


@rule("jobset-restart-policy", severity="info", family=FAMILY, targets=("jobset",))
def restart_policy(fleet: Fleet) -> Iterator[Issue]:
    """Pods of one world restart by themselves.

    Why: JobSet's webhook writes `restartPolicy: OnFailure` where none is written: a failed container starts again in
    its pod while its peers are still in the old rendezvous, up to backoffLimit (6) times.
    Fix: Write `restartPolicy: Never`, and let the JobSet restart all of them.
    """
    for run in _sets(fleet):
        for pod_set in _worlds(run):
            if "restartPolicy" not in pod_set.spec:
                message = "restartPolicy is not written, so it is OnFailure: containers restart without their peers"
                yield issue(pod_set, ("spec",), message, "write restartPolicy: Never")


def _worlds(run: Run) -> Iterator[PodSet]:
    """The pod sets whose pods are one world of torchrun."""
    found = {id(member.pod_set): member for member in run.torch}
    for member in found.values():
        if run.spread and member.nodes and member.nodes[1] > 1:
            yield member.pod_set


@rule("jobset-replacement-hangs", severity="warning", family=FAMILY, targets=("jobset",))
def replacement_hangs(fleet: Fleet) -> Iterator[Issue]:
    """A JobSet that restarts its gang does not notice that a pod was evicted.

    Why: With backoffLimit 0 a failed pod fails the Job, and the JobSet restarts all. But a pod that is being deleted (a
    drain) gets its replacement at once and counts as failed only later: the peers hang (jobset#574). With
    `podReplacementPolicy: Failed` the Job waits, fails, and is restarted.
    Fix: Write `podReplacementPolicy: Failed`.
    """
    for run in _sets(fleet):
        restarts = whole(run.workload.manifest, "spec", "failurePolicy", "maxRestarts") or 0
        for pod_set in _worlds(run):
            job = pod_set.job
            replaced = job.get("podReplacementPolicy") in (None, "", "TerminatingOrFailed")
            if job.get("backoffLimit") == 0 and replaced and not job.get("podFailurePolicy"):
                message = "backoffLimit is 0 without podReplacementPolicy: Failed, so peers of an evicted pod hang"
                written = "podReplacementPolicy" in job
                path = (*pod_set.job_path, "podReplacementPolicy" if written else "backoffLimit")
                fix = f"{'write' if written else 'add'} podReplacementPolicy: Failed"
                yield Issue(pod_set.document, path, message, fix, None if restarts > 0 else "info")


@rule("jobset-waits-for-server", severity="error", family=FAMILY, targets=("jobset",))
def waits_for_server(fleet: Fleet) -> Iterator[Issue]:
    """A job waits for the end of one that never ends.

    Why: `dependsOn` with the status Complete waits until the other job has completed. A server or a sleeping container
    never does, and the job is never made. Ready on a job that ends, such as an initializer, does not wait for its end:
    it counts as soon as the pods are ready, or have failed.
    Fix: Wait for Ready with servers, for Complete with steps.
    """
    for run in _sets(fleet):
        pod_sets = {text(item.item, "name"): item for item in run.workload.pod_sets}
        for pod_set in run.workload.pod_sets:
            for index, needed in mappings(pod_set.item, "dependsOn"):
                other = pod_sets.get(text(needed, "name"))
                if other is None or other is pod_set:
                    continue
                at = (*pod_set.item_path, "dependsOn", index, "status")
                status = needed.get("status")
                server = _server(fleet, run, other)
                if status == "Complete" and server:
                    message = f'it waits until "{needed["name"]}" is complete, which runs {server} and never ends'
                    yield Issue(pod_set.document, at, message, "write status: Ready")
                step = dig(other.item, "template", "metadata", "labels", _ANCESTOR)
                if status == "Ready" and step in _STEPS:
                    message = f'it starts as soon as "{needed["name"]}" is ready, not when its data are there'
                    yield Issue(pod_set.document, at, message, "write status: Complete", "warning")


def _server(fleet: Fleet, run: Run, pod_set: PodSet) -> str:
    """The program of the first container where it is one that runs for ever."""
    for path, container in pod_set.containers[:1]:
        made = environment(fleet, run.workload, pod_set, path, container)
        words = [literal(word) or "" for word, _ in command_words(container, path, made)[0]]
        if words:
            words[0] = words[0].rpartition("/")[2]
            line = " ".join(words)
            return next((name for name in _SERVERS if name in (words[0], line)), "")
    return ""
