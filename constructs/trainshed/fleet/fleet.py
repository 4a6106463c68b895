"""A set of manifests read as one world: an index of names, typed objects, workloads, quota trees."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from trainshed.api.base import KubernetesObject
from trainshed.api.registry import model_for, scope_of
from trainshed.fleet.document import Document
from trainshed.spelling import Names
from trainshed.target import TARGET, Target

if TYPE_CHECKING:
    from trainshed.fleet.capacity import Capacity
    from trainshed.fleet.folders import Folders
    from trainshed.fleet.gang_marks import GangMarks
    from trainshed.fleet.kai_tree import KaiTree
    from trainshed.fleet.kueue_tree import KueueTree
    from trainshed.fleet.limit_ranges import LimitRanges
    from trainshed.fleet.namespaces import Namespaces
    from trainshed.fleet.runs import Run
    from trainshed.fleet.volcano_config import VolcanoConfig
    from trainshed.fleet.volcano_jobs import VolcanoJob
    from trainshed.fleet.volcano_tree import VolcanoTree
    from trainshed.fleet.workload import Workload
    from trainshed.fleet.yunikorn_config import YuniKornConfig

Kind = tuple[str, str]
_NO_NAMES: Final = Names()


class Fleet:
    """One world of documents. Everything derived is made on first use and kept.

    `baseline` is the fleet before the change, or None when no change is judged.
    """

    def __init__(
        self, documents: Iterable[Document], *, target: Target = TARGET, baseline: Fleet | None = None
    ) -> None:
        self.documents = list(documents)
        self.target = target
        self.baseline = baseline
        self._by_kind: dict[Kind, list[Document]] = {}
        self._by_name: dict[tuple[str, str, str, str], Document] = {}
        #: What `once` has worked out.
        self.kept: dict[object, Any] = {}
        self._models: dict[int, KubernetesObject | None] = {}
        self._names: dict[Kind, dict[str | None, Names]] = {}
        self._by_kind_and_name: dict[Kind, dict[str, list[Document]]] = {}
        for document in self.documents:
            self._by_kind.setdefault((document.group, document.kind), []).append(document)
            self._by_name.setdefault(document.identity, document)
            if document.namespace is not None and scope_of(document.api_version, document.kind) == "Cluster":
                # The API server ignores the namespace, so references find the object all the same.
                self._by_name.setdefault((document.group, document.kind, "", document.name), document)

    def of(self, *kinds: Kind) -> list[Document]:
        """The judged documents of these (group, kind) pairs, in input order within each kind."""
        return [item for kind in kinds for item in self._by_kind.get(kind, ()) if item.judged]

    def has_kind(self, group: str, kind: str) -> bool:
        """Whether there is any document of this kind, judged or not."""
        return (group, kind) in self._by_kind

    def find(self, group: str, kind: str, namespace: str | None, name: str) -> Document | None:
        """The document of this identity, whether it may be judged or not."""
        return self._by_name.get((group, kind, namespace or "", name))

    def named(self, group: str, kind: str, name: str) -> list[Document]:
        """The documents of this kind and name in all namespaces, judged or not."""
        key = (group, kind)
        if key not in self._by_kind_and_name:
            index: dict[str, list[Document]] = {}
            for document in self._by_kind.get(key, ()):
                index.setdefault(document.name, []).append(document)
            self._by_kind_and_name[key] = index
        return self._by_kind_and_name[key].get(name, [])

    def names(self, group: str, kind: str, namespace: str | None = None) -> Names:
        """The names of a kind, in `namespace` when one is given: for proposals. Made once."""
        key = (group, kind)
        if key not in self._names:
            found: dict[str | None, list[str]] = {None: []}
            for document in self._by_kind.get(key, ()):
                found[None].append(document.name)
                if document.namespace is not None:
                    found.setdefault(document.namespace, []).append(document.name)
            self._names[key] = {namespace: Names(names) for namespace, names in found.items()}
        return self._names[key].get(namespace, _NO_NAMES)

    def model(self, document: Document) -> Any:
        """The typed object of a document; None for kinds without a model and for objects that do not validate."""
        key = id(document)
        if key not in self._models:
            model = model_for(document.api_version, document.kind)
            try:
                self._models[key] = model.parse(document.manifest) if model and document.judged else None
            except ValidationError:
                self._models[key] = None
        return self._models[key]

    @cached_property
    def workloads(self) -> list[Workload]:
        """Every workload with its pod sets."""
        from trainshed.fleet.workloads import workloads_of

        return list(workloads_of(self))

    @cached_property
    def templates(self) -> list[Workload]:
        """Runtimes and other templates of pods that no workload of the input uses."""
        from trainshed.fleet.workloads import templates_of

        return list(templates_of(self))

    @cached_property
    def runs(self) -> list[Run]:
        """What the containers of every workload and template start."""
        from trainshed.fleet.runs import runs_of

        return list(runs_of(self))

    @cached_property
    def folders(self) -> Folders:
        """The folders that the objects stand in."""
        from trainshed.fleet.folders import Folders

        return Folders(self.documents)

    @cached_property
    def namespaces(self) -> Namespaces:
        """Labels of namespaces, and where objects land."""
        from trainshed.fleet.namespaces import Namespaces

        return Namespaces(self)

    @cached_property
    def limit_ranges(self) -> LimitRanges:
        """What LimitRanges put into containers."""
        from trainshed.fleet.limit_ranges import LimitRanges

        return LimitRanges(self)

    @cached_property
    def capacity(self) -> Capacity:
        """The hardware that the input declares."""
        from trainshed.fleet.capacity import capacity_of

        return capacity_of(self)

    @cached_property
    def kueue(self) -> KueueTree:
        """Kueue's queues, cohorts, flavors and settings."""
        from trainshed.fleet.kueue_tree import KueueTree

        return KueueTree(self)

    @cached_property
    def gang_marks(self) -> GangMarks:
        """The workloads that bear marks of a gang scheduler."""
        from trainshed.fleet.gang_marks import GangMarks

        return GangMarks(self)

    @cached_property
    def volcano(self) -> VolcanoTree:
        """Volcano's queues."""
        from trainshed.fleet.volcano_tree import VolcanoTree

        return VolcanoTree(self)

    @cached_property
    def volcano_jobs(self) -> list[VolcanoJob]:
        """Every job spec of Volcano."""
        from trainshed.fleet.volcano_jobs import volcano_jobs

        return volcano_jobs(self)

    @cached_property
    def volcano_configs(self) -> list[VolcanoConfig]:
        """The configurations of Volcano's scheduler."""
        from trainshed.fleet.volcano_config import volcano_configs

        return volcano_configs(self)

    @cached_property
    def kai(self) -> KaiTree:
        """KAI's queues."""
        from trainshed.fleet.kai_tree import KaiTree

        return KaiTree(self)

    @cached_property
    def yunikorn(self) -> list[YuniKornConfig]:
        """YuniKorn's queue configurations, the one that wins first."""
        from trainshed.fleet.yunikorn_config import yunikorn_configs

        return yunikorn_configs(self)
