"""Values that a stack makes and hands to components: `Training`, `Share`, …

Within `App.build` a mistake in one is told with all others of the run instead of ending it: the value is then broken,
and whoever gets it says nothing more. Anywhere else the mistake is raised.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from pydantic import BaseModel, Field, GetPydanticSchema, ValidationError

from trainshed.api.base import Model
from trainshed.api.explain import faults_of
from trainshed.faults import Fault, Faults, Place, frame_place

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

Places = Callable[[tuple[int | str, ...]], Place]
V = TypeVar("V", bound="Value")

_TOLD = "_told"
_MACHINERY = ("trainshed.", "jsii.", "constructs.", "importlib.", "pydantic.")

_collectors: list[list[Fault]] = []
_written_in: list[Places] = []


@contextmanager
def faults_collected(faults: list[Fault]) -> Iterator[None]:
    """Mistakes in values that are made in this context go to `faults`."""
    _collectors.append(faults)
    try:
        yield
    finally:
        _collectors.pop()


def is_broken(thing: Any) -> bool:
    """Whether the mistakes of a value or component are told already, so that nothing more is to be said about it."""
    return hasattr(type(thing), "is_broken") and thing.is_broken is True


def read_as(kind: Any) -> GetPydanticSchema:
    """Marks a field (`Annotated[what people may write, read_as(kind)]`) whose value is judged as a `kind` and kept as
    one: its hint is for whoever writes the field, `kind` for whoever reads it."""
    return GetPydanticSchema(lambda _, handler: handler(kind))


@dataclass_transform(kw_only_default=True, field_specifiers=(Field,))  # a metaclass does not inherit pydantic's
class _Collecting(ModelMetaclass):
    if not TYPE_CHECKING:  # a type checker looks at the fields

        def __call__(cls, *args: Any, **fields: Any) -> Any:  # noqa: N805  (of a metaclass)
            if args:
                told = f"takes its fields by name, and {len(args)} {'are' if len(args) > 1 else 'is'} given without"
                fault = Fault(told, cls.__name__, "", f"write {cls.example}", calling_place())
                return _broken(cls, [fault])
            try:
                return super().__call__(**fields)
            except ValidationError as error:
                if not _collectors:
                    raise
                return _broken(cls, faults_of(error, object=cls.__name__, place=calling_place(), python=True))
            except Faults as found:  # of a broken value in it
                return _broken(cls, found.faults)


class Value(Model, metaclass=_Collecting):
    """A model that people make in stacks."""

    #: How one is written, for messages.
    example: ClassVar[str] = ""

    @property
    def is_broken(self) -> bool:
        """Whether it has mistakes, which are told already; then it has no fields."""
        return _TOLD in vars(self)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The value with other fields: judged as if it were made anew, unlike pydantic's. A broken one stays broken."""
        if not update or self.is_broken:
            return super().model_copy(deep=deep)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        aliases = {field.alias: name for name, field in type(self).model_fields.items()}
        changed = type(self)(**{**given, **{aliases.get(name, name): value for name, value in update.items()}})
        return changed.model_copy(deep=True) if deep else changed

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("__") and (told := vars(self).get(_TOLD)):
                raise Faults(told)
            return super().__getattr__(name)


def made(kind: type[V], title: str, fields: Mapping[str, Any], renamed: Callable[[str], str]) -> V:
    """A value made by a function of ours: mistakes name the function (`title`) and its arguments (`renamed`)."""
    try:
        return kind.model_validate(dict(fields))
    except ValidationError as error:
        faults = [
            Fault(one.message, title, renamed(one.field), one.fix, calling_place())
            for one in faults_of(error, model=kind, python=True)
        ]
        return _broken(kind, faults)


def _broken(kind: type[V], faults: list[Fault] | tuple[Fault, ...]) -> V:
    if not _collectors:
        raise Faults(faults)
    _collectors[-1].extend(faults)
    value = kind.model_construct()
    vars(value)[_TOLD] = tuple(faults)
    return value


@contextmanager
def written_in(places: Places) -> Iterator[None]:
    """What is made in this context is written in a file, whose keys have `places`; it stands at its `name`."""
    _written_in.append(places)
    try:
        yield
    finally:
        _written_in.pop()


def places_written_in() -> Places | None:
    """The places of the file that is being read into components, if any."""
    return _written_in[-1] if _written_in else None


def calling_place() -> Place:
    """The place outside Trainshed and its libraries from which the current call came."""
    if _written_in:
        return _written_in[-1](("name",))
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_MACHINERY):
        frame = frame.f_back
    return frame_place(frame)
