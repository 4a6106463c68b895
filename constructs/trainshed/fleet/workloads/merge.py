"""Strategic merge of a patch into a pod or Job template, keeping where each field came from.

Lists that Kubernetes merges by a key are merged, all others are replaced (k8s.io/api v0.36, `patchMergeKey` tags of
core/v1). Trainer's patches are typed, so a null is a field that is not set.
"""

from __future__ import annotations

from typing import Any, Final

from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path


class Origins(dict[Path, tuple[Document, Path]]):
    """Where fields of a merged template are written, by their path in it."""

    def __init__(self) -> None:
        super().__init__()
        self._around: set[Path] = set()

    def put(self, place: Path, source: tuple[Document, Path]) -> None:
        """Notes that the field at `place`, with all that is in it, comes from `source`."""
        if place in self._around:
            length = len(place)
            for inner in [path for path in self if len(path) > length and path[:length] == place]:
                del self[inner]
            self._around.discard(place)
        self[place] = source
        self._around.update(place[:length] for length in range(len(place)))


_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
_DEEPEST: Final = 60


def merge(base: Any, patch: Any, place: Path, source: tuple[Document, Path], origins: Origins) -> Any:
    """`base` with `patch` merged in; neither is changed. `place` is where the result stands in the template, `source`
    where the patch is written; what came from the patch is noted in `origins`."""
    if len(place) < _DEEPEST:
        if isinstance(base, dict) and isinstance(patch, dict):
            return _mappings(base, patch, place, source, origins)
        key = _KEYS.get(place[-1]) if place and isinstance(place[-1], str) else None
        if key and isinstance(base, list) and isinstance(patch, list):
            return _by_key(base, patch, key, place, source, origins)
    origins.put(place, source)
    return patch


def _mappings(
    base: dict[str, Any], patch: dict[str, Any], place: Path, source: tuple[Document, Path], origins: Origins
) -> dict[str, Any]:
    document, path = source
    result = dict(base)
    for key, value in patch.items():
        if value is not None:
            result[key] = merge(base.get(key), value, (*place, key), (document, (*path, key)), origins)
    return result


def _by_key(
    base: list[Any], patch: list[Any], key: str, place: Path, source: tuple[Document, Path], origins: Origins
) -> list[Any]:
    document, path = source
    result = list(base)
    positions = positions_of(result, key)
    for index, item in enumerate(patch):
        found = positions.get(name_of(item, key))
        at = (document, (*path, index))
        if found is None:
            origins.put((*place, len(result)), at)
            if (name := name_of(item, key)) is not None:
                positions[name] = len(result)
            result.append(item)
        else:
            result[found] = merge(result[found], item, (*place, found), at, origins)
    return result


def name_of(item: Any, key: str) -> str | int | None:
    """The merge key of a list item; None where it has none, or not a name or a port."""
    value = item.get(key) if isinstance(item, dict) else None
    return value if isinstance(value, str | int) else None


def positions_of(items: list[Any], key: str) -> dict[str | int | None, int]:
    """The first position of each merge key in a list."""
    found: dict[str | int | None, int] = {}
    for index, item in enumerate(items):
        name = name_of(item, key)
        if name is not None:
            found.setdefault(name, index)
    return found


def index_of(items: list[Any], key: str, name: Any) -> int | None:
    """The position of the item whose `key` is `name`; None where there is none."""
    if name is None:
        return None
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get(key) == name:
            return index
    return None
