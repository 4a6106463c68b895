"""A cluster: the unit that one set of Argo CD Applications deploys to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

from constructs import Construct

from trainshed import naming
from trainshed.addresses import server_error
from trainshed.api.explain_words import shown
from trainshed.api.types import shaped
from trainshed.faults import Fault, Faults, Place
from trainshed.gitops.application import Access, Application, Rendered, finished, refuse_twin
from trainshed.gitops.argocd import access_faults, argocd_objects
from trainshed.gitops.arguments import refused
from trainshed.gitops.component import Component
from trainshed.gitops.layout import identity
from trainshed.gitops.names import ARGOCD, Name
from trainshed.gitops.values import calling_place

if TYPE_CHECKING:
    from trainshed.gitops.app import App

C = TypeVar("C")


class Cluster(Construct):
    """One Kubernetes cluster. Subclass it and make components in `__init__`; its folder is `dist/<name>/`.

    `server` is the API server's address as Argo CD knows it.
    """

    @refused
    def __init__(
        self, scope: App, name: Name, *, server: Annotated[str, shaped(server_error)] = "https://kubernetes.default.svc"
    ) -> None:
        place = calling_place()
        refuse_twin("Cluster", name, place, next((one.place for one in scope.clusters if one.id == name), None))
        super().__init__(scope, name)
        self.app = scope
        self.scope = scope
        self.id: str = name
        self.path = name
        self.server = server
        self.place: Place = place
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []  # told by `App.synth()`, and no reason to stop
        self.components: list[Component] = []
        self.broken: dict[Component, list[Fault]] = {}
        self._by_class: dict[type, list[Component]] = {}
        self._first: dict[str, Component] = {}
        self.paths: dict[str, Component] = {}
        self.applications: dict[str, Application] = {}
        self.granted: dict[str, Access] = {}
        self.unsettled: set[str] = set()  # applications of whose access something is told already
        scope.add(self)
        if error := naming.dns1123_label_error(name):
            self.report(Fault(error, f"Cluster {shown(name)}", "name", place=self.place))

    def free_path(self, path: str, component: Component) -> str:
        """`path`; when a component stands there already, that is reported and another path returned."""
        earlier = self.paths.setdefault(path, component)
        if earlier is component:
            return path
        if not component.is_broken:
            told = f"is made twice, first at {earlier.place}"
            self.report(Fault(told, component.title, "", "rename one", component.place))
        self.unsettled.add(component.id)
        return self.free_path(f"{path}~", component)

    def add(self, component: Component) -> None:
        """Called by each component as it is made."""
        self.components.append(component)
        for kind in type(component).__mro__:
            self._by_class.setdefault(kind, []).append(component)

    def all_of(self, kind: type[C]) -> Sequence[C]:
        """The components of a class and of those below it, in the order they were made."""
        return cast("list[C]", self._by_class.get(kind, []))

    def set_aside(self, component: Component, faults: list[Fault]) -> None:
        """Called by each component that is broken: its mistakes are told, and no more of it."""
        self.broken[component] = faults
        self.faults.extend(faults)

    def declared(self, kind: type[C]) -> list[C]:
        """The components of a class, the broken ones among them: they are declared, if badly, and have a name."""
        return [*self.all_of(kind), *(component for component in self.broken if isinstance(component, kind))]

    def first(self, key: str, component: Component) -> Component:
        """The first component that claimed `key`: the owner of what only one may have, or may make."""
        return self._first.setdefault(key, component)

    def add_application(self, application: Application) -> None:
        """Called by each application as it is made."""
        self.applications[application.id] = application

    def report(self, fault: Fault) -> None:
        """Collects a mistake; `render()` raises them all."""
        self.faults.append(fault)

    def grant(self, name: str, access: Access) -> None:
        """Says what the application called `name` may write, should something be put into it."""
        self.granted.setdefault(name, access)

    def application(self, name: str) -> Application:
        """The application called `name`, made on first use. `platform` may write cluster-scoped kinds."""
        if name not in self.applications:
            Application(self, name, access=self.granted.pop(name, None))
        return self.applications[name]

    def components_of(self, application: Application) -> list[Component]:
        """The components rendered into `application`, in the order they were made."""
        return [component for component in self.components if component.application is application]

    def render(self) -> dict[str, list[Rendered]]:
        """The finished manifests of the cluster by application name. Raises Faults with every mistake found."""
        for component in self.components:
            self.faults.extend(() if component.is_broken else component.validate())
        homes: dict[str, list[Component]] = {}
        for component in self.components:
            homes.setdefault(component.application.id, []).append(component)
        made = {
            name: list(application.rendered(homes.get(name, [])))
            for name, application in sorted(self.applications.items())
        }
        if self.app.repository is not None:
            for name, items in made.items():
                if name in self.unsettled:
                    continue
                self.faults.extend(access_faults(self.applications[name], items))
            # They are named after clusters and applications: of a bad name only its owner is told.
            objects = () if self.faults else argocd_objects(self, made, self.app.repository)
            made[ARGOCD] = made.get(ARGOCD, []) + [
                Rendered(finished(item), f"{self.path}/{ARGOCD}", self.place) for item in objects
            ]
        self.faults.extend(_duplicates(self.id, made))
        if self.faults:
            raise Faults(self.faults)
        return {name: rendered for name, rendered in made.items() if rendered}


def _duplicates(cluster: str, made: dict[str, list[Rendered]]) -> Iterator[Fault]:
    """Two objects with one identity: cdk8s would keep one of them and say nothing (cdk8s#2821)."""
    first: dict[tuple[str, str, str, str], Rendered] = {}
    for rendered in (item for items in made.values() for item in items):
        key = identity(rendered.manifest)
        if (earlier := first.setdefault(key, rendered)) is not rendered:
            _, kind, namespace, name = key
            where = f' in namespace "{namespace}"' if namespace else ""
            yield Fault(
                f'{kind} "{name}"{where} is made twice in cluster "{cluster}": by {earlier.path} '
                f"({earlier.place}) and by {rendered.path}",
                fix="give one of them another name",
                place=rendered.place,
            )
