"""`x-kubernetes-validations`: the CEL rules of a structural schema, evaluated on a value."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import cel

from trainshed.checks.crds.functions import FUNCTIONS
from trainshed.checks.crds.structural import Schema, child, item_key
from trainshed.fleet.paths import Path

ABSENT: Final = object()
#: What CEL itself reports; everything else is a limit of the evaluator, and no verdict.
_REFUSALS: Final = (KeyError, IndexError, ZeroDivisionError)
_OLD: Final = re.compile(r"\boldSelf\b")
# k8s.io/apiserver v0.36, pkg/cel/escaping.go
_RESERVED: Final = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"}
    | {"let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NEEDS_ESCAPE: Final = re.compile(r"__|[.\-/]")


class Verdict(NamedTuple):
    """A rule that did not pass. `judged` is False where the evaluator could not say."""

    path: Path
    message: str
    judged: bool = True


def verdicts(schema: Schema, new: Any, old: Any = ABSENT, path: Path = ()) -> Iterator[Verdict]:
    """What the rules refuse in `new`, prepared; with `old`, transition rules too."""
    for entry in schema.get("x-kubernetes-validations") or ():
        if isinstance(entry, dict) and isinstance(entry.get("rule"), str):
            yield from _apply(schema, entry, new, old, path)
    if isinstance(new, dict):
        for key, item in new.items():
            before = old.get(key, ABSENT) if isinstance(old, dict) else ABSENT
            yield from verdicts(child(schema, key), item, before, (*path, key))
    elif isinstance(new, list):
        items = schema.get("items")
        items = items if isinstance(items, dict) else {}
        is_map = schema.get("x-kubernetes-list-type") == "map" and isinstance(old, list)
        known = {item_key(schema, item): item for item in old} if is_map else {}
        for index, item in enumerate(new):
            before = known.get(item_key(schema, item), ABSENT) if is_map else ABSENT
            yield from verdicts(items, item, before, (*path, index))


def _apply(schema: Schema, entry: Schema, new: Any, old: Any, path: Path) -> Iterator[Verdict]:
    rule = entry["rule"]
    variables = {"self": _escaped(schema, new)}
    if _OLD.search(rule):
        if old is ABSENT or entry.get("optionalOldSelf"):
            return
        variables["oldSelf"] = _escaped(schema, aligned(schema, old, new))
    told = entry.get("message") or f"the rule {rule.strip()} is broken"
    field = entry.get("fieldPath")
    at = (*path, *(part for part in str(field or "").split(".") if part.isidentifier()))
    try:
        passed = _program(rule).execute(cel.Context(variables=variables, functions=dict(FUNCTIONS)))
    except _REFUSALS as error:
        yield Verdict(at, f"{told} (the rule itself fails: {error})")
    except Exception as error:  # the evaluator raises many types
        yield Verdict(at, f"{rule.strip()[:80]}: {str(error).splitlines()[0][:80]}", judged=False)
    else:
        if passed is not True:
            yield Verdict(at, str(told))


def aligned(schema: Schema, old: Any, new: Any) -> Any:
    """`old` with its map and set lists in the order of `new`: for Kubernetes they are equal in any order."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: aligned(child(schema, key), item, new.get(key)) for key, item in old.items()}
    if isinstance(old, list) and isinstance(new, list) and schema.get("x-kubernetes-list-type") in ("map", "set"):
        order = {item_key(schema, item): (index, item) for index, item in enumerate(new)}
        ordered = sorted(old, key=lambda item: order.get(item_key(schema, item), (len(new), None))[0])
        items = schema.get("items")
        items = items if isinstance(items, dict) else {}
        return [aligned(items, item, order.get(item_key(schema, item), (0, None))[1]) for item in ordered]
    return old


def _escaped(schema: Schema, value: Any) -> Any:
    """`value` with the names of properties as CEL writes them. Keys of maps stay."""
    if isinstance(value, dict):
        properties = schema.get("properties")
        named = properties if isinstance(properties, dict) else {}
        return {escaped(key) if key in named else key: _escaped(child(schema, key), v) for key, v in value.items()}
    if isinstance(value, list):
        items = schema.get("items")
        return [_escaped(items if isinstance(items, dict) else {}, item) for item in value]
    return value


def escaped(name: str) -> str:
    """The name of a property in CEL."""
    if name in _RESERVED:
        return f"__{name}__"
    return _NEEDS_ESCAPE.sub(lambda match: _ESCAPES[match[0]], name)


@functools.cache
def _program(rule: str) -> cel.Program:
    return cel.compile(rule)
