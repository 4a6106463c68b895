"""The small parts of a pod: addresses, DNS, gates, claims.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.core.shapes import exactly_one, ip_error
from trainshed.api.types import DnsLabel, DnsSubdomain, Int32, LabelKey, Str, shaped

Address = Annotated[Str, shaped(ip_error)]
_SEARCH_CHARACTERS: Final = 2048


class HostAlias(Model):
    """One line of the pod's `/etc/hosts`."""

    hostnames: list[DnsSubdomain] | None = None
    ip: Address


class PodDNSConfigOption(Model):
    """One option of the resolver, such as `ndots`."""

    name: Str | None = None
    value: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """validatePodDNSConfig."""
        if not self.name:
            yield Broken("name", "is missing", "add the name of the option")


class PodDNSConfig(Model):
    """What the pod's resolver uses beside (or, with `dns_policy` None, instead of) the cluster's settings."""

    nameservers: Annotated[list[Address], Field(max_length=3)] | None = None
    options: list[PodDNSConfigOption] | None = None
    searches: Annotated[list[Str], Field(max_length=32)] | None = None

    def rules(self) -> Iterator[Broken]:
        """validatePodDNSConfig."""
        length = len(" ".join(self.searches or []))
        if length > _SEARCH_CHARACTERS:
            yield Broken("searches", f"has {length} characters, and {_SEARCH_CHARACTERS} are allowed")


class PodOS(Model):
    """The operating system that the containers are made for."""

    name: Literal["linux", "windows"]


class PodReadinessGate(Model):
    """A condition that a controller must set before the pod counts as ready."""

    condition_type: LabelKey


class PodSchedulingGate(Model):
    """Holds the pod back from scheduling until a controller removes it."""

    name: LabelKey


class PodSchedulingGroup(Model):
    """The PodGroup that the pod is scheduled with (Kubernetes 1.36)."""

    pod_group_name: Str | None = None


class EvictionResponder(Model):
    """A controller that answers requests to evict the pod (Kubernetes 1.37). Higher priorities come first."""

    name: LabelKey
    priority: Annotated[Int32, Field(ge=0, le=100_000)]


class PodResourceClaim(Model):
    """A device claim of the pod: an existing one, or one made from a template for each pod."""

    name: DnsLabel
    resource_claim_name: DnsSubdomain | None = None
    resource_claim_template_name: DnsSubdomain | None = None

    def rules(self) -> Iterator[Broken]:
        """validatePodResourceClaim."""
        yield from exactly_one(self, ("resource_claim_name", "resource_claim_template_name"), "claim")
