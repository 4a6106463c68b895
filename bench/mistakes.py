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


def _slip(name: str) -> str:
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


_RUNS: Final = ("Job", "JobSet", "TrainJob", "TrainingRuntime")
_REFERENCES: Final = ("clusterQueue", "cohortName", "topologyName", "queue", "project", "subdomain", "schedulerName")
_LABELS: Final = ("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class")


def _reference(path: Path, value: Any, manifest: Manifest) -> bool:
    named = path[-1] in (*_REFERENCES, *_LABELS) or path[-2:] in (("runtimeRef", "name"), ("roleRef", "name"))
    flavor = len(path) > 2 and path[-3] == "flavors" and path[-1] == "name"
    return isinstance(value, str) and bool(value) and (named or flavor)


def _field_keys(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
    for path in keys(manifest):
        if path[0] in ("spec", "rules", "roleRef", "value") and isinstance(path[-1], str) and path[-1].isalpha():
            if "annotations" in path or "matchLabels" in path or "nodeLabels" in path or "data" in path:
                continue
            made = copy.deepcopy(manifest)
            node: Any = made
            for part in path[:-1]:
                node = node[part]
            node[_slip(path[-1])] = node.pop(path[-1])
            yield Mistake(f"{shown(path)} is written {_slip(path[-1])}", [made])


def _moved_labels(where: str) -> Maker:
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


def _swapped_order(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
    for index, group in enumerate(manifest.get("spec", {}).get("resourceGroups", [])):
        made = copy.deepcopy(manifest)
        made["spec"]["resourceGroups"][index]["coveredResources"] = group["coveredResources"][::-1]
        yield Mistake("coveredResources are in another order", [made])


def _removed_object(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
    yield Mistake(f"the {manifest['kind']} is gone", [])


def _doubled_object(manifest: Manifest, _: Mapping[str, Manifest]) -> Iterator[Mistake]:
    yield Mistake(f"the {manifest['kind']} is there twice", [manifest, manifest])


def _added(told: str, kinds: tuple[str, ...], path: Path, value: Any) -> Maker:
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


def _in_pods(told: str, change: Callable[[dict[str, Any]], bool]) -> Maker:
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


def _container(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod["containers"][0]
    return found


def _without_volume(name: str) -> Callable[[dict[str, Any]], bool]:
    def change(pod: dict[str, Any]) -> bool:
        before = len(pod.get("volumes", []))
        pod["volumes"] = [item for item in pod.get("volumes", []) if item["name"] != name]
        mounts = _container(pod).get("volumeMounts", [])
        _container(pod)["volumeMounts"] = [item for item in mounts if item["name"] != name]
        return len(pod["volumes"]) < before

    return change


def _disk_shm(pod: dict[str, Any]) -> bool:
    return any(volume.get("emptyDir", {}).pop("medium", None) for volume in pod.get("volumes", []))


def _env(name: str, change: Callable[[str], Any]) -> Callable[[dict[str, Any]], bool]:
    def edit(pod: dict[str, Any]) -> bool:
        for variable in _container(pod).get("env", []):
            if variable["name"] == name and "value" in variable:
                variable["value"] = change(variable["value"])
                return True
        return False

    return edit


def _no_gpu_limit(pod: dict[str, Any]) -> bool:
    limits = _container(pod).get("resources", {}).get("limits", {})
    return limits.pop("nvidia.com/gpu", None) is not None


def _set(path: Path, value: Any) -> Callable[[dict[str, Any]], bool]:
    def change(pod: dict[str, Any]) -> bool:
        node: Any = pod
        for part in path[:-1]:
            node = node.setdefault(part, {}) if isinstance(node, dict) else node[part]
        node[path[-1]] = value
        return True

    return change


def _number(path: Path, value: Any, manifest: Manifest) -> bool:
    return path[0] == "spec" and isinstance(value, int) and not isinstance(value, bool)


def _flag(path: Path, value: Any, manifest: Manifest) -> bool:
    return path[0] == "spec" and isinstance(value, bool)


_COUNTS: Final = ("completions", "parallelism", "numNodes", "minAvailable", "replicas", "numProcPerNode")
_ENUMS: Final = (
    "restartPolicy", "completionMode", "operator", "podReplacementPolicy", "queueingStrategy", "restartStrategy",
    "action", "event", "reclaimWithinCohort", "withinClusterQueue", "fsGroupChangePolicy", "medium", "clusterIP",
)  # fmt: skip

#: Kind of mistake → what makes it.
KINDS: Final[dict[str, Maker]] = {
    "a reference is misspelt": changes("", _reference, _slip),
    "a field is misspelt": _field_keys,
    "an enum is misspelt": changes("", ends(*_ENUMS), _slip),
    "an enum is in lower case": changes("", ends(*_ENUMS), lambda value: str(value).lower()),
    "a number is a string": changes("", _number, str),
    "a boolean is a string": changes("", _flag, lambda value: str(value).lower()),
    "a string is a number": changes("", ends("value", "labels", "name"), lambda value: 29500),
    "a count is one too many": changes("", ends(*_COUNTS), lambda value: value + 1),
    "a count is negative": changes("", ends(*_COUNTS), lambda value: -1),
    "a quantity has no unit that exists": changes(
        "", ends("memory", "cpu", "nominalQuota", "borrowingLimit", "sizeLimit"), lambda value: f"{value}B"
    ),
    "memory is in milli": changes("", ends("memory"), lambda value: "400m"),
    "a quota is negative": changes("", ends("nominalQuota", "borrowingLimit"), lambda value: f"-{value}"),
    "a quota is a tenth": changes("", lambda path, value, manifest: path[-1] == "nominalQuota", lambda value: "4"),
    "a quota is beyond the hardware": changes("", ends("nominalQuota"), lambda value: "9P"),
    "a queue label is gone": changes("is gone", ends("kueue.x-k8s.io/queue-name"), lambda value: REMOVED),
    "a queue label is an annotation": _moved_labels("annotations"),
    "a queue label is on the pod template": _moved_labels("the pod template"),
    "covered resources are reordered": _swapped_order,
    "the cohort is gone": changes("is gone", ends("cohortName"), lambda value: REMOVED),
    "an object is gone": _removed_object,
    "an object is there twice": _doubled_object,
    "a name is misspelt": changes(
        "", lambda path, value, manifest: path == ("metadata", "name") and manifest["kind"] not in _RUNS, _slip
    ),
    "a namespace is misspelt": changes(
        "", lambda path, value, manifest: path == ("metadata", "namespace") and value != "argocd", _slip
    ),
    "a name is upper case": changes(
        "", lambda path, value, manifest: path == ("metadata", "name"), lambda value: str(value).upper()
    ),
    "a wave is no number": changes("", ends("argocd.argoproj.io/sync-wave"), lambda value: "first"),
    "a run comes before its runtime": changes(
        "", of_kind(("TrainJob",), ends("argocd.argoproj.io/sync-wave")), lambda value: "-40"
    ),
    "a sync option is misspelt": changes("", ends("argocd.argoproj.io/sync-options"), _slip),
    "a TTL is added": _added("a TTL is added", ("Job", "JobSet"), ("spec", "ttlSecondsAfterFinished"), 600),
    "an old API version": changes(
        "",
        lambda path, value, manifest: path == ("apiVersion",) and "kueue" in str(value),
        lambda value: str(value).replace("v1beta2", "v1beta1"),
    ),
    "an API version that does not exist": changes(
        "", lambda path, value, manifest: path == ("apiVersion",) and "/" in str(value), lambda value: f"{value}9"
    ),
    "the world size is wrong": _in_pods("PET_NNODES is 3", _env("PET_NNODES", lambda value: "3")),
    "processes differ from GPUs": _in_pods("PET_NPROC_PER_NODE is 9", _env("PET_NPROC_PER_NODE", lambda value: "9")),
    "the master address is misspelt": _in_pods("PET_MASTER_ADDR is misspelt", _env("PET_MASTER_ADDR", _slip)),
    "the master is localhost": _in_pods("PET_MASTER_ADDR is localhost", _env("PET_MASTER_ADDR", lambda v: "localhost")),
    "an environment value is a number": _in_pods("PET_MASTER_PORT is a number", _env("PET_MASTER_PORT", int)),
    "GPUs are requested without a limit": _in_pods("the GPU limit is gone", _no_gpu_limit),
    "shared memory is gone": _in_pods("/dev/shm is gone", _without_volume("shm")),
    "shared memory is on disk": _in_pods("/dev/shm is on disk", _disk_shm),
    "the writable directory is gone": _in_pods("/tmp is gone", _without_volume("tmp")),
    "a container is privileged": _in_pods(
        "privileged", lambda pod: _set(("securityContext", "privileged"), True)(_container(pod))
    ),
    "the host's IPC namespace": _in_pods("hostIPC", _set(("hostIPC",), True)),
    "a pod may run as root": _in_pods("runAsNonRoot is false", _set(("securityContext", "runAsNonRoot"), False)),
    "a secret in the environment": _in_pods(
        "WANDB_API_KEY in plain text",
        lambda pod: (
            not _container(pod)
            .setdefault("env", [])
            .append({"name": "WANDB_API_KEY", "value": "0123456789abcdef0123456789abcdef01234567"})
        ),
    ),
    "a mount without a volume": _in_pods(
        "a mount of a volume that is not there",
        lambda pod: not _container(pod).setdefault("volumeMounts", []).append({"name": "data", "mountPath": "/data"}),
    ),
    "readiness is waited for": changes("", ends("publishNotReadyAddresses"), lambda value: False),
    "a Service selects nothing": changes("", ends("batch.kubernetes.io/job-name"), _slip),
}
