"""Strategic merge of a patch into a pod or Job template, keeping where each field came from.

Lists that Kubernetes merges by a key are merged, all others are replaced (k8s.io/api v0.36, `patchMergeKey` tags of
core/v1). Trainer's patches are typed, so a null is a field that is not set.
"""

from __future__ import annotations

from typing import Any, Final

from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

Origins = dict[Path, tuple[Document, Path]]

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
    put(origins, place, source)
    return patch


def put(origins: Origins, place: Path, source: tuple[Document, Path]) -> None:
    """Notes that the field at `place`, with all that is in it, comes from `source`."""
    length = len(place)
    for inner in [path for path in origins if len(path) > length and path[:length] == place]:
        del origins[inner]
    origins[place] = source


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
    for index, item in enumerate(patch):
        name = item.get(key) if isinstance(item, dict) else None
        found = index_of(result, key, name)
        at = (document, (*path, index))
        if found is None:
            put(origins, (*place, len(result)), at)
            result.append(item)
        else:
            result[found] = merge(result[found], item, (*place, found), at, origins)
    return result


def index_of(items: list[Any], key: str, name: Any) -> int | None:
    """The position of the item whose `key` is `name`; None where there is none."""
    if name is None:
        return None
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get(key) == name:
            return index
    return None
