"""What a person writes in a stack: a cdk8s construct that renders API objects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, cast

from constructs import Construct

from trainshed.api.base import KubernetesObject
from trainshed.faults import Fault, Place, frame_place

if TYPE_CHECKING:
    from trainshed.gitops.application import Application
    from trainshed.gitops.cluster import Cluster

Places = Callable[[tuple[int | str, ...]], Place]

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
        self._places: Places | None = _written_in[-1] if _written_in else None
        self.cluster: Cluster = cluster_of(scope)
        # The kind is part of the construct's id: a tenant and its application, or a run in two forms, share a name.
        path = f"{path_of(scope)}/{type(self).__name__}.{id}"
        self.path: str = self.cluster.free_path(path, self)
        super().__init__(scope, self.path.rpartition("/")[2])
        self.scope = scope
        if self.path == path:  # one that stands in another's place is told already, and judged no further
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
        return self.enclosing_application or self.cluster.application(self.home())

    @property
    def enclosing_application(self) -> Application | None:
        """The application that this component was made in, if any."""
        from trainshed.gitops.application import Application

        scope: Construct | None = self.scope
        while scope is not None and scope is not self.cluster:
            if isinstance(scope, Application):
                return scope
            scope = scope_of(scope)
        return None

    @property
    def title(self) -> str:
        """How messages name this component: `Tenant "high"`."""
        return f'{type(self).__name__} "{self.id}"'

    def fault(self, message: str, *, field: str = "", fix: str = "", at: tuple[int | str, ...] = ()) -> None:
        """Reports a mistake where this component was written; the run then writes nothing. `at`: see `place_of`."""
        self.cluster.report(Fault(message, self.title, field, fix, self.place_of(*at)))

    def listed(self, given: Iterable[str], field: str) -> list[str]:
        """`given` as a list; a single string, which would fall apart into letters, is a mistake."""
        if isinstance(given, str):
            self.fault(f'is the string "{given}", must be a list', field=field, fix=f'write ["{given}"]')
            return [given]
        return list(given)

    def place_of(self, *path: int | str) -> Place:
        """Where a part of this component was written: the line of that key in a tenant file, otherwise `place`."""
        return self._places(path) if self._places and path else self.place


_written_in: list[Places] = []


@contextmanager
def written_in(places: Places) -> Iterator[None]:
    """Components made in this context are written in a file, whose keys have `places`; they stand at its `name`."""
    _written_in.append(places)
    try:
        yield
    finally:
        _written_in.pop()


def calling_place() -> Place:
    """The place outside Trainshed and jsii from which the current call came."""
    if _written_in:
        return _written_in[-1](("name",))
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
