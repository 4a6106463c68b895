"""What a person writes in a stack: a cdk8s construct that renders API objects."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, cast

from constructs import Construct

from trainshed.api.base import KubernetesObject
from trainshed.faults import Fault, Place, frame_place

if TYPE_CHECKING:
    from trainshed.gitops.application import Application
    from trainshed.gitops.cluster import Cluster

_MACHINERY = ("trainshed.", "jsii.", "constructs.", "importlib.")


class Component(Construct):
    """A construct that renders API objects, and knows where in the stack it was written.

    It belongs to the nearest enclosing `Application`; made directly in a `Cluster`, to the application that
    `home()` names. Mistakes are reported with `fault()` and collected over the whole run, so a constructor does not
    raise for a wrong value; `render()` is called once, at synth, when the whole cluster is known.
    """

    #: The application of components made directly in a cluster.
    default_application: ClassVar[str] = "platform"

    def __init__(self, scope: Construct, id: str) -> None:
        self.id = id
        self.place: Place = calling_place()
        self.cluster: Cluster = cluster_of(scope)
        # The kind is part of the construct's id: a tenant and its application, or a run in two forms, share a name.
        self.path: str = self.cluster.free_path(f"{path_of(scope)}/{type(self).__name__}.{id}", self)
        super().__init__(scope, self.path.rpartition("/")[2])
        self.scope = scope
        self.cluster.add(self)

    def render(self) -> Iterable[KubernetesObject]:
        """The API objects of this component. Called once per synth."""
        return ()

    def validate(self) -> Iterable[Fault]:
        """Mistakes that only show once the whole cluster is known. Called before any `render()`."""
        return ()

    def home(self) -> str:
        """The name of the application that takes a component made directly in a cluster."""
        return self.default_application

    @property
    def application(self) -> Application:
        """The application (folder in `dist/`) that this component is rendered into."""
        from trainshed.gitops.application import Application

        scope: Construct | None = self.scope
        while scope is not None and scope is not self.cluster:
            if isinstance(scope, Application):
                return scope
            scope = scope_of(scope)
        return self.cluster.application(self.home())

    @property
    def title(self) -> str:
        """How messages name this component: `Tenant "high"`."""
        return f'{type(self).__name__} "{self.id}"'

    def fault(self, message: str, *, field: str = "", fix: str = "") -> None:
        """Reports a mistake at the place where this component was written; the run then writes nothing."""
        self.cluster.report(Fault(message, self.title, field, fix, self.place))


_written_at: list[Place] = []


@contextmanager
def written_at(place: Place) -> Iterator[None]:
    """Components made in this context stand at `place`: a line of a tenant file rather than of Python."""
    _written_at.append(place)
    try:
        yield
    finally:
        _written_at.pop()


def calling_place() -> Place:
    """The place outside Trainshed and jsii from which the current call came."""
    if _written_at:
        return _written_at[-1]
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_MACHINERY):
        frame = frame.f_back
    return frame_place(frame)


def scope_of(construct: Construct) -> Construct | None:
    """The parent of a construct; ours remember it, others are asked through jsii."""
    known = getattr(construct, "scope", None)
    return known if isinstance(known, Construct) else cast("Construct | None", construct.node.scope)


def path_of(construct: Construct) -> str:
    """The construct path, without a jsii call for our own constructs."""
    known = getattr(construct, "path", None)
    return known if isinstance(known, str) else str(construct.node.path)


def cluster_of(scope: Construct) -> Cluster:
    """The cluster around `scope`. Raises ValueError when there is none."""
    from trainshed.gitops.cluster import Cluster

    around: Construct | None = scope
    while around is not None:
        if isinstance(around, Cluster):
            return around
        around = scope_of(around)
    raise ValueError(f'"{path_of(scope)}" is in no Cluster; make components inside a Cluster')
