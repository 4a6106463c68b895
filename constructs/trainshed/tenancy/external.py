"""References to objects that are declared elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from trainshed.api.types import DnsSubdomain
from trainshed.gitops.component import Component


@dataclass(frozen=True)
class External:
    """The name of an object that lives outside this repository. A plain string is not accepted where a component is
    meant, so that a typo cannot pass for an intention."""

    name: DnsSubdomain


def name_of(reference: Component | External) -> str:
    """The object name behind a reference; a component's is its `name`."""
    if isinstance(reference, External):
        return reference.name
    return str(getattr(reference, "name", reference))
