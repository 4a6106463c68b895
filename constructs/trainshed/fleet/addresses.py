"""Where the pods of a run are found: host names, the subdomain below which they resolve, who makes its Service."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.fleet.access import dig, items, mapping, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.launchers import Launch
from trainshed.fleet.paths import Path
from trainshed.fleet.words import Word, literal, split
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: Volcano plugins that give pods host names and a Service (schedulers.md 3.6).
SERVICE_PLUGINS: Final = ("svc", "pytorch", "mpi", "tensorflow", "ray")
_LOCAL: Final = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "0.0.0.0", "::", "[::]"})


class PodNames(NamedTuple):
    """Host names `<stem>-<number>…`: each number of a name lies below its bound. `first` is the name of rank 0."""

    stem: str
    bounds: tuple[int, ...]
    first: str

    def has(self, host: str) -> bool:
        """Whether a pod has this host name."""
        if host == self.first:
            return True
        if not host.startswith(f"{self.stem}-"):
            return False
        numbers = host[len(self.stem) + 1 :].split("-")
        if len(numbers) != len(self.bounds):
            return False
        return all(
            number.isascii() and number.isdigit() and len(number) < 10 and int(number) < bound
            for number, bound in zip(numbers, self.bounds, strict=True)
        )


class Domain(NamedTuple):
    """The subdomain of a pod set's pods: its `name`, the `path` in `document` where it is or would be written, and
    whether a controller makes the Service (`managed`). `off` says that the controller was told not to."""

    name: str
    document: Document
    path: Path
    managed: bool = False
    off: bool = False


def name_of(workload: Workload) -> str:
    """The name of the object that makes the pods; empty where only `generateName` is written."""
    metadata = mapping(workload.manifest, "metadata")
    return text(metadata, "name")


def pod_names(workload: Workload, pod_set: PodSet) -> PodNames | None:
    """The host names of a pod set; None where the manifest does not tell: pods of CronJobs, of Jobs without indexes, of
    names that are generated."""
    name = name_of(workload)
    if not name or workload.kind == "CronJob":
        return None
    form, count = workload.form, pod_set.count
    if form == "JobSet":
        job = text(pod_set.item, "name")
        each = count // pod_set.replicas if pod_set.replicas else 0
        return PodNames(f"{name}-{job}", (pod_set.replicas, each), f"{name}-{job}-0-0") if job else None
    if form == "Job" and pod_set.job:
        if pod_set.job.get("completionMode") != "Indexed":
            return None
        return PodNames(name, (max(whole(pod_set.job, "completions") or 0, count),), f"{name}-0")
    if form == "Job":
        hostname = text(pod_set.spec, "hostname")
        stem = f"{name}-{pod_set.name}"
        return PodNames(stem, (count,), hostname or f"{stem}-0")
    if form == "StatefulSet":
        start = whole(workload.manifest, "spec", "ordinals", "start") or 0
        return PodNames(name, (start + count,), f"{name}-{start}")
    if form == "LeaderWorkerSet":
        groups = max(pod_set.replicas, 1)
        size = whole(pod_set.item, "size") or 1
        return PodNames(name, (groups,) if pod_set.name == "leader" else (groups, size), f"{name}-0")
    if form in ("pytorch", "mpi", "tf", "jax", "xgb", "paddle"):
        launcher = form == "mpi" and pod_set.name == "launcher"
        stem = f"{name}-{pod_set.name}"
        return PodNames(stem, (count,), stem if launcher else f"{stem}-0")
    if form == "Pod":
        hostname = text(pod_set.spec, "hostname")
        return PodNames(hostname, (), hostname) if hostname else None
    return None


def domain(workload: Workload, pod_set: PodSet) -> Domain | None:
    """The subdomain of a pod set; None for kinds whose pods have none by themselves."""
    name, document, root = name_of(workload), workload.document, workload.path
    field = pod_set.at(("spec", "subdomain"))
    written = text(pod_set.spec, "subdomain")
    form = workload.form
    if form == "JobSet":
        holder = workload.runtime or document
        place = (*(("spec", "template") if workload.runtime else root), "spec", "network")
        network = mapping(workload.manifest, "spec", "network")
        if network.get("enableDNSHostnames") is False:
            return Domain(written, holder, (*place, "enableDNSHostnames"), off=True)
        return Domain(text(network, "subdomain") or name, holder, (*place, "subdomain"), managed=True)
    if form == "Job" and not pod_set.job:
        plugins = mapping(workload.manifest, "spec", "plugins")
        served = any(plugin in plugins for plugin in SERVICE_PLUGINS)
        if written and written != name:
            return Domain(written, *field)
        return Domain(name if served else written, document, (*root, "spec", "plugins"), managed=served, off=not served)
    if form == "StatefulSet":
        return Domain(text(workload.manifest, "spec", "serviceName"), document, (*root, "spec", "serviceName"))
    if form == "LeaderWorkerSet":
        return Domain(name, document, (*root, "spec", "networkConfig"), managed=True)
    if form in ("Job", "Pod", "PodTemplate"):
        return Domain(written, *field)
    return None


class Address(NamedTuple):
    """The address at which processes meet: `host` and `port` as words, and where the host is written, by its label."""

    host: Word
    port: Word
    path: Path
    label: str


def address_of(launch: Launch, backend: str | None) -> Address | None:
    """Where a command's processes meet; None where it names no address."""
    if launch.kind in ("torchrun", "accelerate", "deepspeed"):
        endpoint = launch.option("rdzv-endpoint")
        if backend == "static" and not endpoint:
            host, port = launch.option("master-addr"), launch.option("master-port")
            if host is None:
                return None
            return Address(host.word, port.word if port else ("29500",), host.path, host.label)
        if endpoint is None or not endpoint.word:
            return None
        parts = split(endpoint.word, ":")
        host_word, port_word = parts or (endpoint.word, ("29400",))
        return Address(host_word, port_word, endpoint.path, endpoint.label)
    for name in ("MASTER_ADDR", "JAX_COORDINATOR_ADDRESS", "DMLC_TRACKER_URI"):
        if host := launch.variable(name):
            parts = split(host.word, ":") if name.startswith("JAX") else None
            port = launch.variable("MASTER_PORT")
            return Address(*(parts or (host.word, port.word if port else ())), host.path, name)
    return None


def is_local(host: str) -> bool:
    """Whether the host is the pod itself."""
    return host.lower() in _LOCAL or host.startswith("127.") or host in ("::1", "[::1]")


def is_ip(host: str) -> bool:
    """Whether the host is a number."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def labels_of(host: str, namespace: str | None) -> list[str]:
    """The labels of a cluster name without namespace and cluster domain: `a.b.ns.svc.cluster.local` is [a, b]."""
    labels = host.rstrip(".").split(".")
    if "svc" in labels[1:]:
        labels = labels[: labels.index("svc", 1)]
        return labels[:-1]
    if len(labels) > 2 and labels[-1] == namespace:
        return labels[:-1]
    return labels


def service_of(fleet: Fleet, namespace: str | None, name: str) -> Document | None:
    """The Service of this name that pods of the namespace reach."""
    return fleet.namespaces.find("", "Service", namespace, name) if name else None


def headless(service: Document) -> bool:
    """Whether a Service gives its pods names of their own."""
    return text(service.manifest, "spec", "clusterIP") == "None"


def host_text(address: Address) -> str:
    """The host where it is known; otherwise empty."""
    return literal(address.host) or ""


def aliases(pod_set: PodSet) -> set[str]:
    """Names that the pod's own hosts file has."""
    found: set[str] = set()
    for entry in items(pod_set.spec, "hostAliases"):
        found |= {name for name in items(entry, "hostnames") if isinstance(name, str)}
    return found


def readiness(pod_set: PodSet) -> Path | None:
    """Where a probe keeps the pods from being ready at once."""
    for path, container in pod_set.containers:
        for probe in ("readinessProbe", "startupProbe"):
            if isinstance(dig(container, probe), dict):
                return (*path, probe)
    return None
