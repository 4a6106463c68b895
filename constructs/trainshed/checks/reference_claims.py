"""Claims of dynamic resource allocation that pods name, and the requests that containers take of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import Node, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "references"
_GROUP: Final = "resource.k8s.io"
_FIELDS: Final = {"resourceClaimTemplateName": "ResourceClaimTemplate", "resourceClaimName": "ResourceClaim"}


@rule("reference-resource-claim", severity="error", family=FAMILY)
def resource_claim(fleet: Fleet) -> Iterator[Issue]:
    """A pod names a ResourceClaim or a template of one that its namespace does not have, but another, or nearly.

    Why: Claims and their templates are looked up in the pod's namespace. Until there is one of that name the pod stays
    Pending without devices.
    Fix: Correct the name, or make the object in the pod's namespace.
    """
    for workload, pod_set in pod_sets(fleet):
        for path, kind, name, _ in _claims(pod_set):
            if fleet.namespaces.find(_GROUP, kind, workload.namespace, name) is not None:
                continue
            elsewhere = [item for item in fleet.named(_GROUP, kind, name) if item.namespace]
            near = near_miss(name, fleet.names(_GROUP, kind, workload.namespace))
            if near:
                message = f'{kind} "{name}" is not in the input, but "{near}" is: the pod stays Pending'
                yield issue(pod_set, path, message, f'did you mean "{near}"?')
            elif elsewhere and workload.namespace:
                message = f'{kind} "{name}" is in namespace "{elsewhere[0].namespace}", '
                message += f'the pod in "{workload.namespace}", where it stays Pending'
                yield issue(pod_set, path, message, "make it in the pod's namespace: pods reach no other")


@rule("reference-claim-request", severity="error", family=FAMILY)
def claim_request(fleet: Fleet) -> Iterator[Issue]:
    """A container takes a request of a claim that the claim does not have.

    Why: `resources.claims[].request` is the name of one of the claim's `devices.requests`. Without such a request the
    container is not started.
    Fix: Name a request of the claim, or leave `request` out to take all its devices.
    """
    for workload, pod_set in pod_sets(fleet):
        holders: dict[str, Document] = {}
        for _, kind, name, claim in _claims(pod_set):
            found = fleet.namespaces.find(_GROUP, kind, workload.namespace, name)
            if found is not None and found.judged:
                holders[text(claim, "name")] = found
        for path, container in containers(pod_set) if holders else ():
            yield from _requests(pod_set, path, container, holders)


def _requests(pod_set: PodSet, path: Path, container: Node, holders: dict[str, Document]) -> Iterator[Issue]:
    for index, claim in mappings(container, "resources", "claims"):
        holder, request = holders.get(text(claim, "name")), text(claim, "request")
        if holder is None or not request:
            continue
        inner = ("spec", "spec") if holder.kind == "ResourceClaimTemplate" else ("spec",)
        has = [text(item, "name") for _, item in mappings(holder.manifest, *inner, "devices", "requests")]
        if request not in has and request.partition("/")[0] not in has:
            message = f'{named(container)} takes request "{request}" of claim "{text(claim, "name")}", '
            message += f'and {holder.kind} "{holder.name}" has {", ".join(has) or "none"}'
            fix = nearest(request, has) or "name one of its requests, or leave request out"
            yield issue(pod_set, (*path, "resources", "claims", index, "request"), message, fix)


def _claims(pod_set: PodSet) -> Iterator[tuple[Path, str, str, Node]]:
    """(path, kind, name, entry) of what the pod's claims are made of."""
    for index, claim in mappings(pod_set.spec, "resourceClaims"):
        for field, kind in _FIELDS.items():
            if name := text(claim, field):
                yield ("spec", "resourceClaims", index, field), kind, name, claim
