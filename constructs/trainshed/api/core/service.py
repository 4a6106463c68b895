"""core/v1 Service.

Rules: kubernetes v1.36, `pkg/apis/core/validation/validation.go`, `ValidateService`, after the defaults of
`pkg/apis/core/v1/defaults.go` (type ClusterIP, protocol TCP, sessionAffinity None).
"""

import ipaddress
from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.core.shapes import PortNumber, ip_error, port_error
from trainshed.api.shapes import cidr_error
from trainshed.api.types import Bool, DnsLabel, Int32, IntOrString, LabelKey, LabelValue, Str, unique

HEADLESS: Final = "None"

_ONLY_LOAD_BALANCER: Final = "works only with type LoadBalancer"


class ServicePort(Model):
    """A port of the Service and the pods' port behind it (`target_port`, by default the same number)."""

    app_protocol: LabelKey | None = None
    name: DnsLabel | None = None
    node_port: Annotated[Int32, Field(ge=0, le=65535)] | None = None
    port: PortNumber
    protocol: Literal["TCP", "UDP", "SCTP"] | None = None
    target_port: IntOrString | None = None

    def rules(self) -> Iterator[Broken]:
        """`ValidatePortNumOrName`; a number of 0 counts as not written."""
        if self.target_port not in (None, 0, "") and (error := port_error(self.target_port or 0)):
            yield Broken("targetPort", error)


class ClientIPConfig(Model):
    """How long a client stays with its pod: 1 s to a day; 10800 s unless said."""

    timeout_seconds: Annotated[Int32, Field(ge=1, le=86400)] | None = None


class SessionAffinityConfig(Model):
    """Settings of session affinity."""

    client_ip: Annotated[ClientIPConfig | None, Field(alias="clientIP")] = None


class ServiceSpec(Model):
    """One stable address for the selected pods. `cluster_ip: "None"` (headless) gives each pod a name instead.

    The first clusterIP and the first ipFamily never change, except from or to type ExternalName or headless.
    """

    allocate_load_balancer_node_ports: Bool | None = None
    cluster_ip: Annotated[Str | None, Field(alias="clusterIP")] = None
    cluster_ips: Annotated[Annotated[list[Str], Field(max_length=2)] | None, Field(alias="clusterIPs")] = None
    external_ips: Annotated[list[Str] | None, Field(alias="externalIPs")] = None
    external_name: Str | None = None
    external_traffic_policy: Literal["Cluster", "Local"] | None = None
    health_check_node_port: Annotated[Int32, Field(ge=0, le=65535)] | None = None
    internal_traffic_policy: Literal["Cluster", "Local"] | None = None
    ip_families: Annotated[list[Literal["IPv4", "IPv6"]], Field(max_length=2), unique] | None = None
    ip_family_policy: Literal["SingleStack", "PreferDualStack", "RequireDualStack"] | None = None
    load_balancer_class: LabelKey | None = None
    load_balancer_ip: Annotated[Str | None, Field(alias="loadBalancerIP")] = None
    load_balancer_source_ranges: list[Str] | None = None
    ports: list[ServicePort] | None = None
    publish_not_ready_addresses: Bool | None = None
    selector: dict[LabelKey, LabelValue] | None = None
    session_affinity: Literal["ClientIP", "None"] | None = None
    session_affinity_config: SessionAffinityConfig | None = None
    traffic_distribution: Literal["PreferClose", "PreferSameZone", "PreferSameNode"] | None = None
    type: Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] | None = None

    @property
    def headless(self) -> bool:
        """Whether the Service has no address of its own."""
        return HEADLESS in (self.cluster_ip, *(self.cluster_ips or []))

    def rules(self) -> Iterator[Broken]:
        """`ValidateService`, group by group."""
        yield from self._type_rules()
        yield from self._port_rules()
        yield from self._address_rules()
        yield from self._traffic_rules()

    def _type_rules(self) -> Iterator[Broken]:
        if self.headless and self.type in ("NodePort", "LoadBalancer"):
            yield Broken("clusterIP", f"cannot be None in a Service of type {self.type}", "leave clusterIP out")
        if self.type == "ExternalName":
            for name, value in (
                ("clusterIP", self.cluster_ip),
                ("clusterIPs", self.cluster_ips),
                ("ipFamilies", self.ip_families),
                ("ipFamilyPolicy", self.ip_family_policy),
            ):
                if value:
                    yield Broken(name, "does not go with type ExternalName", "leave it out")
            name = (self.external_name or "").removesuffix(".")
            if error := naming.dns1123_subdomain_error(name):
                yield Broken("externalName", error)
        elif not self.ports and not self.headless:
            yield Broken("ports", "is missing", 'add a port, or write clusterIP: "None"')
        if self.type == "LoadBalancer":
            return
        for name, given in (
            ("allocateLoadBalancerNodePorts", self.allocate_load_balancer_node_ports is not None),
            ("loadBalancerClass", self.load_balancer_class is not None),
            ("loadBalancerSourceRanges", bool(self.load_balancer_source_ranges)),
        ):
            if given:
                yield Broken(name, _ONLY_LOAD_BALANCER, "leave it out")

    def _port_rules(self) -> Iterator[Broken]:
        ports = self.ports or []
        names: set[str] = set()
        numbers: set[tuple[str, int]] = set()
        node_ports: set[tuple[str, int]] = set()
        for index, port in enumerate(ports):
            at, protocol = f"ports[{index}]", port.protocol or "TCP"
            if port.name is None and len(ports) > 1:
                yield Broken(f"{at}.name", "is missing, and a Service with several ports needs it", "add a name")
            if port.name is not None and port.name in names:
                yield Broken(f"{at}.name", f'"{port.name}" is used twice')
            if (protocol, port.port) in numbers:
                yield Broken(at, f"port {port.port} with protocol {protocol} is listed twice")
            if port.node_port and self.type in (None, "ClusterIP"):
                yield Broken(
                    f"{at}.nodePort", "does not go with type ClusterIP", "leave it out, or write type: NodePort"
                )
            if port.node_port and (protocol, port.node_port) in node_ports:
                yield Broken(f"{at}.nodePort", f"{port.node_port} with protocol {protocol} is listed twice")
            names.add(port.name or "")
            numbers.add((protocol, port.port))
            node_ports.add((protocol, port.node_port or 0))

    def _address_rules(self) -> Iterator[Broken]:
        ips = self.cluster_ips or []
        if self.type == "ExternalName":
            return
        if ips and ips[0] != self.cluster_ip:
            yield Broken(
                "clusterIPs", f'starts with "{ips[0]}", which is not clusterIP', f'write clusterIP: "{ips[0]}"'
            )
        if HEADLESS in ips and len(ips) > 1:
            yield Broken("clusterIPs", '"None" stands beside an address', "keep one of them")
        for index, ip in enumerate(ips or filter(None, [self.cluster_ip])):
            at = f"clusterIPs[{index}]" if ips else "clusterIP"
            if ip != HEADLESS and (error := ip_error(ip)):
                yield Broken(at, error, 'write an address of the cluster\'s Service network, or "None"')
        if len(ips) == 2 and HEADLESS not in ips and not any(map(ip_error, ips)):
            first, second = map(ipaddress.ip_address, ips)
            if first.version == second.version:
                yield Broken("clusterIPs", f"has two IPv{first.version} addresses", "keep one of each family")
        yield from self._family_rules(ips)
        for index, ip in enumerate(self.external_ips or []):
            if error := _external_ip_error(ip):
                yield Broken(f"externalIPs[{index}]", error)
        for index, text in enumerate(self.load_balancer_source_ranges or []):
            if error := cidr_error(text.strip()):
                yield Broken(f"loadBalancerSourceRanges[{index}]", error)

    def _family_rules(self, ips: list[str]) -> Iterator[Broken]:
        for index, (ip, family) in enumerate(zip(ips, self.ip_families or [], strict=False)):
            if ip != HEADLESS and not ip_error(ip) and f"IPv{ipaddress.ip_address(ip).version}" != family:
                yield Broken(f"clusterIPs[{index}]", f'"{ip}" is not {family}, as ipFamilies[{index}] says')

    def _traffic_rules(self) -> Iterator[Broken]:
        if self.session_affinity_config is not None and self.session_affinity != "ClientIP":
            yield Broken("sessionAffinityConfig", "works only with sessionAffinity ClientIP", "leave it out")
        outside = self.type in ("NodePort", "LoadBalancer") or (self.type != "ExternalName" and self.external_ips)
        if self.external_traffic_policy is not None and not outside:
            text = "works only for Services that are reached from outside"
            yield Broken("externalTrafficPolicy", text, "leave it out, or write type: LoadBalancer")
        local_balancer = self.type == "LoadBalancer" and self.external_traffic_policy == "Local"
        if self.health_check_node_port and not local_balancer:
            text = "works only with type LoadBalancer and externalTrafficPolicy Local"
            yield Broken("healthCheckNodePort", text, "leave it out")


class Service(KubernetesObject):
    """A name and an address for pods. Its name is a DNS-1035 label, since it becomes a host name."""

    namespaced: ClassVar[bool] = True
    name_error: ClassVar[Callable[[str], str]] = staticmethod(naming.dns1035_label_error)
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("spec.clusterIP", "spec.loadBalancerClass")

    api_version: Literal["v1"] = "v1"
    kind: Literal["Service"] = "Service"
    spec: ServiceSpec


def _external_ip_error(text: str) -> str:
    """`ValidateNonSpecialIP`."""
    if error := ip_error(text):
        return error
    ip = ipaddress.ip_address(text)
    if ip.is_unspecified or ip.is_loopback or ip.is_link_local:
        return f'"{text}" is not an address that others can reach'
    return ""
