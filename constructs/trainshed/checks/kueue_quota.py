"""Quota and workloads: is every request covered, and can the quota that is reachable ever hold it?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.kueue_common import (
    elsewhere,
    place_in,
    request_path,
)
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.kueue_feasibility import (
    Blocked,
    Feasibility,
    feasibilities,
    reach_text,
    refusal_lines,
)
from trainshed.fleet.kueue_match import UNCONSTRAINED, wants_topology
from trainshed.fleet.kueue_quota import shown
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue quota"


@rule("kueue-uncovered-resource", severity="error", family=_FAMILY, targets=("kueue",))
def uncovered_resource(fleet: Fleet) -> Iterator[Issue]:
    """A workload requests a resource that its ClusterQueue does not cover.

    Why: Kueue looks every requested resource up in the ClusterQueue's resourceGroups. One that no group covers makes
    the assignment of flavors fail, however much quota the others have. Requests that a LimitRange adds count too.

    Fix: Cover the resource with a quota on every flavor of a group, or drop the request. With the manager's setting
    `resources.quotaCheckStrategy: IgnoreUndeclared` (Kueue 0.19) uncovered resources are let through.
    """
    for answer in feasibilities(fleet):
        told: set[str] = set()
        for pod_set, resource in answer.uncovered:
            if resource not in told and answer.queue.groups:
                told.add(resource)
                yield _uncovered(fleet, answer, pod_set, resource)


def _uncovered(fleet: Fleet, answer: Feasibility, pod_set: PodSet, resource: str) -> Issue:
    path, written = request_path(pod_set, resource)
    document, where = place_in(answer.workload, pod_set, path)
    queue, local = answer.queue, answer.local_queue.document.name
    covered = ", ".join(sorted(queue.covered)) or "nothing"
    excluded = fleet.kueue.config
    inputs = [name for name, change in excluded.transformations.items() if resource in change.outputs]
    origin = "" if written else " (added by a LimitRange, a RuntimeClass or the kind's controller)"
    if inputs and not written:
        origin = f" (which the manager's resources.transformations make of {', '.join(sorted(inputs))})"
    hint = "" if excluded.known else ", unless the manager's settings exclude it"
    message = (
        f"requests {resource}{origin}, which ClusterQueue {queue.name} (LocalQueue {local}) does not cover: "
        f"it covers {covered}; the workload is never admitted{hint if not written else ''}"
    )
    fix = f'add "{resource}" to coveredResources with a quota on every flavor of that group, or drop the request'
    related = (("the ClusterQueue", queue.doc, ("spec", "resourceGroups")), *elsewhere(answer.workload, pod_set, path))
    return Issue(document, where, message, fix, related=related)


@rule("kueue-never-admitted", severity="error", family=_FAMILY, targets=("kueue",))
def never_admitted(fleet: Fleet) -> Iterator[Issue]:
    """A workload needs more than its ClusterQueue could ever reach, everybody else idle.

    Why: What a ClusterQueue can reach is its nominalQuota and what it may borrow: up to its borrowingLimit, and never
    more than the cohorts above lend. A workload beyond that on every flavor waits for ever; with StrictFIFO it blocks
    all behind it. A gang is admitted as a whole, so all its pods count together.

    Fix: Ask for less, or raise nominalQuota or borrowingLimit.
    """
    for answer in feasibilities(fleet):
        if answer.queue.dropped:
            continue
        for blocked in answer.blocked:
            if any(refusal.reason == "quota" for refusal in blocked.refusals):
                yield _beyond(answer, blocked)
        if answer.exceeded:
            yield _sum_beyond(answer)


def _beyond(answer: Feasibility, blocked: Blocked) -> Issue:
    resource = next(refusal.resource for refusal in blocked.refusals if refusal.reason == "quota")
    part = blocked.part
    pod_set = part.pod_sets[0]
    path, _ = request_path(pod_set, resource)
    document, where = place_in(answer.workload, pod_set, path)
    each = shown(resource, part.per_pod.get(resource, 0))
    pods = f" ({part.count} pods x {each})" if part.count > 1 and len(part.pod_sets) == 1 and resource != "pods" else ""
    unit = " of each of its groups" if answer.workload.units > 1 and answer.workload.form == "LeaderWorkerSet" else ""
    message = f"is never admitted: pod set {part.name}{unit}{pods} {refusal_lines(blocked)}"
    fix = "ask for less, or raise the ClusterQueue's nominalQuota or what it may borrow"
    if any(refusal.reason == "topology" for refusal in blocked.refusals) and not wants_topology(pod_set):
        # One flavor is too small, another takes only pods that ask for a topology: that is the nearer remedy.
        fix = f"request a topology ({UNCONSTRAINED} or a level), or {fix}"
    related = (("the ClusterQueue", answer.queue.doc, blocked.group.path), *elsewhere(answer.workload, pod_set, path))
    return Issue(document, where, message, fix, related=related)


def _sum_beyond(answer: Feasibility) -> Issue:
    # With devices among them the finding speaks of those: that is the number people think in.
    resource, asked, reach = next((one for one in answer.exceeded if "/" in one[0]), answer.exceeded[0])
    others = "".join(
        f"; of {name}, {shown(name, wanted)} against {shown(name, most)}"
        for name, wanted, most in answer.exceeded
        if name != resource
    )
    pod_set = next(part.pod_sets[0] for part in answer.parts if part.requests.get(resource))
    path, _ = request_path(pod_set, resource)
    document, where = place_in(answer.workload, pod_set, path)
    summands = " + ".join(
        f"{shown(resource, part.requests[resource])} for {part.name}"
        for part in answer.parts
        if part.requests.get(resource)
    )
    flavors = answer.queue.covered[resource].flavors
    how = "; ".join(f"{flavor}: {reach_text(answer.queue, (flavor, resource))}" for flavor in flavors[:4])
    message = (
        f"is never admitted: needs {shown(resource, asked)} of {resource} ({summands}), ClusterQueue "
        f"{answer.queue.name} can reach a quota of {shown(resource, reach)} ({how}){others}"
    )
    fix = "ask for less, or raise the ClusterQueue's nominalQuota or what it may borrow"
    related = (("the ClusterQueue", answer.queue.doc, answer.queue.covered[resource].path),)
    return Issue(document, where, message, fix, related=related)
