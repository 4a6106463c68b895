"""What LimitRanges of a namespace put into containers that say nothing.

kubernetes v1.36, `plugin/pkg/admission/limitranger` and `pkg/apis/core/v1/defaults.go` (SetDefaults_LimitRangeItem).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from trainshed.fleet.access import mapping, mappings
from trainshed.fleet.amounts import Amounts, amounts

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


class Defaults(NamedTuple):
    """Limits and requests for the containers of a namespace."""

    limits: Amounts
    requests: Amounts


class LimitRanges:
    """The container defaults of each namespace that has LimitRanges in the input. Where several set one resource, the
    first one wins; which that is, Kubernetes leaves open."""

    def __init__(self, fleet: Fleet) -> None:
        self._defaults: dict[str, Defaults] = {}
        for document in fleet.of(("", "LimitRange")):
            namespace = fleet.namespaces.of(document)
            if namespace is None:
                continue
            kept = self._defaults.setdefault(namespace, Defaults({}, {}))
            for _, item in mappings(document.manifest, "spec", "limits"):
                if item.get("type") == "Container":
                    limits = amounts(mapping(item, "max")) | amounts(mapping(item, "default"))
                    requests = amounts(mapping(item, "min")) | limits | amounts(mapping(item, "defaultRequest"))
                    for name, amount in limits.items():
                        kept.limits.setdefault(name, amount)
                    for name, amount in requests.items():
                        kept.requests.setdefault(name, amount)

    def of(self, namespace: str | None) -> Defaults | None:
        """The defaults in `namespace`; None where none are known."""
        return self._defaults.get(namespace) if namespace is not None else None
