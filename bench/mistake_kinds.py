"""The kinds of mistakes that the mutation test makes in dist/."""

from __future__ import annotations

from typing import Any, Final

from bench.mistakes import (
    REMOVED,
    RUNS,
    Maker,
    Manifest,
    Path,
    added,
    append,
    below,
    changes,
    container,
    disk_shm,
    doubled_object,
    ends,
    env,
    field_keys,
    in_pods,
    key_slips,
    moved_labels,
    no_gpu_limit,
    of_kind,
    reference,
    removed_object,
    set_field,
    slip,
    swapped_order,
    without_volume,
)


def _number(path: Path, value: Any, manifest: Manifest) -> bool:
    return path[0] == "spec" and isinstance(value, int) and not isinstance(value, bool)


def _flag(path: Path, value: Any, manifest: Manifest) -> bool:
    return path[0] == "spec" and isinstance(value, bool)


_COUNTS: Final = ("completions", "parallelism", "numNodes", "minAvailable", "replicas", "numProcPerNode")
_ENUMS: Final = (
    "restartPolicy", "completionMode", "operator", "podReplacementPolicy", "queueingStrategy", "restartStrategy",
    "action", "event", "reclaimWithinCohort", "withinClusterQueue", "fsGroupChangePolicy", "medium", "clusterIP",
)  # fmt: skip

_ARGO: Final = "argoproj.io/v1alpha1"


def _annotated(kinds: tuple[str, ...], key: str, value: str) -> Maker:
    return added(f"{key} is {value}", kinds, ("metadata", "annotations", key), value)


#: Kind of mistake → what makes it.
KINDS: Final[dict[str, Maker]] = {
    "a reference is misspelt": changes("", reference, slip),
    "a field is misspelt": field_keys,
    "an enum is misspelt": changes("", ends(*_ENUMS), slip),
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
    "a queue label is an annotation": moved_labels("annotations"),
    "a queue label is on the pod template": moved_labels("the pod template"),
    "covered resources are reordered": swapped_order,
    "the cohort is gone": changes("is gone", ends("cohortName"), lambda value: REMOVED),
    "an object is gone": removed_object,
    "an object is there twice": doubled_object,
    "a name is misspelt": changes(
        "", lambda path, value, manifest: path == ("metadata", "name") and manifest["kind"] not in RUNS, slip
    ),
    "a namespace is misspelt": changes(
        "", lambda path, value, manifest: path == ("metadata", "namespace") and value != "argocd", slip
    ),
    "a name is upper case": changes(
        "", lambda path, value, manifest: path == ("metadata", "name"), lambda value: str(value).upper()
    ),
    "a wave is no number": changes("", ends("argocd.argoproj.io/sync-wave"), lambda value: "first"),
    "a run comes before its runtime": changes(
        "", of_kind(("TrainJob",), ends("argocd.argoproj.io/sync-wave")), lambda value: "-40"
    ),
    "a sync option is misspelt": changes("", ends("argocd.argoproj.io/sync-options"), slip),
    "a TTL is added": added("a TTL is added", ("Job", "JobSet"), ("spec", "ttlSecondsAfterFinished"), 600),
    "an old API version": changes(
        "",
        lambda path, value, manifest: path == ("apiVersion",) and "kueue" in str(value),
        lambda value: str(value).replace("v1beta2", "v1beta1"),
    ),
    "an API version that does not exist": changes(
        "", lambda path, value, manifest: path == ("apiVersion",) and "/" in str(value), lambda value: f"{value}9"
    ),
    "the world size is wrong": in_pods("PET_NNODES is 3", env("PET_NNODES", lambda value: "3")),
    "processes differ from GPUs": in_pods("PET_NPROC_PER_NODE is 9", env("PET_NPROC_PER_NODE", lambda value: "9")),
    "the master address is misspelt": in_pods("PET_MASTER_ADDR is misspelt", env("PET_MASTER_ADDR", slip)),
    "the master is localhost": in_pods("PET_MASTER_ADDR is localhost", env("PET_MASTER_ADDR", lambda v: "localhost")),
    "an environment value is a number": in_pods("PET_MASTER_PORT is a number", env("PET_MASTER_PORT", int)),
    "GPUs are requested without a limit": in_pods("the GPU limit is gone", no_gpu_limit),
    "shared memory is gone": in_pods("/dev/shm is gone", without_volume("shm")),
    "shared memory is on disk": in_pods("/dev/shm is on disk", disk_shm),
    "the writable directory is gone": in_pods("/tmp is gone", without_volume("tmp")),
    "a container is privileged": in_pods(
        "privileged", lambda pod: set_field(("securityContext", "privileged"), True)(container(pod))
    ),
    "the host's IPC namespace": in_pods("hostIPC", set_field(("hostIPC",), True)),
    "a pod may run as root": in_pods("runAsNonRoot is false", set_field(("securityContext", "runAsNonRoot"), False)),
    "a secret in the environment": in_pods(
        "WANDB_API_KEY in plain text",
        append("env", {"name": "WANDB_API_KEY", "value": "0123456789abcdef0123456789abcdef01234567"}),
    ),
    "a mount without a volume": in_pods(
        "a mount of a volume that is not there", append("volumeMounts", {"name": "data", "mountPath": "/data"})
    ),
    "readiness is waited for": changes("", ends("publishNotReadyAddresses"), lambda value: False),
    "a Service selects nothing": changes("", ends("batch.kubernetes.io/job-name"), slip),
    "a Kueue key is misspelt": key_slips("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"),
    "an Argo CD key is misspelt": key_slips("argocd.argoproj.io/sync-wave", "argocd.argoproj.io/sync-options"),
    "a namespace selector is misspelt": changes(
        "", of_kind(("ClusterQueue",), below("namespaceSelector")), lambda value: slip(str(value))
    ),
    "a topology level is misspelt": changes("", ends("nodeLabel"), slip),
    "a right is misspelt": changes(
        "",
        of_kind(("Role",), lambda path, value, manifest: isinstance(value, str) and len(value) > 3 and "rules" in path),
        slip,
    ),
    "a project's kind is misspelt": changes(
        "",
        of_kind(("AppProject",), lambda path, value, manifest: path[-1] == "kind" and "Whitelist" in str(path)),
        slip,
    ),
    "a project's namespace is misspelt": changes("", of_kind(("AppProject",), ends("namespace")), slip),
    "a project's repository is misspelt": changes("", of_kind(("AppProject",), below("sourceRepos")), slip),
    "an Application's path is misspelt": changes(
        "",
        lambda path, value, manifest: manifest["apiVersion"] == _ARGO and path[-1] == "path" and "dist/" in value,
        slip,
    ),
    "a namespace is missing": changes(
        "is gone",
        lambda path, value, manifest: path == ("metadata", "namespace") and manifest["apiVersion"] != _ARGO,
        lambda value: REMOVED,
    ),
    "a run is a hook": _annotated(RUNS, "argocd.argoproj.io/hook", "PreSync"),
    "a run is a hook that does not exist": _annotated(RUNS, "argocd.argoproj.io/hook", "Presync"),
    "a run is in an early wave": changes(
        "",
        lambda path, value, manifest: path[-1] == "argocd.argoproj.io/sync-wave" and manifest["kind"] in RUNS,
        lambda value: "-50",
    ),
    "suspend is in Git": added("suspend is in Git", ("Job", "JobSet", "TrainJob"), ("spec", "suspend"), True),
    "the image is gone": in_pods("the image is gone", lambda pod: container(pod).pop("image", None) is not None),
    "a number of GPUs is not whole": changes("", ends("nvidia.com/gpu"), lambda value: "7500m"),
    "more GPUs than a node has": changes("", of_kind(RUNS, ends("nvidia.com/gpu")), lambda value: "16"),
    "a folder of the node": in_pods(
        "hostPath", lambda pod: not pod.setdefault("volumes", []).append({"name": "h", "hostPath": {"path": "/"}})
    ),
    "user 0": in_pods("runAsUser is 0", set_field(("securityContext", "runAsUser"), 0)),
    "the token is mounted": in_pods("the token is mounted", set_field(("automountServiceAccountToken",), True)),
    "a priority class that does not exist": in_pods("a priority class", set_field(("priorityClassName",), "urgent")),
    "no completion index": changes("is gone", ends("completionMode"), lambda value: REMOVED),
}
