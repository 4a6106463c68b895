"""What a person writes in a stack: a cdk8s construct that renders API objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from constructs import Construct

from trainshed.api.base import Broken, KubernetesObject
from trainshed.api.explain_words import shown
from trainshed.faults import Fault, Faults, Place
from trainshed.gitops.allowances import Allowance
from trainshed.gitops.arguments import Signature, faults_in, placed, title_of
from trainshed.gitops.values import calling_place, places_written_in

if TYPE_CHECKING:
    from trainshed.gitops.application import Application
    from trainshed.gitops.cluster import Cluster

_OURS: Final = "trainshed."
_NO_NAME: Final = "?"


class Component(Construct):
    """A construct that renders API objects, and knows where in the stack it was written.

    It belongs to the nearest enclosing `Application`; made directly in a `Cluster`, to the application that
    `home()` names. Mistakes are reported with `fault()` and collected over the whole run, so a constructor does not
    raise for a wrong value; `render()` is called once, at synth, when the whole cluster is known.

    The arguments of our own components are judged by the hints of their constructors. Where one does not fit, the
    constructor does not run: the component is broken, is neither judged further nor rendered, and so is what it is
    handed to, silently: the cause is told once.
    """

    #: The application of components made directly in a cluster.
    default_application: ClassVar[str] = "platform"
    #: The kind of the object that a component is first of all, where it renders others beside it.
    main_kind: ClassVar[str] = ""
    #: Whether mistakes in it keep everything from being said about it, and about what it is handed to.
    is_broken: bool = False

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "__init__" in vars(cls) and cls.__module__.startswith(_OURS):
            cls.__init__ = _judging(cls.__init__)  # type: ignore[method-assign]  # the same constructor, guarded

    def __init__(self, scope: Construct, id: str) -> None:
        self.id = id
        self.place: Place = calling_place()
        self.allowances: list[Allowance] = []
        self._places = places_written_in()
        self.cluster: Cluster = cluster_of(scope)
        # The kind is part of the construct's id: a tenant and its application, or a run in two forms, share a name.
        path = f"{path_of(scope)}/{type(self).__name__}.{id}"
        self.path: str = self.cluster.free_path(path, self)
        super().__init__(scope, self.path.removeprefix(f"{path_of(scope)}/"))
        self.scope = scope
        if self.path == path and not self.is_broken:  # what is told already is judged no further
            self.cluster.add(self)

    def allow(self, *codes: str, kind: str = "", namespace: str = "") -> None:
        """Lets findings of `trainshed check` pass, by their `codes`, on the main object of this component: a tenant's
        ClusterQueue, a pool's ResourceFlavor, a run itself. `kind` means another one that it renders, `namespace` the
        one there (without: each of that kind).

        The object gets the annotation `trainshed.dev/allow`, which is no part of a run's name: it stays the same run.
        What is no code, and what means no object, is told.
        """
        self.allowances.append(Allowance(codes, kind, namespace, calling_place()))

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
        return f"{type(self).__name__} {shown(self.id)}"

    def instead(self, wanted: Sequence[str]) -> str:
        """How this component gives what is `wanted` (names of classes), where it is not that itself."""
        return ""

    def fault(self, message: str, *, field: str = "", fix: str = "", at: tuple[int | str, ...] = ()) -> None:
        """Reports a mistake where this component was written; the run then writes nothing. `at`: see `place_of`."""
        self.cluster.report(Fault(message, self.title, field, fix, self.place_of(*at)))

    def spoil(self, broken: Iterable[Broken]) -> None:
        """Reports what is `broken` in the arguments together; if anything is, the component is broken."""
        for one in broken:
            self.is_broken = True
            self.fault(one.message, field=one.field, fix=one.fix)

    def place_of(self, *path: int | str) -> Place:
        """Where a part of this component was written: the line of that key in a tenant file, otherwise `place`."""
        return self._places(path) if self._places and path else self.place

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What a broken component does not have: asking for it tells the mistakes themselves."""
            if self.is_broken and not name.startswith("__") and (told := self.cluster.broken.get(self)):
                raise Faults(told)
            raise AttributeError(f"{type(self).__name__} has no {name}", name=name, obj=self)


def _judging(init: Callable[..., None]) -> Callable[..., None]:
    """`init`, run only with arguments that fit its hints."""
    signature = Signature(init)

    @wraps(init)
    def judging(self: Component, *args: Any, **given: Any) -> None:
        scope, args, swapped = placed(type(self), args, given)
        named, broken = signature.bound(args, given)
        try:
            cluster = cluster_of(scope)
        except Faults as found:
            raise Faults(replace(fault, object=title_of(type(self), named)) for fault in found.faults) from None
        broken = [*swapped, *broken, *signature.judged(named, cluster)]
        if not broken:
            init(self, *args, **given)
            return
        id = named.get("id")
        self.is_broken = True
        Component.__init__(self, scope, id if isinstance(id, str) else _NO_NAME)
        name = named.get("name")
        vars(self)["name"] = name if isinstance(name, str) else self.id
        self.cluster.set_aside(self, faults_in(broken, title_of(type(self), named)))

    return judging


def scope_of(construct: Construct) -> Construct | None:
    """The parent of a construct; ours remember it, others are asked through jsii."""
    known = getattr(construct, "scope", None)
    return known if isinstance(known, Construct) else cast("Construct | None", construct.node.scope)


def path_of(construct: Construct) -> str:
    """The construct path, without a jsii call for our own constructs."""
    known = getattr(construct, "path", None)
    return known if isinstance(known, str) else str(construct.node.path)


def cluster_of(scope: Construct) -> Cluster:
    """The cluster around `scope`. Raises Faults when there is none."""
    from trainshed.gitops.cluster import Cluster

    around: Construct | None = scope
    while around is not None:
        if isinstance(around, Cluster):
            return around
        around = scope_of(around)
    told = f"is in no Cluster: it is made in {type(scope).__name__}"
    raise Faults([Fault(told, "", "scope", "make components inside a Cluster", calling_place())])
