"""Calls of constructors, judged against their signatures before they run: every argument that does not fit is told.

A type checker finds most of these mistakes too; here they are told to those who run none, all of a call at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, get_type_hints

from constructs import Construct

from trainshed.api.base import Broken
from trainshed.api.explain_words import shown
from trainshed.faults import Fault, Faults, nearest
from trainshed.gitops.hints import misfits, told_of
from trainshed.gitops.values import calling_place

P = ParamSpec("P")
S = TypeVar("S")
Init = Callable[Concatenate[S, P], None]

_BY_POSITION: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass
class Signature:
    """The arguments that a constructor takes, and their hints."""

    init: Callable[..., None]

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """By name, in order, without `self`."""
        return dict(list(inspect.signature(self.init).parameters.items())[1:])

    @cached_property
    def hints(self) -> dict[str, Any]:
        """By name."""
        from trainshed.gitops.app import App  # the only name that is imported for type checkers alone

        return get_type_hints(self.init, localns={"App": App}, include_extras=True)

    def bound(self, args: Sequence[Any], given: Mapping[str, Any]) -> tuple[dict[str, Any], list[Broken]]:
        """The arguments by name, and what is wrong with the call itself."""
        takes = [name for name, parameter in self.parameters.items() if parameter.kind is _BY_POSITION]
        named = dict(zip(takes, args, strict=False))
        broken = [Broken(name, "is given twice", "keep one of them") for name in given if name in named]
        if len(args) > len(takes):
            told = f"has {len(args)} arguments without a name, and takes {len(takes)}"
            broken.append(Broken("", told, "write name=value"))
        known = [name for name in self.parameters if name not in ("scope", "id")]
        meant = set[str]()
        for name in given:
            if name not in self.parameters:
                near = nearest(name, known)
                meant.add(near)
                fix = near or (f"it has {', '.join(known)}" if known else "leave it out")
                broken.append(Broken(name, "is not an argument", fix))
        named.update((name, value) for name, value in given.items() if name in self.parameters)
        for name, parameter in self.parameters.items():
            misspelt = f'did you mean "{name}"?' in meant  # is told already
            if name not in named and parameter.default is inspect.Parameter.empty and not misspelt:
                broken.append(Broken(name, "is missing", "add it"))
        return named, broken

    def judged(self, named: Mapping[str, Any], cluster: Any) -> list[Broken]:
        """What is wrong with each argument. An empty message: it is told already."""
        return [
            broken
            for name, value in named.items()
            if name != "scope" and (value is not self.parameters[name].default)
            for broken in misfits(value, self.hints.get(name, Any), name, cluster)
        ]


def refused(init: Init[S, P]) -> Init[S, P]:
    """A constructor that raises Faults with every argument that does not fit."""
    signature = Signature(init)

    @wraps(init)
    def judging(self: S, /, *args: P.args, **given: P.kwargs) -> None:
        named, broken = signature.bound(args, given)
        broken += signature.judged(named, None)
        if "scope" in signature.hints and "scope" in named:
            broken = [*misfits(named["scope"], signature.hints["scope"], "scope"), *broken]
        if broken:
            raise Faults(faults_in(broken, title_of(type(self), named)))
        init(self, *args, **given)

    return judging


def faults_in(broken: Sequence[Broken], title: str) -> list[Fault]:
    """`broken` as faults of the call that is being made."""
    place = calling_place()
    return [Fault(one.message, title, one.field, one.fix, place) for one in broken if one.message]


def placed(
    kind: type, args: Sequence[Any], given: Mapping[str, Any]
) -> tuple[Construct, tuple[Any, ...], list[Broken]]:
    """The scope of a construct that is being made, its arguments with the scope first, and what is wrong with that.

    Raises Faults where there is no scope to be found.
    """
    if "scope" in given or (args and isinstance(args[0], Construct)):
        scope = given.get("scope", args[0] if args else None)
        if isinstance(scope, Construct):
            return scope, tuple(args), []
    name = args[0] if args and isinstance(args[0], str) else given.get("id", "…")
    call = f"{kind.__name__}(self, {shown(name)}, …)"
    if len(args) > 1 and isinstance(args[0], str) and isinstance(args[1], Construct):
        told = Broken("scope", f"is {told_of(args[0])}: scope and name are in the wrong order", f"write {call}")
        return args[1], (args[1], args[0], *args[2:]), [told]
    if "scope" in given or (args and not isinstance(args[0], str)):
        wrong = given.get("scope", args[0] if args else None)
        broken = Broken("scope", f"is {told_of(wrong)}, must be the cluster or what stands in it", f"write {call}")
    else:
        broken = Broken("scope", "is missing: what the component is made in", f"write {call}")
    named = {"id": args[1]} if len(args) > 1 else {"id": name}
    raise Faults(faults_in([broken], title_of(kind, named)))


def title_of(kind: type, named: Mapping[str, Any]) -> str:
    """How messages call a construct that is being made with the arguments `named`."""
    name = named.get("id", named.get("name"))
    return f"{kind.__name__} {shown(name)}" if isinstance(name, str) and name != "…" else kind.__name__
