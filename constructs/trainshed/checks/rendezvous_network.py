"""Networks in which the pods of a run do not find each other: the host's, a mesh's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rendezvous_common import talking
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, mappings, text, whole
from trainshed.fleet.addresses import host_text, is_ip, is_local
from trainshed.fleet.runs import gpus
from trainshed.fleet.words import number
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"
_WHOLE_NODE: Final = 8
_INJECTED: Final = ("enabled", "true")


@rule("rendezvous-host-network-dns", severity="error", family=FAMILY)
def host_network_dns(fleet: Fleet) -> Iterator[Issue]:
    """Pods in their node's network do not resolve the names of their run.

    Why: With `hostNetwork: true` the default dnsPolicy, ClusterFirst, uses the node's name servers: names of pods and
    Services do not resolve.
    Fix: Write `dnsPolicy: ClusterFirstWithHostNet`.
    """
    for _, member, address in talking(fleet):
        spec = member.pod_set.spec
        policy = text(spec, "dnsPolicy") or "ClusterFirst"
        if spec.get("hostNetwork") is not True or policy not in ("ClusterFirst", "Default"):
            continue
        host = host_text(address) if address else ""
        if host and (is_local(host) or is_ip(host)):
            continue
        meet = f"{address.label} is {host}" if address and host else "the pods of the run find each other by name"
        message = f"hostNetwork is true and dnsPolicy {policy}, so the node's name servers answer, and {meet}"
        path = ("spec", "dnsPolicy") if "dnsPolicy" in spec else ("spec", "hostNetwork")
        yield issue(member.pod_set, path, message, "write dnsPolicy: ClusterFirstWithHostNet")


@rule("rendezvous-host-network-port", severity="warning", family=FAMILY)
def host_network_port(fleet: Fleet) -> Iterator[Issue]:
    """Pods that may share a node take one fixed port of it.

    Why: With `hostNetwork: true` the rendezvous port is the node's. Two pods on one node, of this run or of another,
    fight for it, and one fails with "address already in use". Pods that fill their node are alone.
    Fix: Derive the port from the run, or give the port as containerPort, so that the scheduler keeps such pods apart.
    """
    for _, member, address in talking(fleet):
        spec = member.pod_set.spec
        port = number(address.port) if address else None
        if spec.get("hostNetwork") is not True or port is None or _alone(fleet, member.pod_set):
            continue
        declared = {whole(item, "containerPort") for _, item in mappings(member.container, "ports")}
        if port in declared:
            continue
        devices = sum(gpus(container) or 0 for _, container in member.pod_set.containers)
        message = (
            f"hostNetwork is true and the port {port} fixed; with {devices} GPUs each, several pods fit on a node, "
        )
        message += "and only one of them gets the port"
        fix = f"derive the port from the run, or declare containerPort: {port} to keep such pods apart"
        yield issue(member.pod_set, ("spec", "hostNetwork"), message, fix)


def _alone(fleet: Fleet, pod_set: PodSet) -> bool:
    """Whether a pod fills its node, as far as the input tells."""
    for name, amount in pod_set.requests.items():
        if name.endswith("/gpu"):
            sizes = [machine.allocatable[name] for machine in fleet.capacity.machines if name in machine.allocatable]
            sizes += [pool.per_node[name] for pool in fleet.capacity.pools.values() if name in pool.per_node]
            return amount.value * 2 > max(size.value for size in sizes) if sizes else amount.value >= _WHOLE_NODE
    return False


@rule("rendezvous-mesh-sidecar", severity="warning", family=FAMILY)
def mesh_sidecar(fleet: Fleet) -> Iterator[Issue]:
    """A service mesh puts its proxy between the pods of a run.

    Why: The proxy takes over the pods' TCP traffic: NCCL and Gloo break on its mutual TLS, and a proxy that does not
    end keeps a Job from completing.
    Fix: Label the pod template `sidecar.istio.io/inject: "false"` (Linkerd: annotation `linkerd.io/inject: disabled`).
    """
    for run, member, _ in talking(fleet):
        pod_set = member.pod_set
        if pod_set.spec.get("hostNetwork") is True:
            continue
        labels = fleet.namespaces.labels(run.workload.namespace)
        namespace = fleet.namespaces.document(run.workload.namespace)
        own = pod_set.labels.get("sidecar.istio.io/inject") or pod_set.annotations.get("sidecar.istio.io/inject")
        istio = own or ("true" if labels.get("istio-injection") in _INJECTED or "istio.io/rev" in labels else "")
        annotations = mapping(namespace.manifest, "metadata", "annotations") if namespace else {}
        linkerd = pod_set.annotations.get("linkerd.io/inject") or text(annotations, "linkerd.io/inject")
        if linkerd in ("enabled", "ingress"):
            message = "Linkerd puts its proxy into these pods, between the processes of the run"
            yield issue(pod_set, ("metadata",), message, "add the annotation linkerd.io/inject: disabled")
        if istio == "true":
            message = "Istio puts its proxy into these pods, between the processes of the run"
            yield issue(pod_set, ("metadata",), message, 'add the label sidecar.istio.io/inject: "false" to the pods')
