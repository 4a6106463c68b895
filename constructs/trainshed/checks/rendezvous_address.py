"""Where the processes of a run meet: an address that each of its pods can resolve, and that is one and the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rendezvous_common import address_problem, first_address, meeting, right_address
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.addresses import (
    Address,
    address_of,
    aliases,
    domain,
    host_text,
    is_ip,
    is_local,
    labels_of,
    pod_names,
    service_of,
)
from trainshed.fleet.runs import Member, Run
from trainshed.fleet.words import number

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"


@rule("rendezvous-address-local", severity="error", family=FAMILY)
def address_local(fleet: Fleet) -> Iterator[Issue]:
    """The processes of a run with several nodes meet at localhost.

    Why: Each pod meets only itself: every node waits for the others until the timeout, or trains alone.
    Fix: Write the host name of the pod of rank 0.
    """
    named = {id(run) for run, _, address in meeting(fleet) if not is_local(host_text(address))}
    for run, member, address in meeting(fleet):
        host = host_text(address)
        if host and is_local(host):
            alone = member.pod_set.count == 1 and (id(run) in named or member.launch.conditional)
            if alone or _one_process(member):  # the pod of rank 0 may call itself localhost
                continue
            message = f"{address.label} is {host}, so that each of the {run.pods} pods meets only itself"
            yield issue(member.pod_set, address.path, message, right_address(run, address))


def _one_process(member: Member) -> bool:
    """MASTER_ADDR of a program that torchrun does not start says nothing where the world is one pod's."""
    if member.launch.kind == "accelerate":
        return member.nodes is None or member.nodes[1] < 2
    if member.launch.kind == "deepspeed" and "no-ssh" in member.launch.options:
        nodes = member.launch.options.get("num-nodes")
        return nodes is None or (number(nodes.word) or 0) < 2
    world = member.launch.variable("WORLD_SIZE")
    return member.launch.kind != "torchrun" and world is None


@rule("rendezvous-address-missing", severity="error", family=FAMILY)
def address_missing(fleet: Fleet) -> Iterator[Issue]:
    """A run with several nodes is started by torchrun without an address at which they meet.

    Why: Without `--master-addr` (or PET_MASTER_ADDR) the static rendezvous uses 127.0.0.1, without `--rdzv-endpoint`
    c10d uses localhost: each node waits for itself. torchrun does not read MASTER_ADDR, and c10d not `--master-addr`
    (torch 2.13, `torch/distributed/run.py`).
    Fix: Add the address of the pod of rank 0.
    """
    for run in fleet.runs:
        for member in run.torch:
            if not (run.named and run.spread and member.certain and member.nodes and member.nodes[1] > 1):
                continue
            backend = member.backend
            if backend not in ("static", "c10d", "etcd", "etcd-v2") or address_of(member.launch, backend):
                continue
            wanted = "--master-addr" if backend == "static" else "--rdzv-endpoint"
            message = f"torchrun has {member.nodes[1]} nodes and no {wanted}, so that each pod meets only itself"
            if backend == "static" and member.launch.variable("MASTER_ADDR"):
                message += "; it does not read MASTER_ADDR"
            if backend != "static" and member.launch.option("master-addr"):
                message += f"; with {backend} it does not use --master-addr"
            first = first_address(run)
            port = ":29500" if backend != "static" else ""
            yield issue(
                member.pod_set, member.launch.path, message, f"add {wanted}={first or 'the pod of rank 0'}{port}"
            )


@rule("rendezvous-address-unresolved", severity="error", family=FAMILY)
def address_unresolved(fleet: Fleet) -> Iterator[Issue]:
    """The address at which a run's processes meet names no pod of the run.

    Why: A pod resolves as `<host name>.<subdomain>`: an Indexed Job's as `<job>-<index>.<Service>`, a JobSet's as
    `<jobset>-<replicatedJob>-<job index>-<pod index>.<subdomain>`, a Volcano Job's as `<job>-<task>-<index>.<job>`. The
    bare host name is not in the search path. The others wait for a name that never resolves, 10 minutes by default.
    Fix: Write the full name of the pod of rank 0.
    """
    for run, member, address in meeting(fleet):
        host = host_text(address)
        if _by_trainer(run, address):
            continue
        if not host or is_local(host) or is_ip(host) or host in aliases(member.pod_set):
            continue
        if problem := address_problem(fleet, run, host):
            fix = right_address(run, address)
            yield issue(member.pod_set, address.path, f"{address.label} is {host}, {problem}", fix)


def _by_trainer(run: Run, address: Address) -> bool:
    """Whether Trainer writes the address (rule trainer-address)."""
    return run.workload.kind == "TrainJob" and address.label == "PET_MASTER_ADDR"


@rule("rendezvous-dns-off", severity="error", family=FAMILY)
def dns_off(fleet: Fleet) -> Iterator[Issue]:
    """A run uses host names of its pods, and what would make them resolve is off.

    Why: JobSet makes the headless Service only with `network.enableDNSHostnames`, Volcano only with the plugin svc (or
    one that brings it: pytorch, mpi, tensorflow, ray). Without it no name of a pod resolves.
    Fix: Remove `enableDNSHostnames: false`; add `svc: []` to `spec.plugins`.
    """
    for run, _, address in meeting(fleet):
        workload = run.workload
        host = "" if _by_trainer(run, address) else host_text(address)
        labels = labels_of(host, workload.namespace)
        for pod_set in workload.pod_sets:
            names, below = pod_names(workload, pod_set), domain(workload, pod_set)
            if names is None or below is None or not below.off or not names.has(labels[0]):
                continue
            if below.name and service_of(fleet, workload.namespace, below.name):
                continue
            if workload.form == "JobSet":
                message = f"enableDNSHostnames is false, and {address.label} names the pod {host}"
                fix = "remove enableDNSHostnames: false"
            else:
                message = f"no plugin svc gives the pods host names, and {address.label} names the pod {host}"
                fix = "add svc: [] to spec.plugins"
            path = below.path if workload.form == "JobSet" or below.document.has(below.path) else below.path[:-1]
            yield Issue(below.document, path, message, fix)
