"""Single mistakes in a manifest, by kind: what people mistype, forget, misplace and miscount."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Manifest = dict[str, Any]
Path = tuple[str | int, ...]
Maker = Callable[[Manifest, Mapping[str, Manifest]], Iterator["Mistake"]]


@dataclass(frozen=True)
class Mistake:
    """What was done, and the documents that the file then holds."""

    told: str
    documents: list[Any]


def leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """(path, value) of every scalar."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from leaves(value, (*path, index))
    else:
        yield path, node


def keys(node: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every key of every mapping."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*path, key)
            yield from keys(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from keys(value, (*path, index))


def shown(path: Path) -> str:
    """`spec.containers[0].image`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def edited(manifest: Manifest, path: Path, value: Any) -> Manifest:
    """A copy with `value` at `path`; the key is removed for `REMOVED`."""
    made = copy.deepcopy(manifest)
    node: Any = made
    for part in path[:-1]:
        node = node[part]
    if value is REMOVED:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return made


REMOVED: Final = object()


def slip(name: str) -> str:
    """`name` with two letters in its middle swapped, or one doubled where they are equal."""
    middle = max(1, len(name) // 2)
    left, right = name[middle - 1 : middle], name[middle : middle + 1]
    if left == right or not (left + right).isalnum():
        return name[:middle] + "x" + name[middle:]
    return name[: middle - 1] + right + left + name[middle + 1 :]


def changes(told: str, wanted: Callable[[Path, Any, Manifest], bool], change: Callable[[Any], Any]) -> Maker:
    """A kind that changes one scalar wherever `wanted` says so."""

    def make(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
        for path, value in leaves(manifest):
            if wanted(path, value, manifest):
                new = change(value)
                text = f"{shown(path)} {told}" if new is REMOVED else f"{shown(path)}: {value!r} becomes {new!r}"
                yield Mistake(text, [edited(manifest, path, new)])

    return make


def ends(*names: str) -> Callable[[Path, Any, Manifest], bool]:
    """Paths whose last key is one of `names`."""
    return lambda path, value, manifest: bool(path) and path[-1] in names


def of_kind(kinds: tuple[str, ...], wanted: Callable[[Path, Any, Manifest], bool]) -> Callable[..., bool]:
    """`wanted`, in manifests of these kinds only."""
    return lambda path, value, manifest: manifest["kind"] in kinds and wanted(path, value, manifest)


RUNS: Final = ("Job", "JobSet", "TrainJob", "TrainingRuntime")
_REFERENCES: Final = ("clusterQueue", "cohortName", "topologyName", "queue", "project", "subdomain", "schedulerName")
_LABELS: Final = ("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class")


def reference(path: Path, value: Any, manifest: Manifest) -> bool:
    named = path[-1] in (*_REFERENCES, *_LABELS) or path[-2:] in (("runtimeRef", "name"), ("roleRef", "name"))
    flavor = len(path) > 2 and path[-3] == "flavors" and path[-1] == "name"
    return isinstance(value, str) and bool(value) and (named or flavor)


def field_keys(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
    for path in keys(manifest):
        if path[0] in ("spec", "rules", "roleRef", "value") and isinstance(path[-1], str) and path[-1].isalpha():
            if "annotations" in path or "matchLabels" in path or "nodeLabels" in path or "data" in path:
                continue
            made = copy.deepcopy(manifest)
            node: Any = made
            for part in path[:-1]:
                node = node[part]
            node[slip(path[-1])] = node.pop(path[-1])
            yield Mistake(f"{shown(path)} is written {slip(path[-1])}", [made])


def moved_labels(where: str) -> Maker:
    def make(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
        for label in _LABELS:
            labels = manifest["metadata"].get("labels", {})
            if label not in labels:
                continue
            made = copy.deepcopy(manifest)
            value = made["metadata"]["labels"].pop(label)
            if where == "annotations":
                made["metadata"].setdefault("annotations", {})[label] = value
            elif "template" in made["spec"]:
                made["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {})[label] = value
            else:
                continue
            yield Mistake(f"{label} is moved to {where}", [made])

    return make


def swapped_order(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
    for index, group in enumerate(manifest.get("spec", {}).get("resourceGroups", [])):
        made = copy.deepcopy(manifest)
        made["spec"]["resourceGroups"][index]["coveredResources"] = group["coveredResources"][::-1]
        yield Mistake("coveredResources are in another order", [made])


def removed_object(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
    yield Mistake(f"the {manifest['kind']} is gone", [])


def doubled_object(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
    yield Mistake(f"the {manifest['kind']} is there twice", [manifest, manifest])


def added(told: str, kinds: tuple[str, ...], path: Path, value: Any) -> Maker:
    def make(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
        if manifest["kind"] not in kinds:
            return
        made = copy.deepcopy(manifest)
        node: Any = made
        for part in path[:-1]:
            node = node.setdefault(part, {}) if isinstance(node, dict) else node[part]
        node[path[-1]] = value
        yield Mistake(told, [made])

    return make


def _pod_specs(node: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(node, dict):
        if isinstance(node.get("containers"), list):
            yield path
        for key, value in node.items():
            yield from _pod_specs(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _pod_specs(value, (*path, index))


def in_pods(told: str, change: Callable[[dict[str, Any]], bool]) -> Maker:
    """A kind that edits each pod spec in place; `change` says whether there was something to edit."""

    def make(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
        for path in _pod_specs(manifest):
            made = copy.deepcopy(manifest)
            node: Any = made
            for part in path:
                node = node[part]
            if change(node):
                yield Mistake(f"{shown(path)}: {told}", [made])

    return make


def container(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod["containers"][0]
    return found


def without_volume(name: str) -> Callable[[dict[str, Any]], bool]:
    def change(pod: dict[str, Any]) -> bool:
        before = len(pod.get("volumes", []))
        pod["volumes"] = [item for item in pod.get("volumes", []) if item["name"] != name]
        mounts = container(pod).get("volumeMounts", [])
        container(pod)["volumeMounts"] = [item for item in mounts if item["name"] != name]
        return len(pod["volumes"]) < before

    return change


def disk_shm(pod: dict[str, Any]) -> bool:
    return any(volume.get("emptyDir", {}).pop("medium", None) for volume in pod.get("volumes", []))


def env(name: str, change: Callable[[str], Any]) -> Callable[[dict[str, Any]], bool]:
    def edit(pod: dict[str, Any]) -> bool:
        for variable in container(pod).get("env", []):
            if variable["name"] == name and "value" in variable:
                variable["value"] = change(variable["value"])
                return True
        return False

    return edit


def no_gpu_limit(pod: dict[str, Any]) -> bool:
    limits = container(pod).get("resources", {}).get("limits", {})
    return limits.pop("nvidia.com/gpu", None) is not None


def set_field(path: Path, value: Any) -> Callable[[dict[str, Any]], bool]:
    def change(pod: dict[str, Any]) -> bool:
        node: Any = pod
        for part in path[:-1]:
            node = node.setdefault(part, {}) if isinstance(node, dict) else node[part]
        node[path[-1]] = value
        return True

    return change


def append(field: str, item: Any) -> Callable[[dict[str, Any]], bool]:
    """Adds one item to a list of the pod's first container."""

    def change(pod: dict[str, Any]) -> bool:
        container(pod).setdefault(field, []).append(item)
        return True

    return change


def key_slips(*wanted: str) -> Maker:
    """A kind that misspells one key wherever it stands."""

    def make(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
        for path in keys(manifest):
            if path[-1] in wanted:
                made = copy.deepcopy(manifest)
                node: Any = made
                for part in path[:-1]:
                    node = node[part]
                wrong = slip(str(path[-1]))
                node[wrong] = node.pop(path[-1])
                yield Mistake(f"{shown(path)} is written {wrong}", [made])

    return make


def below(*names: str) -> Callable[[Path, Any, Manifest], bool]:
    """Strings anywhere below one of these keys."""
    return lambda path, value, manifest: isinstance(value, str) and any(name in path[:-1] for name in names)
