"""networking.k8s.io/v1 NetworkPolicy.

Rules: kubernetes v1.36, `pkg/apis/networking/validation/validation.go`.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.core.shapes import port_error
from trainshed.api.selectors import LabelSelector
from trainshed.api.shapes import cidr, cidr_error
from trainshed.api.types import Int32, IntOrString, Str, shaped

Cidr = Annotated[Str, shaped(cidr_error)]


class NetworkPolicyPort(Model):
    """A port by number or name, or a range of numbers up to and including `end_port`; without `port`, all of them."""

    end_port: Int32 | None = None
    port: IntOrString | None = None
    protocol: Literal["TCP", "UDP", "SCTP"] | None = None

    def rules(self) -> Iterator[Broken]:
        """`ValidateNetworkPolicyPort`."""
        if self.port is not None and (error := port_error(self.port)):
            yield Broken("port", error)
        if self.end_port is None:
            return
        if not isinstance(self.port, int):
            yield Broken("endPort", "works only with a number as port", "write the first port of the range as port")
        elif self.end_port < self.port:
            yield Broken("endPort", f"is {self.end_port}, less than the port {self.port}")
        elif error := port_error(self.end_port):
            yield Broken("endPort", error)


class IPBlock(Model):
    """Addresses of a network, without those of the networks in `except_`, which lie inside it."""

    cidr: Cidr
    except_: Annotated[list[Cidr] | None, Field(alias="except")] = None

    def rules(self) -> Iterator[Broken]:
        """`ValidateIPBlock`."""
        outer = cidr(self.cidr)
        for index, text in enumerate(self.except_ or []):
            inner = cidr(text)
            if outer is None or inner is None:
                continue
            inside = inner.version == outer.version and inner.network_address in outer
            if not inside or inner.prefixlen <= outer.prefixlen:
                yield Broken(f"except[{index}]", f'"{text}" is not a smaller part of "{self.cidr}"')


class NetworkPolicyPeer(Model):
    """Pods, all pods of some namespaces, some pods of some namespaces, or addresses."""

    ip_block: IPBlock | None = None
    namespace_selector: LabelSelector | None = None
    pod_selector: LabelSelector | None = None

    def rules(self) -> Iterator[Broken]:
        """`ValidateNetworkPolicyPeer`."""
        selects = self.namespace_selector is not None or self.pod_selector is not None
        if self.ip_block is not None and selects:
            yield Broken("", "ipBlock excludes the selectors", "write two peers")
        if self.ip_block is None and not selects:
            yield Broken("", "the peer names nobody", "add podSelector, namespaceSelector or ipBlock")


class NetworkPolicyEgressRule(Model):
    """Where the pods may connect to: any of the ports at any of the peers. Empty or absent means all."""

    ports: list[NetworkPolicyPort] | None = None
    to: list[NetworkPolicyPeer] | None = None


class NetworkPolicyIngressRule(Model):
    """Who may connect to the pods: any of the peers at any of the ports. Empty or absent means all."""

    from_: Annotated[list[NetworkPolicyPeer] | None, Field(alias="from")] = None
    ports: list[NetworkPolicyPort] | None = None


class NetworkPolicySpec(Model):
    """Which pods, and what they may do. Absent `policy_types` means Ingress, and Egress where `egress` has rules."""

    egress: list[NetworkPolicyEgressRule] | None = None
    ingress: list[NetworkPolicyIngressRule] | None = None
    pod_selector: LabelSelector | None = None
    policy_types: Annotated[list[Literal["Ingress", "Egress"]], Field(max_length=2)] | None = None


class NetworkPolicy(KubernetesObject):
    """Lets the selected pods connect only as its rules say; several policies add up."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["networking.k8s.io/v1"] = "networking.k8s.io/v1"
    kind: Literal["NetworkPolicy"] = "NetworkPolicy"
    spec: NetworkPolicySpec | None = None
