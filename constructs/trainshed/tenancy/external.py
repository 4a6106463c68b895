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
    return str(getattr(reference, "name", reference))


def same_cluster(user: Component, reference: Component | External | None, field: str, kind: str = "") -> bool:
    """Whether `reference` may be used: no plain string, no component of another cluster; what may not is reported.

    `kind` is the component that is wanted, as messages call it.
    """
    if reference is None or isinstance(reference, External):
        return True
    if not isinstance(reference, Component):
        wanted = f"the {kind} itself" if kind else "the component itself"
        user.fault(
            f"is {reference!r}", field=field, fix=f'pass {wanted}, or External("…") for one that is declared elsewhere'
        )
        return False
    if kind and kind not in (base.__name__ for base in type(reference).__mro__):
        user.fault(f"is {reference.title}", field=field, fix=f"pass a {kind}")
        return False
    if reference.cluster is not user.cluster:
        user.fault(
            f'{reference.title} belongs to cluster "{reference.cluster.id}", this is cluster "{user.cluster.id}"',
            field=field,
            fix=f'use one of cluster "{user.cluster.id}", or External("…") for an object that exists there already',
        )
        return False
    return True
