"""An application: a cdk8s chart, a folder in `dist/`, and one Argo CD Application."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jsii
from cdk8s import Chart
from constructs import Construct
from pydantic import ValidationError

from trainshed import naming
from trainshed.api.base import KubernetesObject, Manifest
from trainshed.api.explain import faults_of
from trainshed.api.types import DnsLabel
from trainshed.faults import Fault, Faults, Place
from trainshed.gitops import waves
from trainshed.gitops.allowances import allowed
from trainshed.gitops.arguments import refused
from trainshed.gitops.component import Component, cluster_of, path_of
from trainshed.gitops.failures import faults_from_exception
from trainshed.gitops.names import ARGOCD, PLATFORM, Name
from trainshed.gitops.values import calling_place

if TYPE_CHECKING:
    from trainshed.gitops.cluster import Cluster


@dataclass(frozen=True)
class Rendered:
    """One manifest on its way to `dist/`, and the construct it comes from."""

    manifest: Manifest
    path: str
    place: Place | None = None


@dataclass
class Access:
    """What Argo CD lets an application write: its namespaces, and (group, kind) pairs in them.

    Without `kinds`, those are the usual workloads and whatever kinds the application holds. An application with
    `platform=True` may write cluster-scoped kinds and every namespace of its cluster. `place` is where it was decided.
    """

    namespaces: list[str] = field(default_factory=list)
    kinds: Sequence[tuple[str, str]] | None = None
    platform: bool = False
    place: Place | None = None


class Application(Chart):
    """One folder in `dist/` = one Argo CD Application. Components and any other cdk8s construct may stand in it.

    `namespaces` are those it may write to; an application of a tenant gets them from the tenant. Those called
    `platform` and `argocd` may write cluster-scoped kinds and every namespace. Raises Faults when the cluster has one
    of that name already.
    """

    @refused
    def __init__(
        self, scope: Construct, id: Name, *, namespaces: Sequence[DnsLabel] = (), access: Access | None = None
    ) -> None:
        self.cluster: Cluster = cluster_of(scope)
        place = (access and access.place) or calling_place()
        earlier = self.cluster.applications.get(id) or self.cluster.granted.get(id)
        refuse_twin("Application", id, place, earlier.place if earlier else None)
        super().__init__(scope, id, disable_resource_name_hashes=True)
        self.scope = scope
        self.id = id
        self.place: Place = place
        self.path = f"{path_of(scope)}/{id}"
        self.access = access or Access(list(namespaces), platform=id in (PLATFORM, ARGOCD))
        self.cluster.add_application(self)
        if error := naming.dns1123_label_error(id):
            self.cluster.report(Fault(error, f'Application "{id}"', "name", place=self.place))

    @jsii.member(jsii_name="toJson")
    def to_json(self) -> list[Any]:
        """All manifests of this application, so that `cdk8s.Testing.synth` shows what `dist/` will hold.

        Raises Faults when a component cannot be rendered.
        """
        before = len(self.cluster.faults)
        manifests = [item.manifest for item in self.rendered(self.cluster.components_of(self))]
        if len(self.cluster.faults) > before:
            raise Faults(self.cluster.faults[before:])
        return manifests

    def rendered(self, components: Sequence[Component]) -> Iterator[Rendered]:
        """Every manifest of this application, finished for Argo CD; mistakes go to `cluster.report()`."""
        for component in components:
            if component.is_broken:
                continue
            try:
                made = list(component.render())
            except ValidationError as error:
                self.cluster.faults.extend(faults_of(error, object=component.title, place=component.place, python=True))
                continue
            except Exception as error:
                self.cluster.faults.extend(
                    fault.at(component.place, component.title) for fault in faults_from_exception(error)
                )
                continue
            manifests = [finished(item) for item in made]
            if component.allowances:
                self.cluster.faults.extend(
                    allowed(component.allowances, manifests, component.main_kind, component.title)
                )
            for manifest in manifests:
                yield Rendered(manifest, component.path, component.place)
        inside = sum(1 for component in components if component.enclosing_application is self)
        if len(self.node.find_all()) > inside + 1:  # other cdk8s constructs: only then is Node asked to render
            for manifest in super().to_json():
                yield Rendered(with_sync(manifest), self.path, self.place)


def refuse_twin(kind: str, name: str, place: Place, earlier: Place | None) -> None:
    """Raises Faults when there is an `earlier` one: constructs of one name cannot stand side by side."""
    if earlier is not None:
        raise Faults([Fault(f"is made twice, first at {earlier}", f'{kind} "{name}"', "", "rename one", place)])


def finished(made: KubernetesObject) -> Manifest:
    """The manifest of an API object with its sync wave and sync options."""
    return with_sync(made.manifest())


def with_sync(manifest: Manifest) -> Manifest:
    """`manifest` with the sync wave and options of its kind; what is written by hand stays."""
    group, slash, _ = manifest["apiVersion"].rpartition("/")
    group = group if slash else ""
    kind = manifest["kind"]
    metadata = manifest["metadata"]
    annotations = metadata["annotations"] = metadata.get("annotations") or {}
    annotations.setdefault(waves.WAVE_ANNOTATION, str(waves.wave(group, kind)))
    if options := waves.sync_options(group, kind):
        annotations.setdefault(waves.OPTIONS_ANNOTATION, options)
    return manifest
