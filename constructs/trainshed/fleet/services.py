"""Services by namespace: which of them select the pods of a run."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from trainshed.fleet.access import dig, mapping
from trainshed.fleet.addresses import headless
from trainshed.fleet.document import Document
from trainshed.fleet.pod_labels import PodLabels
from trainshed.spelling import Names

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


class Services:
    """The Services of a namespace, indexed by their names and by what they select."""

    def __init__(self) -> None:
        self.all: list[Document] = []
        self._by_label: dict[tuple[str, object], list[int]] = {}
        self._by_key: dict[str, list[int]] = {}

    def add(self, service: Document) -> None:
        """Adds one."""
        key, value = next(iter(mapping(service.manifest, "spec", "selector").items()), ("", None))
        self._by_label.setdefault((key, value if isinstance(value, str) else None), []).append(len(self.all))
        self._by_key.setdefault(key, []).append(len(self.all))
        self.all.append(service)

    @cached_property
    def names(self) -> Names:
        """Their names."""
        return Names(item.name for item in self.all)

    def selecting(self, labels: PodLabels) -> Document | None:
        """The first Service that takes the pods, or some of them; a headless one where there is one."""
        likely = [index for label in labels.labels.items() for index in self._by_label.get(label, ())]
        likely += [index for key in labels.varying for index in self._by_key.get(key, ())]
        first: Document | None = None
        for index in sorted(set(likely)):
            service = self.all[index]
            if labels.selected(dig(service.manifest, "spec", "selector")) is not False:
                if headless(service):
                    return service
                first = first or service
        return first


def services_of(fleet: Fleet) -> dict[str | None, Services]:
    """The Services by the namespace that is written in them, and by the one that they land in."""
    found: dict[str | None, Services] = {}
    for item in fleet.of(("", "Service")):
        for place in dict.fromkeys((item.namespace, fleet.namespaces.of(item))):
            found.setdefault(place, Services()).add(item)
    return found
