"""Pydantic's locations, cleaned: which elements are fields, list positions and keys, and which are union branches."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

Loc = tuple[int | str, ...]

_KEY_MARK: Final = "[key]"
_BRANCH: Final = re.compile(r"(int|str|float|bool|date|none|constrained-\w+|json-\w+)|[\w-]+\[.*\]")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


class Step(NamedTuple):
    """Where a location ends: its path in Kubernetes' spelling, the owner of its last field, and its possible types."""

    path: tuple[str, ...]
    owner: type[BaseModel] | None
    options: tuple[Any, ...]
    is_key: bool = False


def walk(model: type[BaseModel] | None, loc: Loc) -> tuple[Loc, tuple[str, ...], Step]:
    """`loc` without union branches and key marks, those branches, and where it ends.

    Without a model the branches are guessed by their names.
    """
    options: tuple[Any, ...] = (model,) if model else ()
    owner: type[BaseModel] | None = None
    clean: list[int | str] = []
    branches: list[str] = []
    path: list[str] = []
    due = is_key = False
    for element in loc:
        if element == _KEY_MARK:
            is_key = True
        elif due or (not options and path and isinstance(element, str) and _BRANCH.fullmatch(element)):
            due = False
            branches.append(str(element))
            options = tuple(option for option in options if _is_branch(option, str(element))) or options
        else:
            owner, word, options = _into(options, element)
            due = len(options) > 1
            clean.append(element)
            path.append(word)
    return tuple(clean), tuple(branches), Step(tuple(path), owner, options, is_key)


def _into(options: tuple[Any, ...], element: int | str) -> tuple[type[BaseModel] | None, str, tuple[Any, ...]]:
    """One element further: the model it is a field of, its spelling, and the types of its value."""
    for option in options:
        origin, args = get_origin(option) or option, get_args(option)
        if not isinstance(origin, type):
            continue
        if issubclass(origin, BaseModel):
            for name, field in origin.model_fields.items():
                if element in (name, field.alias):
                    return origin, field.alias or name, tuple(_options(field.annotation))
            if len(options) == 1:
                return origin, str(element), ()
        elif issubclass(origin, Mapping):
            return None, f"[{element}]", tuple(_options(args[1])) if args else ()
        elif issubclass(origin, list | tuple | set | frozenset) and isinstance(element, int):
            return None, f"[{element}]", tuple(_options(args[0])) if args else ()
    simple = isinstance(element, str) and _WORD.fullmatch(element)
    return None, str(element) if simple else f"[{element}]", ()


def _options(annotation: Any) -> Iterator[Any]:
    """The types an annotation allows, without None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _options(get_args(annotation)[0])
    elif origin is Union or origin is types.UnionType:
        for member in get_args(annotation):
            yield from _options(member)
    elif annotation is not type(None):
        yield annotation


def _is_branch(option: Any, label: str) -> bool:
    """Whether pydantic's `label` of a union branch is this type: `int`, `Limits`, `function-after[f(), Limits]`."""
    name = str(getattr(option, "__name__", option))
    return label == name or label.endswith((f", {name}]", f"[{name}]"))


def model_named(name: str) -> type[BaseModel] | None:
    """The loaded model of that name, or None where there is none or more than one."""
    found = [model for model in _subclasses(BaseModel) if model.__name__ == name]
    return found[0] if len(found) == 1 else None


def _subclasses(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _subclasses(model)


def fields_of(model: type[BaseModel] | None, *, python: bool) -> tuple[str, list[str]]:
    """The model's name and its fields: in Kubernetes' spelling, or in Python's."""
    if model is None:
        return "", []
    return model.__name__, [name if python else field.alias or name for name, field in model.model_fields.items()]
