"""What a model says about a manifest, in one line for each mistake, and manifests with one thing changed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from trainshed.api.base import Model

Manifest = dict[str, Any]


def told(model: type[Model], manifest: Mapping[str, Any]) -> list[str]:
    """The mistakes as `place: message`; the place is empty for the object as a whole. An empty list for a good one."""
    try:
        model.model_validate(manifest)
    except ValidationError as error:
        return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)]
    return []


def changed(manifest: Manifest, **changes: Any) -> Manifest:
    """A copy with other values: `changed(job, spec__template__spec__restartPolicy="Always")`; None removes a field."""
    result = copy.deepcopy(manifest)
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = result
        for name in parents:
            place = place.setdefault(name, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return result
