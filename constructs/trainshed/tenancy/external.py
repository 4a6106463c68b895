"""References to objects that are declared elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from trainshed.gitops.component import Component


@dataclass(frozen=True)
class External:
    """The name of an object that lives outside this repository. A plain string is not accepted where a component is
    meant, so that a typo cannot pass for an intention."""

    name: str


C = TypeVar("C", bound=Component)


def name_of(reference: Component | External) -> str:
    """The object name behind a reference; a component's is its `name`."""
    if isinstance(reference, External):
        return reference.name
    return str(getattr(reference, "name", reference.id))


def same_cluster(user: Component, reference: Component | External | None, field: str) -> None:
    """Reports a fault on `user` when `reference` is a component of another cluster."""
    if isinstance(reference, Component) and reference.cluster is not user.cluster:
        user.fault(
            f'{reference.title} belongs to cluster "{reference.cluster.id}", this is cluster "{user.cluster.id}"',
            field=field,
            fix=f'use one of cluster "{user.cluster.id}", or External("…") for an object that exists there already',
        )
