"""What a model says about a manifest, as a person reads it; and small edits of manifests."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pydantic import ValidationError

from trainshed.api.base import KubernetesObject

ABSENT: Final = object()


def refusals(model: type[KubernetesObject], manifest: dict[str, Any]) -> list[str]:
    """Every reason to refuse `manifest`, `path: what is wrong; the fix`; empty when the model takes it."""
    try:
        model.parse(manifest)
    except ValidationError as error:
        told = []
        for item in error.errors(include_url=False):
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in item["loc"])[1:]
            broken = item.get("ctx", {}).get("broken")
            if broken is None:
                told.append(f"{place}: {item['msg']}")
            for rule in broken or ():
                path = ".".join(part for part in (place, rule.field) if part)
                text = f"{path}: {rule.message}"
                told.append(f"{text}; {rule.fix}" if rule.fix else text)
        return told
    return []


def edited(manifest: dict[str, Any], edits: dict[str, Any]) -> dict[str, Any]:
    """A copy with the values at some paths (`spec.levels[0].nodeLabel`) replaced, added, or removed (ABSENT).

    Label keys with dots go in quotes: `metadata.annotations."a.b/c"`.
    """
    result: dict[str, Any] = json.loads(json.dumps(manifest))  # parts used twice become separate
    for path, value in edits.items():
        *parents, last = _steps(path)
        place: Any = result
        for step in parents:
            place = place[step] if isinstance(step, int) else place.setdefault(step, {})
        if value is ABSENT:
            del place[last]
        elif isinstance(last, int) and last == len(place):
            place.append(value)
        else:
            place[last] = value
    return result


def _steps(path: str) -> list[str | int]:
    found = re.findall(r'\[(\d+)\]|"([^"]+)"|([^.\[\]"]+)', path)
    return [int(index) if index else quoted or plain for index, quoted, plain in found]
