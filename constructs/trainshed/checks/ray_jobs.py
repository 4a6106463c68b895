"""RayJobs and RayClusters that KubeRay refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import dig, mapping, mappings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "ray"
_MODES: Final = ("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode")


@rule("ray-job-invalid", severity="error", family=FAMILY)
def job_invalid(fleet: Fleet) -> Iterator[Issue]:
    """A RayJob contradicts itself.

    Why: KubeRay validates a RayJob before it makes anything (v1.4, `ray-operator/controllers/ray/utils/validation.go`):
    a TTL only with `shutdownAfterJobFinishes`, either a cluster of its own or a selector, an entrypoint. Otherwise the
    job stays in ValidationFailed.
    Fix: Remove one of the two, or add what is missing.
    """
    for document in fleet.of(("ray.io", "RayJob")):
        spec = mapping(document.manifest, "spec")
        selector, shuts = mapping(spec, "clusterSelector"), spec.get("shutdownAfterJobFinishes") is True
        if not document.judged or not spec:
            continue
        if whole(spec, "ttlSecondsAfterFinished") and not shuts and "deletionStrategy" not in spec:
            message = "ttlSecondsAfterFinished has no effect without shutdownAfterJobFinishes, and KubeRay refuses it"
            path: Path = ("spec", "ttlSecondsAfterFinished")
            yield Issue(document, path, message, "add shutdownAfterJobFinishes: true, or remove it")
        if selector and spec.get("rayClusterSpec") is not None:
            message = "clusterSelector names a cluster that is there, and rayClusterSpec makes another"
            yield Issue(document, ("spec", "clusterSelector"), message, "keep one of the two")
        elif not selector and spec.get("rayClusterSpec") is None:
            yield Issue(
                document, ("spec",), "there is neither rayClusterSpec nor clusterSelector", "add one of the two"
            )
        elif selector and shuts:
            message = "shutdownAfterJobFinishes would delete a cluster that the job only selects: KubeRay refuses it"
            yield Issue(document, ("spec", "shutdownAfterJobFinishes"), message, "remove it")
        mode = text(spec, "submissionMode")
        if mode and mode not in _MODES:
            message = f'submissionMode is "{mode}", and must be one of {", ".join(_MODES)}'
            yield Issue(document, ("spec", "submissionMode"), message, nearest(mode, _MODES) or "write K8sJobMode")
        elif mode != "InteractiveMode" and not text(spec, "entrypoint"):
            yield Issue(document, ("spec", "entrypoint"), "there is no entrypoint to run", "add entrypoint")


def _clusters(fleet: Fleet) -> Iterator[tuple[Document, Path]]:
    for kind, path in (("RayCluster", ()), ("RayJob", ("rayClusterSpec",)), ("RayService", ("rayClusterConfig",))):
        for document in fleet.of(("ray.io", kind)):
            if document.judged:
                yield document, ("spec", *path)


@rule("ray-groups", severity="error", family=FAMILY)
def groups(fleet: Fleet) -> Iterator[Issue]:
    """Groups of a RayCluster have one name, an impossible range, or start parameters that are no text.

    Why: KubeRay refuses two worker groups of one name and a minimum above the maximum; `rayStartParams` is a map of
    texts, and a number in it is refused by the API server.
    Fix: Give each group a name, write minReplicas ≤ maxReplicas, and quote the parameters.
    """
    for document, start in _clusters(fleet):
        yield from _parameters(document, (*start, "headGroupSpec"))
        seen: set[str] = set()
        for index, group in mappings(document.manifest, *start, "workerGroupSpecs"):
            at: Path = (*start, "workerGroupSpecs", index)
            yield from _parameters(document, at)
            name = text(group, "groupName")
            if name and name in seen:
                yield Issue(document, (*at, "groupName"), f'two worker groups are called "{name}"', "rename one")
            seen.add(name)
            least, most = whole(group, "minReplicas"), whole(group, "maxReplicas")
            if least is not None and most is not None and least > most:
                message = f'minReplicas of group "{name}" is {least}, and maxReplicas {most}'
                yield Issue(document, (*at, "minReplicas"), message, f"write at most {most}")
            count = whole(group, "replicas")
            if count is not None and count < 0:
                yield Issue(document, (*at, "replicas"), f"replicas is {count}", "write 0 or more")


def _parameters(document: Document, at: Path) -> Iterator[Issue]:
    for key, value in mapping(document.manifest, *at, "rayStartParams").items():
        written: Any = dig(document.manifest, *at, "rayStartParams", key)
        if value is not None and not isinstance(value, str):
            message = f"rayStartParams.{key} is {written!r}, and must be text"
            yield Issue(document, (*at, "rayStartParams", key), message, "quote it")
