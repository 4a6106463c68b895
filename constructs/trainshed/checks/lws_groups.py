"""LeaderWorkerSets: what its webhook refuses, and what it does not see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import items, mapping, strings, text, whole
from trainshed.fleet.addresses import readiness
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import Member, Run
from trainshed.naming_budgets import budget_lws, lws_name_errors

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "leaderworkerset"
LWS: Final = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
_GROUP: Final[Path] = ("spec", "leaderWorkerTemplate")
_SUBGROUP_TOPOLOGY: Final = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
_MOST: Final = 1_000_000


@rule("lws-name-too-long", severity="error", family=FAMILY)
def name_too_long(fleet: Fleet) -> Iterator[Issue]:
    """The worker pods of a LeaderWorkerSet cannot be made.

    Why: The workers' StatefulSet `<lws>-<group>` labels its pods with its name and a hash of 10 characters, at most 63
    in all: up to 50 characters for the name with at most 10 groups. Nothing at admission says so; no worker pod ever
    appears (lws#410).
    Fix: Shorten the name.
    """
    for document in fleet.of(LWS):
        if document.generated or not document.name:
            continue
        groups = whole(document.manifest, "spec", "replicas")
        for error in lws_name_errors(document.name, 1 if groups is None else groups):
            most = budget_lws(1 if groups is None else groups)
            fix = f"shorten the name to {most} characters" if most < len(document.name) else "correct the name"
            yield Issue(document, ("metadata", "name"), error, fix)


@rule("lws-sizes", severity="error", family=FAMILY)
def sizes(fleet: Fleet) -> Iterator[Issue]:
    """The numbers of a LeaderWorkerSet do not go together.

    Why: LWS's webhook (v0.10) wants 0 to 1,000,000 replicas, a size of at least 1, and subgroups that divide the size
    or the size less the leader; annotations of subgroups need a subGroupPolicy.
    Fix: Correct the number.
    """
    for document in fleet.of(LWS):
        groups, size = whole(document.manifest, "spec", "replicas"), whole(document.manifest, *_GROUP, "size")
        if groups is not None and not 0 <= groups <= _MOST:
            yield Issue(document, ("spec", "replicas"), f"replicas is {groups}", f"write a number from 0 to {_MOST}")
        if size is not None and size < 1:
            yield Issue(document, (*_GROUP, "size"), f"size is {size}", "write 1 or more: the leader counts")
        yield from _subgroups(document, 1 if size is None else size)


def _subgroups(document: Document, size: int) -> Iterator[Issue]:
    policy = mapping(document.manifest, *_GROUP).get("subGroupPolicy")
    if policy is None:
        if _SUBGROUP_TOPOLOGY in strings(document.manifest, "metadata", "annotations"):
            key = ("metadata", "annotations", _SUBGROUP_TOPOLOGY)
            message = "exclusive placement of subgroups needs spec.leaderWorkerTemplate.subGroupPolicy"
            yield Issue(document, key, message, "add subGroupPolicy, or remove the annotation")
        return
    at = (*_GROUP, "subGroupPolicy", "subGroupSize")
    part = whole(policy, "subGroupSize")
    if part is None:
        yield Issue(document, at, "subGroupPolicy has no subGroupSize, on which the webhook fails", "add subGroupSize")
        return
    apart = text(policy, "subGroupPolicyType") == "LeaderExcluded"
    if part < 1 or part > size:
        yield Issue(document, at, f"subGroupSize is {part}, and a group has {size} pods", f"write 1 to {size}")
    elif (apart or size % part) and (size - 1) % part:
        of = f"{size - 1} workers" if apart else f"{size} pods, nor the {size - 1} without the leader"
        yield Issue(document, at, f"subGroupSize is {part}, which does not divide {of}", "write a number that does")


@rule("lws-restart-policy", severity="error", family=FAMILY)
def restart_policy(fleet: Fleet) -> Iterator[Issue]:
    """A pod template of a LeaderWorkerSet has a restartPolicy that StatefulSets refuse.

    Why: LWS makes StatefulSets, whose pods restart always. The LeaderWorkerSet is accepted, its StatefulSets are not. A
    program that ends, a training for instance, is started again after success: use a JobSet for it.
    Fix: Remove restartPolicy; for work that ends use a JobSet or a TrainJob.
    """
    for run in _groups(fleet):
        for pod_set in run.workload.pod_sets:
            policy = text(pod_set.spec, "restartPolicy")
            if policy not in ("", "Always"):
                message = f"restartPolicy is {policy}, and the StatefulSets that LWS makes take only Always"
                yield issue(pod_set, ("spec", "restartPolicy"), message, "remove restartPolicy, or use a JobSet")


def _groups(fleet: Fleet) -> Iterator[Run]:
    for run in fleet.runs:
        if run.workload.form == "LeaderWorkerSet":
            yield run


def _waits(member: Member) -> bool:
    """Whether a server (SGLang) is told of several nodes: it answers its probe when all of them have joined."""
    words = [item for field in ("command", "args") for item in items(member.container, field) if isinstance(item, str)]
    return any("--dist-init-addr" in word for word in words) and any("--nnodes" in word for word in words)


@rule("lws-leader-waits-for-workers", severity="error", family=FAMILY)
def leader_waits(fleet: Fleet) -> Iterator[Issue]:
    """The leader gets ready only with its workers, which are made only when it is ready.

    Why: With `startupPolicy: LeaderReady` LWS makes the workers after the leader is ready. A leader that meets its
    workers first (torchrun with several nodes) and has a readiness probe never gets there.
    Fix: Write `startupPolicy: LeaderCreated`.
    """
    for run in _groups(fleet):
        if text(run.workload.manifest, "spec", "startupPolicy") != "LeaderReady" or not run.spread:
            continue
        for member in run.members:
            probe = readiness(member.pod_set)
            torch = member.launch.kind == "torchrun" and (member.nodes is None or member.nodes[1] > 1)
            if member.pod_set.name != "worker" and probe and (torch or _waits(member)):
                who = "torchrun" if torch else "the server"
                message = f"the workers are made when the leader is ready, and {who} on the leader waits for them"
                written, at = member.pod_set.at(probe)
                related = (("the leader's probe", written, at),)
                path = (*run.workload.path, "spec", "startupPolicy")
                fix = "write startupPolicy: LeaderCreated"
                yield Issue(run.workload.document, path, message, fix, None, related)
                break
