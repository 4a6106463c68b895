"""A pydantic ValidationError as mistakes in a manifest: each with its kind, its path and two sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from trainshed.api import explain_words
from trainshed.api.explain import explained, grouped, names_along, read_errors, split_field, types_only
from trainshed.api.explain_path import Loc, fields_of


class Mistake(NamedTuple):
    """`kind` is pydantic's error type, "rules" for a rule of the model; `path` the field's path in what was validated.

    `owner` is the model that the field belongs to, None inside a mapping or a list.
    """

    kind: str
    path: Loc
    message: str
    fix: str
    value: Any = None
    owner: type[BaseModel] | None = None


def mistakes_of(error: ValidationError, model: type[BaseModel], data: object) -> Iterator[Mistake]:
    """All mistakes in `error`, which `model` raised for the manifest (or part of one) `data`; fields as in YAML."""
    seen: set[tuple[Loc, str]] = set()
    for group in grouped(read_errors(error, model)):
        first = group[0]
        kind = next((one.kind for one in group if not types_only([one])), first.kind)
        for broken in explained(group, False):
            message, fix = broken.message, broken.fix
            if kind == "extra_forbidden":
                message, fix = explain_words.unknown_field(
                    str(first.loc[-1]), *fields_of(first.last.owner, python=False)
                )
            path = first.loc + split_field(broken.field)
            told = message.removeprefix("it ") + names_along(data, path)
            if (path, told) not in seen:
                seen.add((path, told))
                yield Mistake(kind, path, told, fix, first.value, first.last.owner)
