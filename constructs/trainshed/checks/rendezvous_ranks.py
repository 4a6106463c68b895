"""What the nodes of a run must share, and what they must not: its id and each node's rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.launchers import Option
from trainshed.fleet.pod_environment import INDEX_PATHS
from trainshed.fleet.runs import Member, Run
from trainshed.fleet.words import literal, number, own_to_pod, refs, shown

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"
_JOB_INDEX: Final = ("jobset.sigs.k8s.io/job-index", "jobset.sigs.k8s.io/job-global-index")
_TASK_INDEX: Final = ("VC_TASK_INDEX", "VK_TASK_INDEX")


def _several(run: Run) -> Iterator[Member]:
    """torchrun's nodes of a world of several pods."""
    for member in run.torch if run.named and run.spread else ():
        if member.backend != "standalone" and (member.nodes is None or member.nodes[1] > 1):
            yield member


@rule("rendezvous-id-differs", severity="error", family=FAMILY)
def id_differs(fleet: Fleet) -> Iterator[Issue]:
    """The rendezvous id of a run differs from pod to pod.

    Why: Nodes meet when they have the same `--rdzv-id`. A random number, the time or the pod's own name gives each pod
    an id of its own, and every node waits for the others until the timeout.
    Fix: Write an id that is the same in all pods, such as the run's name.
    """
    for run in fleet.runs:
        for member in _several(run):
            option = member.launch.option("rdzv-id")
            if option is None or member.backend == "static":
                continue
            own = next((ref for ref in refs(option.word) if own_to_pod(ref)), None)
            if own is not None:
                what = own.source if own.source.startswith(("metadata", "status", "spec")) else own.text
                nodes = f" of the {member.nodes[1]} nodes" if member.nodes else ""
                message = f"the rdzv-id ({option.label}) is {shown(option.word)}, and {what} differs in each pod{nodes}"
                fix = f"write one id for all pods, such as {run.workload.document.name}"
                yield issue(member.pod_set, option.path, message, fix)


@rule("rendezvous-rank-missing", severity="error", family=FAMILY)
def rank_missing(fleet: Fleet) -> Iterator[Issue]:
    """torchrun's static rendezvous has several nodes, and no node has a rank.

    Why: Without `--node-rank` (or PET_NODE_RANK) every node takes rank 0 for itself: they open the same port or wait
    for ranks that never come. Only dynamic backends such as c10d assign ranks.
    Fix: Take the rank from the completion index, or use `--rdzv-backend=c10d`.
    """
    for run in fleet.runs:
        for member in _several(run):
            if member.backend != "static" or not member.certain or member.launch.option("node-rank"):
                continue
            if member.nodes and member.pod_set.count > 1:
                rank = member.launch.variable("RANK")
                message = f"torchrun has {member.nodes[1]} nodes and no --node-rank, so that each of them is rank 0"
                message += "; it does not read RANK" if rank else ""
                fix = "add --node-rank=$(RANK)" if rank else _rank_fix(member)
                yield issue(member.pod_set, member.launch.path, message, fix)


def _rank_fix(member: Member) -> str:
    if member.workload.form == "LeaderWorkerSet":
        return "add --node-rank=$(LWS_WORKER_INDEX)"
    if member.workload.form == "Job" and not member.pod_set.job:
        return "use the plugin pytorch and add --node-rank=$(RANK)"
    return "add --node-rank=$(JOB_COMPLETION_INDEX), or --rdzv-backend=c10d with --rdzv-endpoint"


@rule("rendezvous-rank-repeated", severity="error", family=FAMILY)
def rank_repeated(fleet: Fleet) -> Iterator[Issue]:
    """Several pods of a run have the same node rank.

    Why: In the static rendezvous each rank is one node's. A number in the pod template is every pod's; a completion
    index begins at 0 in each Job of a JobSet, a task index at 0 in each task of a Volcano Job. Two nodes with one rank
    fight for a port, and the world never gets complete.
    Fix: Derive the rank from what counts all pods of the run.
    """
    for run in fleet.runs:
        if not (run.named and run.spread):
            continue
        for member in run.members:
            option = _rank(member)
            if option is not None and member.certain and (problem := _repeats(run, member, option)):
                message = f"{option.label} is {_said(option)}, {problem}"
                yield issue(member.pod_set, option.path, message, _repeat_fix(run))


def _said(option: Option) -> str:
    """The rank as a person wrote it: a fieldRef by its path."""
    (source, *_) = [ref.source for ref in refs(option.word)] or [""]
    return source if source.startswith("metadata.") else shown(option.word)


def _rank(member: Member) -> Option | None:
    """The rank by which nodes differ: torchrun's in the static rendezvous; of other programs RANK."""
    if member.launch.kind == "torchrun":
        several = member.nodes is None or member.nodes[1] > 1
        return member.launch.option("node-rank") if member.backend == "static" and several else None
    if member.launch.kind == "accelerate":
        return member.launch.option("node-rank")
    world = member.launch.variable("WORLD_SIZE")
    return member.launch.variable("RANK") if world is not None and number(world.word) != 1 else None


def _repeats(run: Run, member: Member, option: Option) -> str:
    """How the ranks repeat; empty where they do not, or where that is not known."""
    pods, form = member.pod_set.count, run.workload.form
    group = pods // max(run.workload.units, 1)
    if literal(option.word) is not None:
        return f"which is the rank of all {group} pods" if group > 1 and number(option.word) is not None else ""
    if len(option.word) != 1:
        return ""
    (ref,) = refs(option.word)
    world = member.nodes[1] if member.nodes else 0
    if form == "JobSet" and member.pod_set.replicas > 1 and world == pods:
        each = pods // member.pod_set.replicas
        if ref.source in INDEX_PATHS and each < pods:
            return f"which begins at 0 in each of the {member.pod_set.replicas} Jobs"
        if any(key in ref.source for key in _JOB_INDEX) and each > 1:
            return f"which is the same for the {each} pods of each Job"
    if form == "LeaderWorkerSet" and "leaderworkerset.sigs.k8s.io/group-index" in ref.source and run.pods > 1:
        return f"which is the same for all {run.pods} pods of a group"
    if form == "JobSet" and member.pod_set.replicas == 1 and pods > 1 and any(key in ref.source for key in _JOB_INDEX):
        return f"which is the same for all {pods} pods of the one Job"
    if form == "JobSet" and ref.source in INDEX_PATHS and world > pods:
        others = [item for item in run.torch if item.pod_set is not member.pod_set and _same(item, option)]
        if others:
            return f"which begins at 0 in the job {others[0].pod_set.name} as well"
        for item, rank in _written_ranks(run):
            if item.pod_set is not member.pod_set and 0 <= rank < pods:
                return f"which begins at 0, and {rank} is the rank of the job {item.pod_set.name}"
    if form == "Job" and not member.pod_set.job and (ref.name in _TASK_INDEX or _TASK_INDEX[0] in ref.text):
        others = [item for item in run.members if item.pod_set is not member.pod_set and _same(item, option)]
        if others:
            return f"which begins at 0 in the task {others[0].pod_set.name} as well"
    return ""


def _written_ranks(run: Run) -> Iterator[tuple[Member, int]]:
    """The members of one pod whose rank is a number, as a leader's, with that number."""
    for member in run.torch:
        option = _rank(member)
        rank = number(option.word) if option is not None and literal(option.word) is not None else None
        if rank is not None and member.pod_set.count == 1 and member.certain:
            yield member, rank


def _same(member: Member, option: Option) -> bool:
    other = _rank(member)
    return other is not None and other.word == option.word and member.pod_set.count > 0


def _repeat_fix(run: Run) -> str:
    if run.workload.form == "LeaderWorkerSet":
        return "write $(LWS_WORKER_INDEX)"
    if run.workload.form == "Job" and run.workload.pod_sets and not run.workload.pod_sets[0].job:
        return "use the plugin pytorch and write $(RANK)"
    if run.workload.form == "JobSet" and any(item.replicas > 1 for item in run.workload.pod_sets):
        return "use one Job: replicas 1, with parallelism and completions as many as there are nodes"
    return "write $(JOB_COMPLETION_INDEX)"
