"""Whether a value is what a type hint says, told in the words that all mistakes are told in.

Hints of constructors are read as they stand: what a type checker sees and what a person is told is one text. Plain data
with bounds or a shape (`Annotated[…]`) is left to pydantic; classes, lists, mappings and unions are taken apart here.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from trainshed.api import explain_words as words
from trainshed.api.base import Broken
from trainshed.api.explain import faults_of
from trainshed.faults import encodable
from trainshed.gitops.values import is_broken
from trainshed.quantity import Quantity

#: Names a class when a value of it was meant, in messages; `example` says how one is written.
_PHRASES: Final[Mapping[object, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    Quantity: "a quantity such as 8 or 64Gi",
    type(None): "None",
}
_LISTS: Final = (list, tuple, Sequence, Iterable)

#: Says nothing: what is wrong with the value was told where it was made.
_TOLD: Final = Broken("", "")


@dataclasses.dataclass(eq=False)
class _Option:
    """One member of a union, taken apart once: typing's own functions cost more than the comparison."""

    whole: Any
    bare: Any
    origin: Any
    args: tuple[Any, ...]

    @cached_property
    def validate(self) -> Callable[[Any], Any]:
        """Judges bounds and shapes."""
        return TypeAdapter(self.whole, config=ConfigDict(arbitrary_types_allowed=True)).validate_python


#: By the identity of a hint, which stands beside, so that it keeps its identity.
_read: Final[dict[int, tuple[Any, list[_Option]]]] = {}


def _read_options(hint: Any) -> list[_Option]:
    if (known := _read.get(id(hint))) is None:
        options = [_Option(one, bare := _bare(one), get_origin(bare), get_args(bare)) for one in _options(hint)]
        known = _read[id(hint)] = (hint, options)
    return known[1]


def misfits(value: Any, hint: Any, field: str, cluster: Any = None) -> Iterator[Broken]:
    """What keeps `value` from being a `hint`; fields begin with `field`. An empty message: it is told already.

    Components in it have to belong to `cluster`, if that is given.
    """
    if is_broken(value):
        yield _TOLD
        return
    if isinstance(value, str) and not value.isascii() and encodable(value) != value:
        yield Broken(field, f'"{encodable(value)}" has half a character in it (a lone surrogate)', "leave it out")
        return
    options = _read_options(hint)
    for option in options:
        if _is_kind(value, option):
            yield from _inside(value, option, field, cluster)
            return
    yield Broken(field, *_refusal(value, [option.whole for option in options]))


def told_of(value: Any) -> str:
    """How messages call a value: a component by its title, all else by its type and text."""
    title = getattr(value, "title", None)
    return title if isinstance(title, str) and not isinstance(value, str) else words.described(value)


def _is_component(value: Any) -> bool:
    return hasattr(type(value), "place_of")


def _options(hint: Any) -> Iterator[Any]:
    """The members of a union; `Annotated` stays around its type."""
    if get_origin(hint) in (Union, types.UnionType):
        for member in get_args(hint):
            yield from _options(member)
    else:
        yield hint


def _bare(hint: Any) -> Any:
    return _bare(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


def _is_kind(value: Any, option: _Option) -> bool:
    """Whether the outermost type fits; what is inside comes later."""
    bare, origin = option.bare, option.origin
    if bare is str or bare is bool:
        return isinstance(value, bare)
    if bare is Any or bare is object or isinstance(bare, TypeVar):
        return True
    if origin in (Union, types.UnionType):
        return any(_is_kind(value, member) for member in _read_options(bare))
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in option.args)
    kind = origin or bare
    if kind in _LISTS or (isinstance(kind, type) and kind not in (str, bytes) and issubclass(kind, list | tuple)):
        return isinstance(value, list | tuple) or (isinstance(value, Sequence) and not isinstance(value, str | bytes))
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is Callable:
        return callable(value)
    if bare is None:
        return value is None
    return isinstance(value, kind) if isinstance(kind, type) else True


def _inside(value: Any, option: _Option, field: str, cluster: Any) -> Iterator[Broken]:
    if _is_component(value) and cluster is not None and value.cluster is not cluster:
        mine, its = cluster.id, value.cluster.id
        fix = f'use one of cluster "{mine}", or External("…") for an object that exists there already'
        yield Broken(field, f'{value.title} belongs to cluster "{its}", this is cluster "{mine}"', fix)
        return
    args = option.args
    found: list[Broken] = []
    if isinstance(value, Mapping) and len(args) == 2:
        found = [broken for item in value.items() for broken in _entry(*item, args, field, cluster)]
    elif args and isinstance(value, Sequence) and not isinstance(value, str) and option.origin is not Literal:
        found = [
            broken
            for index, item in enumerate(value)
            for broken in misfits(item, args[0], f"{field}[{index}]", cluster)
        ]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = _hints_of(type(value))
        for part in dataclasses.fields(value):
            inner = getattr(value, part.name)
            where = field if _is_component(inner) else f"{field}.{part.name}"
            found.extend(misfits(inner, hints[part.name], where, cluster))
    yield from found
    if not found and option.whole is not option.bare:
        yield from _shape(value, option, field)


def _entry(key: Any, value: Any, args: tuple[Any, ...], field: str, cluster: Any) -> Iterator[Broken]:
    known = _read_options(args[0])[0].bare
    name = key if isinstance(key, str) else getattr(key, "id", key)
    if isinstance(known, type) and known is not str and not isinstance(key, known):
        shown = words.shown(key) if isinstance(key, str) else told_of(key)
        yield Broken(field, f"{shown} is no {known.__name__}", f"use the {known.__name__} itself as the key")
        return
    if known is str and not isinstance(key, str):
        yield Broken(field, f"has {told_of(key)} as a key", "write keys as strings")
        return
    text = str(name)
    inner = f"{field}.{text}" if _is_component(key) else f"{field}[{text}]"
    if _is_component(key):
        yield from misfits(key, args[0], field, cluster)
    else:
        for broken in misfits(key, args[0], inner):
            yield Broken(inner, f"the key is wrong: {broken.message}", broken.fix)
    yield from misfits(value, args[1], inner, cluster)


def _shape(value: Any, option: _Option, field: str) -> Iterator[Broken]:
    """Bounds and shapes that stand in `Annotated`."""
    try:
        option.validate(value)
    except ValidationError as error:
        for fault in faults_of(error, python=True):
            path = fault.field
            yield Broken(field + (f".{path}" if path and not path.startswith("[") else path), fault.message, fault.fix)


def _refusal(value: Any, options: Sequence[Any]) -> tuple[str, str]:
    """What to say of a value that is of no kind that `options` allow."""
    bares = [member for option in options for member in _options(_bare(option))]
    choices = [choice for bare in bares if get_origin(bare) is Literal for choice in get_args(bare)]
    if choices and isinstance(value, str):
        others = [phrase for bare in bares if get_origin(bare) is not Literal and (phrase := _phrase(bare))]
        told, fix = words.not_among(value, choices)
        return (told if not others else f"{told} or {' or '.join(dict.fromkeys(others))}"), fix
    components = [bare for bare in bares if isinstance(bare, type) and hasattr(bare, "place_of")]
    if components:
        return _no_component(value, [kind.__name__ for kind in components], bares)
    wanted = [phrase for bare in bares if (phrase := _phrase(bare))]
    if Quantity in bares:
        wanted = [_PHRASES[Quantity]]
    wanted = [phrase for phrase in wanted if phrase != _PHRASES[type(None)]] or wanted
    wanted += [words.shown(choice) for choice in choices]
    listed = any((get_origin(bare) or bare) in _LISTS for bare in bares)
    fix = _as_list(value) if listed else ""
    example = _example(bares)
    message, typed_fix = words.wrong_type(value, wanted)
    return message, fix or (f"write for example {example}" if example else typed_fix)


def _no_component(value: Any, kinds: Sequence[str], bares: Sequence[Any]) -> tuple[str, str]:
    names = " or ".join(kinds)
    if _is_component(value):
        had = value.instead([getattr(bare, "__name__", "") for bare in bares])
        return f"is {told_of(value)}", f"write {had}" if had else f"pass a {names}"
    if example := _example(bares):
        wanted = " or ".join(phrase for bare in bares if (phrase := _phrase(bare)))
        return f"is {told_of(value)}, must be {wanted}", f"write for example {example}"
    elsewhere = any(getattr(bare, "__name__", "") == "External" for bare in bares)
    fix = f"pass the {names} itself"
    return f"is {told_of(value)}", (f'{fix}, or External("…") for one that is declared elsewhere' if elsewhere else fix)


def _example(bares: Iterable[Any]) -> str:
    """How a value of one of these is written, where one of them knows."""
    for bare in bares:
        args = get_args(bare)
        if len(args) == 2 and isinstance(args[0], type) and hasattr(args[0], "place_of"):
            if inner := _example(_options(args[1])):
                return f"{{pool: {inner}}}"
        elif isinstance(example := getattr(bare, "example", None), str):
            return example
    return ""


def _as_list(value: Any) -> str:
    if isinstance(value, str):
        return f'write ["{value}"]' if value and len(value) < 80 else "write a list"
    if isinstance(value, set | frozenset):
        return "write a list: the order of a set differs from run to run"
    return "write list(…) around it" if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes) else ""


def _phrase(bare: Any) -> str:
    origin = get_origin(bare) or bare
    if origin in _LISTS:
        return "a list"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping"
    if origin is Literal:
        return ""
    known = _PHRASES.get(origin)
    if known is not None or not isinstance(origin, type):
        return known or ""
    return f"{'an' if origin.__name__[:1] in 'AEIO' else 'a'} {origin.__name__}"


@cache
def _hints_of(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
