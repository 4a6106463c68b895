"""What `component.allow("code")` leaves in a manifest: the annotation that lets a finding pass on that object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from trainshed.api.base import Manifest
from trainshed.api.explain_words import shown
from trainshed.faults import Fault, Place, nearest
from trainshed.naming import ALLOW_ANNOTATION

_SHOWN: Final = 'write one as `trainshed check` shows it, such as "kueue-never-admitted"'
_CODE: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Allowance:
    """Codes to let pass on the objects of `kind` (empty: a component's main one) in `namespace` (empty: in each)."""

    codes: Sequence[str]
    kind: str
    namespace: str
    place: Place


def code_error(code: object) -> str:
    """What is wrong with the shape of a code. Whether there is such a code is known to `trainshed check` alone."""
    if isinstance(code, str) and _CODE.fullmatch(code):
        return ""
    return f"{shown(code)} is no code; {_SHOWN}"


def allowed(allowances: Sequence[Allowance], made: Sequence[Manifest], main_kind: str, title: str) -> Iterator[Fault]:
    """Writes `allowances` into the manifests that a component made; tells those that mean none of them."""
    kinds = list(dict.fromkeys(str(manifest["kind"]) for manifest in made))
    for one in allowances:
        broken = [error for error in map(code_error, one.codes) if error]
        if not one.codes:
            broken = [f"names no code; {_SHOWN}"]
        if broken:
            for error in broken:
                told, _, fix = error.partition("; ")
                yield Fault(told, title, "allow", fix, one.place)
            continue
        kind = one.kind or main_kind or (kinds[0] if len(kinds) == 1 else "")
        meant = [
            manifest
            for manifest in made
            if manifest["kind"] == kind
            and one.namespace in ("", manifest["metadata"].get("namespace"), _self(manifest))
        ]
        if not meant:
            where = f' in namespace "{one.namespace}"' if one.namespace else ""
            hint = nearest(kind, kinds) if kind not in kinds else ""
            fix = hint or _homes(made, kind) or (f"it renders {', '.join(kinds)}" if kinds else "leave it out")
            yield Fault(f"renders no {kind or 'single object'}{where}", title, "allow", fix, one.place)
        for manifest in meant:
            _annotate(manifest, one.codes)


def _self(manifest: Manifest) -> str:
    """A Namespace is meant by its own name."""
    return str(manifest["metadata"].get("name")) if manifest["kind"] == "Namespace" else ""


def _homes(made: Sequence[Manifest], kind: str) -> str:
    homes = [manifest["metadata"].get("namespace") or _self(manifest) for manifest in made if manifest["kind"] == kind]
    return f"it renders one in {', '.join(homes)}" if any(homes) else ""


def _annotate(manifest: Manifest, codes: Sequence[str]) -> None:
    annotations = manifest["metadata"].setdefault("annotations", {})
    known = [code for code in annotations.get(ALLOW_ANNOTATION, "").split(", ") if code]
    annotations[ALLOW_ANNOTATION] = ", ".join(sorted({*known, *codes}))
