"""What rules on rendezvous share: who meets where, and whether an address names a pod of the run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.fleet.addresses import Address, PodNames, address_of, domain, labels_of, name_of, pod_names, service_of
from trainshed.fleet.once import once
from trainshed.fleet.runs import Member, Run
from trainshed.spelling import misspelt

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_NUMBERED: Final = re.compile(r"-[0-9]+$")


Meeting = tuple[Run, Member, Address]


@once
def meeting(fleet: Fleet) -> list[Meeting]:
    """The commands that meet others of their run in other pods, and where."""
    found = []
    for run in fleet.runs:
        for member in run.members if run.named and run.spread else ():
            if member.backend == "standalone" or not meets(member):
                continue
            if address := address_of(member.launch, member.backend):
                found.append((run, member, address))
    return found


def meets(member: Member) -> bool:
    """Whether a command takes part in a world of several pods: its node count may be above 1, or it has none."""
    return member.launch.kind != "torchrun" or member.nodes is None or member.nodes[1] > 1


def talking(fleet: Fleet) -> Iterator[tuple[Run, Member, Address | None]]:
    """One member for each pod set whose pods talk to others of their run."""
    for run in fleet.runs:
        seen: set[int] = set()
        for member in run.members if run.named and run.spread else ():
            if id(member.pod_set) in seen or member.backend == "standalone" or not meets(member):
                continue
            address = address_of(member.launch, member.backend)
            if address is None and member.launch.kind not in ("torchrun", "mpi"):
                continue
            seen.add(id(member.pod_set))
            yield run, member, address


def first_address(run: Run) -> str:
    """The address of the pod that is rank 0, as far as it is known."""
    for pod_set in run.workload.pod_sets:
        names, below = pod_names(run.workload, pod_set), domain(run.workload, pod_set)
        if names is not None and pod_set.count:
            if run.workload.form == "pytorch" or below is None or not below.name:
                return names.first
            return f"{names.first}.{below.name}"
    return ""


def right_address(run: Run, address: Address) -> str:
    first = first_address(run)
    return (
        f"write {first}, the pod of rank 0" if first else f"write the address of the pod of rank 0 in {address.label}"
    )


def address_problem(fleet: Fleet, run: Run, host: str) -> str:
    """Why the host is no pod of the run; empty where it is one, or where somebody else's name is as likely."""
    workload = run.workload
    labels = labels_of(host, workload.namespace)
    if away := _elsewhere(run, host):
        return away
    if not labels or len(labels) > 2 or service_of(fleet, workload.namespace, labels[-1] if len(labels) == 1 else ""):
        return ""
    pod_sets = [item for item in workload.pod_sets if item.count]
    known = [(names, domain(workload, item)) for item in pod_sets if (names := pod_names(workload, item))]
    if not known:
        return _nameless(run, labels)
    of_ours = any(names.has(labels[0]) for names, _ in known)
    below = {found.name for _, found in known if found is not None}
    if workload.form in ("pytorch", "tf", "jax", "xgb", "paddle"):
        return "" if of_ours or len(labels) > 1 else _stranger(run, labels, below)
    if of_ours:
        if len(labels) == 1:
            return "a bare host name, which does not resolve without the subdomain"
        if labels[1] in below or not any(below):
            return ""
        return f'but the subdomain of its pods is "{next(iter(below - {""}))}"'
    if len(labels) == 2 and labels[1] in below - {""} and _another(fleet, run, labels):
        return ""  # a master's Job and its workers', below one Service
    return _stranger(run, labels, below)


def _another(fleet: Fleet, run: Run, labels: list[str]) -> bool:
    """Whether another workload of the namespace has a pod of this name below this subdomain."""
    return any(names.has(labels[0]) for names in _below(fleet).get((run.workload.namespace, labels[1]), ()))


@once
def _below(fleet: Fleet) -> dict[tuple[str | None, str], list[PodNames]]:
    """The names of pods below each (namespace, subdomain)."""
    found: dict[tuple[str | None, str], list[PodNames]] = {}
    for workload in fleet.workloads:
        for pod_set in workload.pod_sets:
            names, below = pod_names(workload, pod_set), domain(workload, pod_set)
            if names is not None and below is not None and below.name:
                found.setdefault((workload.namespace, below.name), []).append(names)
    return found


def _elsewhere(run: Run, host: str) -> str:
    """A pod's very name, in another namespace than the run's."""
    own, labels = run.workload.namespace, host.rstrip(".").split(".")
    end = labels.index("svc", 1) if "svc" in labels[1:] else len(labels)
    for pod_set in run.workload.pod_sets if own else ():
        names, below = pod_names(run.workload, pod_set), domain(run.workload, pod_set)
        if names is None or not names.has(labels[0]):
            continue
        short = 1 if below is None else 2
        if end == short + 1 and labels[end - 1] != own and (below is None or labels[1] == below.name):
            return f"which is in the namespace {labels[end - 1]}, and the run in {own}"
    return ""


def _stranger(run: Run, labels: list[str], below: set[str]) -> str:
    """A name that is nearly a pod's of the run."""
    name = name_of(run.workload)
    host = labels[0]
    stems = [names.stem for item in run.workload.pod_sets if (names := pod_names(run.workload, item))]
    firsts = [names.first for item in run.workload.pod_sets if (names := pod_names(run.workload, item))]
    if len(labels) == 2 and labels[1] in below - {""}:
        return "but no pod of the run has that name"
    ours = host.startswith((f"{name}-", *(f"{stem}-" for stem in stems))) or host == name
    if (ours and _NUMBERED.search(host)) or any(misspelt(host, first) for first in firsts):
        return "but no pod of the run has that name"
    copied = len(labels) == 2 and _NUMBERED.search(host) and host.startswith(f"{labels[1]}-")
    if copied:
        return f'a pod of "{labels[1]}", not of this run'
    return ""


def _nameless(run: Run, labels: list[str]) -> str:
    """Pods without a fixed host name: of Jobs without indexes, of CronJobs, of generated names."""
    workload = run.workload
    if (
        workload.form != "Job"
        or not workload.pod_sets
        or not workload.pod_sets[0].job
        or not _NUMBERED.search(labels[0])
    ):
        return ""
    if any(item.spec.get("hostname") for item in workload.pod_sets):
        return ""
    if workload.kind == "CronJob":
        ours = labels[0].startswith(f"{workload.document.name}-")
        return "but the Jobs of a CronJob are named after the time, and their pods after them" if ours else ""
    if not name_of(workload):
        return "" if not workload.document.generated else "but the Job's name, and with it its pods', is generated"
    if labels[0].startswith(f"{name_of(workload)}-"):
        return "but pods of a Job have such host names only with completionMode: Indexed"
    return ""
