"""A pydantic ValidationError as faults: one sentence each, at the field's path in Kubernetes' spelling."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_snake

from trainshed.api import explain_words as words
from trainshed.api.base import Broken
from trainshed.api.explain_path import Loc, Step, fields_of, model_named, walk
from trainshed.faults import Fault, Place

Places = Callable[[Loc], Place | None]

_PARTS: Final = re.compile(r"\[([^\]]*)\]|[^.\[\]]+")
_CAMEL: Final = re.compile(r"[a-z]+[A-Z][A-Za-z0-9]*")


class _Error(NamedTuple):
    """One pydantic error, with its cleaned location: no union branches, no `[key]` marks."""

    kind: str
    loc: Loc
    branches: tuple[str, ...]
    last: Step
    value: Any
    ctx: dict[str, Any]
    text: str


def faults_of(
    error: ValidationError,
    *,
    object: str = "",
    place: Place | None = None,
    prefix: str = "",
    model: type[BaseModel] | None = None,
    places: Places | None = None,
    data: object = None,
    python: bool = False,
) -> list[Fault]:
    """All mistakes in `error`, in the order of the fields; branches of one union make one fault.

    `object` names the thing that was validated; `prefix` is the path of the validated part in it (`spec.template`).
    `model` is the model that was validated, found by its name when absent; with it, a misspelt field gets a proposal.
    `places` gives the place of a location in the validated data, such as `("containers", 0, "image")`, or None where
    it knows none; then its nearest known parent is taken, and after that `place`. With `data`, what was validated, each
    fault says the names of the list items that it is in, as in `(in trainer, MASTER_PORT)`. `python`: it was written in
    Python, so fields are told as Python spells them.
    """
    model = model or model_named(error.title)
    faults: list[Fault] = []
    for group in grouped(read_errors(error, model)):
        loc = group[0].loc
        for broken in explained(group, python):
            parts = loc + split_field(broken.field)
            field = _joined(prefix, *group[0].last.path, broken.field)
            faults.append(
                Fault(
                    message=broken.message.removeprefix("it ") + names_along(data, parts),
                    object=object,
                    field=_pythonic(field) if python else field,
                    fix=broken.fix,
                    place=_place(parts, places) or place,
                )
            )
    return list(dict.fromkeys(faults))


def read_errors(error: ValidationError, model: type[BaseModel] | None) -> Iterator[_Error]:
    """Each pydantic error with its cleaned location."""
    for one in error.errors(include_url=False):
        loc, branches, last = walk(model, one["loc"])
        yield _Error(one["type"], loc, branches, last, one.get("input"), dict(one.get("ctx") or {}), one["msg"])


def grouped(errors: Iterable[_Error]) -> Iterator[list[_Error]]:
    """Errors of the branches of one union together; every other error alone."""
    unions: dict[Loc, list[_Error]] = {}
    order: list[list[_Error]] = []
    for one in errors:
        if not one.branches:
            order.append([one])
        elif one.loc in unions:
            unions[one.loc].append(one)
        else:
            unions[one.loc] = [one]
            order.append(unions[one.loc])
    deep = [loc for loc in unions for other in unions if len(other) > len(loc) and other[: len(loc)] == loc]
    # A branch that got further than its type says more than the branches that refused the type.
    yield from (group for group in order if not (group[0].branches and group[0].loc in deep and types_only(group)))


def types_only(group: list[_Error]) -> bool:
    """Whether the errors speak of types and allowed values only."""
    return all(one.kind in words.WANTED or one.kind == "literal_error" for one in group)


def explained(group: list[_Error], python: bool) -> Iterator[Broken]:
    """The sentences for a group of `grouped`; fields relative to the group's location."""
    first = group[0]
    if len(group) > 1 and types_only(group):
        literals = [choice for one in group if one.kind == "literal_error" for choice in _literals(one)]
        if literals and isinstance(first.value, str):
            yield Broken("", *words.not_among(first.value, literals))
            return
        wanted = [words.WANTED[one.kind] for one in group if one.kind in words.WANTED]
        yield Broken("", *words.wrong_type(first.value, [*wanted, *map(words.shown, literals)]))
        return
    for one in [one for one in group if not types_only([one])] or group[:1]:
        yield from _explained_alone(one, python)


def _explained_alone(one: _Error, python: bool) -> Iterator[Broken]:
    if one.kind == "rules":
        yield from one.ctx["broken"]
    elif one.kind == "missing":
        yield Broken("", "is missing", "add it")
    elif one.kind == "extra_forbidden":
        name = str(one.loc[-1])
        yield Broken("", *words.unknown_field(name, *fields_of(one.last.owner, python=python or "_" in name)))
    elif one.kind == "literal_error":
        yield Broken("", *words.not_among(one.value, _literals(one)))
    elif one.kind == "shape" and one.last.is_key:
        yield Broken("", f"the key is wrong: {words.split(one.text)[0]}", words.split(one.text)[1])
    else:
        yield Broken("", *words.of_error(one.kind, one.value, one.ctx, one.text))


def _literals(one: _Error) -> list[Any]:
    """The allowed values: of the field's Literal, otherwise as pydantic tells them."""
    found = [value for option in one.last.options if _is_literal(option) for value in get_args(option)]
    return found or re.findall(r"'([^']*)'", str(one.ctx.get("expected", "")))


def _is_literal(option: Any) -> bool:
    return getattr(option, "__origin__", None) is Literal


def names_along(data: object, loc: Loc) -> str:
    """The names of the list items along `loc`, as in ` (in trainer, MASTER_PORT)`; empty without any."""
    names: list[str] = []
    for part in loc:
        if isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
            if isinstance(data, Mapping) and isinstance(name := data.get("name"), str):
                names.append(name)
        else:
            data = data.get(part) if isinstance(data, Mapping) else None
    return f" (in {', '.join(names)})" if names else ""


def _place(loc: Loc, places: Places | None) -> Place | None:
    if places is None:
        return None
    for length in range(len(loc), -1, -1):
        if found := places(loc[:length]):
            return found
    return None


def split_field(field: str) -> Loc:
    """`limits[nvidia.com/gpu]` as `("limits", "nvidia.com/gpu")`; numbers in brackets are positions in lists."""
    parts: list[str | int] = []
    for match in _PARTS.finditer(field):
        key = match[1]
        parts.append(match[0] if key is None else int(key) if key.isdigit() else key)
    return tuple(parts)


def _joined(*parts: str) -> str:
    path = ""
    for part in parts:
        path += part if not path or not part or part.startswith("[") else f".{part}"
    return path


def _pythonic(field: str) -> str:
    """`spec.resourceGroups[0]` as `spec.resource_groups[0]`; keys in brackets stay as they are."""
    return _PARTS.sub(lambda match: to_snake(match[0]) if _CAMEL.fullmatch(match[0]) else match[0], field)
