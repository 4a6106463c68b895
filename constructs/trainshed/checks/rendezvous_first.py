"""Addresses that resolve, but not to the one pod at which the others wait: that of rank 0."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rendezvous_common import meeting, right_address
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping
from trainshed.fleet.addresses import Address, domain, host_text, labels_of, pod_names, service_of
from trainshed.fleet.pod_environment import INDEX_PATHS
from trainshed.fleet.pod_labels import pod_labels
from trainshed.fleet.runs import Member, Run
from trainshed.fleet.words import Ref, refs, shown

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"
_OWN: Final = frozenset({"status.podIP", "status.podIPs", "status.hostIP", "metadata.name", "spec.nodeName"})
_OWN_COMMAND: Final = re.compile(r"(?:\$\(|`)\s*hostname(?:\s+-{1,2}[a-z-]+)?\s*(?:\|\s*awk\s[^|]*)?[)`]", re.I)


@rule("rendezvous-address-own", severity="error", family=FAMILY)
def address_own(fleet: Fleet) -> Iterator[Issue]:
    """Each pod of a run takes its own address for that of rank 0.

    Why: The pod's IP, its host name or its node differs in each pod, so that every pod waits for the others at itself.
    Fix: Write the host name of the pod of rank 0; the pod's own address belongs into PET_LOCAL_ADDR.
    """
    for run, member, address in meeting(fleet):
        if member.launch.conditional or run.workload.unit_count(member.pod_set) < 2 or len(address.host) != 1:
            continue
        (part,) = address.host
        if isinstance(part, Ref) and _own(part):
            what = part.source if part.source in _OWN else part.text
            message = (
                f"{address.label} is {shown(address.host)}, and {what} is each pod's own: every pod waits at itself"
            )
            yield issue(member.pod_set, address.path, message, right_address(run, address))


def _own(ref: Ref) -> bool:
    return ref.source in _OWN or ref.name == "HOSTNAME" or bool(_OWN_COMMAND.fullmatch(ref.text))


@rule("rendezvous-address-any", severity="error", family=FAMILY)
def address_any(fleet: Fleet) -> Iterator[Issue]:
    """The address at which a run's processes meet is a Service of several of its pods.

    Why: A Service leads to any of the pods that it selects, a headless one to all of them in changing order; only rank
    0 listens. With c10d each pod even takes itself for the host of the meeting.
    Fix: Write the host name of the pod of rank 0, or let the Service select the completion index 0.
    """
    for run, member, address in meeting(fleet):
        labels = labels_of(host_text(address), run.workload.namespace)
        if len(labels) != 1 or not labels[0]:
            continue
        pods = _pods_of(fleet, run, labels[0])
        if pods > 1:
            message = (
                f"{address.label} is {host_text(address)}, a Service of {pods} pods of the run, and only rank 0 of"
            )
            yield issue(member.pod_set, address.path, f"{message} them listens", right_address(run, address))


def _pods_of(fleet: Fleet, run: Run, name: str) -> int:
    """How many pods of one world are surely behind the Service of this name."""
    service = service_of(fleet, run.workload.namespace, name)
    total = 0
    for pod_set in run.workload.pod_sets:
        below = domain(run.workload, pod_set)
        if service is not None:
            selector = mapping(service.manifest, "spec", "selector")
            taken = pod_labels(run.workload, pod_set).selected(selector) is True
        else:
            taken = below is not None and below.managed and not below.off and below.name == name
        total += run.workload.unit_count(pod_set) if taken else 0
    return total


@rule("rendezvous-address-not-first", severity="error", family=FAMILY)
def address_not_first(fleet: Fleet) -> Iterator[Issue]:
    """The processes of a run meet at a pod that is not rank 0.

    Why: In the static rendezvous the node of rank 0 opens the store, and the rank is the completion index: at another
    pod's address nobody listens.
    Fix: Write the address of the pod with index 0.
    """
    for run, member, address in meeting(fleet):
        names = pod_names(run.workload, member.pod_set)
        if not member.pod_set.job or names is None or member.pod_set.replicas > 1:
            continue
        labels = labels_of(host_text(address), run.workload.namespace)
        if labels and labels[0] != names.first and names.has(labels[0]) and _by_index(member, address):
            message = f"{address.label} is {host_text(address)}, but the pod of index 0, {names.first}, is rank 0"
            yield issue(member.pod_set, address.path, message, right_address(run, address))


def _by_index(member: Member, address: Address) -> bool:
    """Whether the static rendezvous is used, and the rank is just the completion index."""
    if member.launch.kind == "torchrun" and member.backend == "static":
        rank = member.launch.option("node-rank")
    elif address.label == "MASTER_ADDR":
        rank = member.launch.variable("RANK")
    else:
        return False
    found = refs(rank.word) if rank is not None and len(rank.word) == 1 else []
    return any(ref.source in INDEX_PATHS or ref.name == "JOB_COMPLETION_INDEX" for ref in found)
