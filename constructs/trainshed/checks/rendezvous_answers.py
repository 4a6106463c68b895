"""A Service by which a run's processes meet, and what keeps it from answering: readiness, ports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rendezvous_common import meeting
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, items, mapping, mappings, whole
from trainshed.fleet.addresses import (
    Address,
    Domain,
    domain,
    headless,
    host_text,
    is_local,
    labels_of,
    pod_names,
    readiness,
    service_of,
)
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.runs import Member, Run
from trainshed.fleet.words import number

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"


@rule("rendezvous-waits-for-readiness", severity="error", family=FAMILY)
def waits_for_readiness(fleet: Fleet) -> Iterator[Issue]:
    """The pods of a run find each other through a Service that lists only ready pods, and have a readiness probe.

    Why: A pod that is ready only after all have met, and that the others cannot find before it is ready, never gets
    ready. JobSet publishes addresses at once by default; a Service of your own and Volcano's plugin svc do not.
    Fix: Set `publishNotReadyAddresses: true` (Volcano: `--publish-not-ready-addresses=true` for the plugin svc).
    """
    for run, _, address in meeting(fleet):
        workload = run.workload
        labels = labels_of(host_text(address), workload.namespace)
        for pod_set in workload.pod_sets:
            names, below, probe = pod_names(workload, pod_set), domain(workload, pod_set), readiness(pod_set)
            if names is None or below is None or probe is None or not names.has(labels[0]):
                continue
            document, path, fix = _publishing(fleet, run, below)
            if document is None:
                continue
            message = f'it lists only ready pods, and those of {workload.kind} "{workload.document.name}" have a '
            message += f"{probe[-1]} and meet at {host_text(address)}: none gets ready before it is found"
            written, at = pod_set.at(probe)
            yield Issue(
                document, path, f"publishNotReadyAddresses: {message}", fix, None, (("the probe", written, at),)
            )


def _publishing(fleet: Fleet, run: Run, below: Domain) -> tuple[Document | None, Path, str]:
    """Where it would be written that names are published at once; nothing where it is."""
    workload = run.workload
    if workload.form == "JobSet" and below.managed:
        network = mapping(workload.manifest, "spec", "network")
        path = (*below.path[:-1], "publishNotReadyAddresses")
        off = network.get("publishNotReadyAddresses") is False
        return (below.document if off else None), path, "write publishNotReadyAddresses: true"
    if below.managed:
        if workload.form != "Job":
            return None, (), ""
        arguments = items(workload.manifest, "spec", "plugins", "svc")
        on = any(isinstance(item, str) and "publish-not-ready-addresses=true" in item for item in arguments)
        return (
            (None if on else below.document),
            below.path,
            "add svc: [--publish-not-ready-addresses=true] to the plugins",
        )
    service = service_of(fleet, workload.namespace, below.name)
    if service is None or not service.judged or not headless(service):
        return None, (), ""
    on = dig(service.manifest, "spec", "publishNotReadyAddresses") is True
    path = ("spec", "publishNotReadyAddresses")
    return (None if on else service), path if service.has(path) else ("spec",), "write publishNotReadyAddresses: true"


@rule("rendezvous-port-not-served", severity="error", family=FAMILY)
def port_not_served(fleet: Fleet) -> Iterator[Issue]:
    """A run's processes meet at a Service with a cluster IP that does not serve the port.

    Why: A cluster IP forwards only the ports that the Service lists. Headless Services need none.
    Fix: Add the port to the Service, or meet at the pod's own name below a headless Service.
    """
    for run, member, address in meeting(fleet):
        labels, port = labels_of(host_text(address), run.workload.namespace), number(address.port)
        service = service_of(fleet, run.workload.namespace, labels[0]) if len(labels) == 1 else None
        if service is None or port is None or not service.judged or headless(service):
            continue
        served = [whole(item, "port") for _, item in mappings(service.manifest, "spec", "ports")]
        if served and port not in served:
            shown = ", ".join(map(str, served))
            message = f'{address.label} is port {port} of Service "{service.name}", which serves {shown}'
            related = (("its ports", service, ("spec", "ports")),)
            document, path = member.pod_set.at(address.path)
            yield Issue(document, path, message, f"add port {port} to the Service", None, related)


@rule("rendezvous-ports-differ", severity="error", family=FAMILY)
def ports_differ(fleet: Fleet) -> Iterator[Issue]:
    """Parts of a run meet at different ports of one host.

    Why: All ranks of a world meet at one host and port. Those that go elsewhere wait there for the others.
    Fix: Write one port in all parts.
    """
    first: dict[int, tuple[Member, Address]] = {}
    for run, member, address in meeting(fleet):
        host = host_text(address)
        port = number(address.port)
        if not host or port is None or is_local(host):
            continue
        other, known = first.setdefault(id(run), (member, address))
        if other.pod_set is member.pod_set or host_text(known) != host or number(known.port) == port:
            continue
        message = f"it meets at port {port} of {host}, and {other.pod_set.name} at port {number(known.port)}"
        document, at = other.pod_set.at(known.path)
        written, path = member.pod_set.at(address.path)
        yield Issue(
            written, path, message, "write one port", None, ((f"the address of {other.pod_set.name}", document, at),)
        )
